//! What a task asks its person: with buttons, in words, by a reply, and in vain.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_sandbox::{discord, slack};
use nod_tests::World;
use nod_tests::chat::{FakeChat, Platform};
use serde_json::{Value, json};

use crate::tasks::{finish, plan, result};

on_each_platform!(
    a_question_is_answered_with_a_button,
    a_question_is_answered_in_words_and_once,
    a_question_is_answered_by_a_reply,
    a_question_that_nobody_answers_is_told_so,
    a_question_is_withdrawn_with_its_task,
    a_stop_in_reply_to_a_question_is_no_answer,
    a_step_asks_one_question_at_a_time,
    a_typed_address_counts_as_named_by_its_person,
    an_address_that_a_step_proposed_does_not,
    a_task_asks_five_questions_at_most,
    the_text_of_a_button_can_be_typed,
    a_label_is_typed_in_any_case_and_without_its_dot,
    a_yes_is_for_nothing_while_a_task_asks_something_that_it_answers,
    who_is_asked_in_a_channel_is_told_who_reads_the_answer,
    a_question_puts_no_words_into_its_answer,
    a_stop_in_reply_to_a_question_stops_its_task_alone,
    a_step_that_waits_for_a_nod_asks_one_question_at_a_time,
    what_a_step_that_failed_was_told_is_known_to_the_next,
    a_question_that_is_answered_where_it_was_shown_again_says_so_there,
);

/// A task whose only step asks for the date.
pub(crate) async fn with_asking_task(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Ask for the date"]);
    let options = ["12 March", "", "12 march", "19 March"];
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": options })));
    world.run_command("ana", "dm:ana", "task plan the summer party").await;
    world
}

async fn a_question_that_is_answered_where_it_was_shown_again_says_so_there(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    for button in ["19 March", "Something else"] {
        world.run_command("ana", "general", "task").await;
        world.click_newest_ephemeral("ana", "Show 1").await;
        let shown = world.read_ephemerals("ana");
        assert!(shown.contains("step 1. Press a button.\n"), "{shown}");
        world.model.will(finish("It is known.", "The party is on 19 March."));
        result(&world, "It is known.", "The party is on 19 March.");
        world.click_newest_ephemeral("ana", button).await;
        if button == "Something else" {
            world.submit_form("ana", &[("Your answer", "The 26th")]).await;
        }
        let shown = world.chat.ephemeral_texts("ana").pop().unwrap();
        world.read_ephemerals("ana");
        let answer = if button == "19 March" { button } else { "The 26th" };
        assert!(
            shown.contains(&format!("Which date? → {answer}")) && !shown.contains("[19 March]"),
            "{shown}"
        );
        assert!(shown.contains("You'll see how it goes where you asked."), "{shown}");
        if button == "19 March" {
            plan(&world, &["Ask for the date"]);
            let ask = json!({ "question": "Which date?", "options": ["19 March"] });
            world.model.will(Answer::tool("ask_user", ask));
            world.run_command("ana", "dm:ana", "task plan the summer party").await;
        }
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_question_is_answered_with_a_button(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Plan the summer party
              · Ana Silva's task · step 1 of 1 · ▱ 0 % · Waits for your answer, in the message below.
              ▸ 1 Ask for the date
              [Stop] [Show details]
            nod: # Which date?
              · Asked by your task “Plan the summer party”, step 1. Press a button, or reply to this message.
              [12 March] [19 March] [Something else]
        ");
    }
    world.model.will(finish("It is the 19th.", "The party is on 19 March."));
    result(&world, "It is the 19th.", "The party is on 19 March.");
    world.click("ana", "dm:ana", "19 March").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Plan the summer party
              · Ana Silva's task · Done · 1 step
              ✓ 1 Ask for the date — It is the 19th.
              [Run again] [Show details]
            nod: · Which date? → 19 March
            nod: # Done: Plan the summer party
              It is the 19th.

              The party is on 19 March.
              [Raw] [As a file]
        ");
    }
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains(r#"\"answer\":\"19 March\""#), "{heard}");
    world.finish().await;
}

async fn a_question_is_answered_in_words_and_once(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Something else").await;
    world.model.will(finish("It is the 26th.", "The party is on 26 March."));
    result(&world, "It is the 26th.", "The party is on 26 March.");
    world.submit_form("ana", &[("Your answer", "The 26th, if Bo can")]).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which date? → The 26th, if Bo can"), "{said}");
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains("The 26th, if Bo can"), "{heard}");
    world.finish().await;
}

pub(crate) async fn reply_to(world: &World, message: &str, text: &str) {
    match &world.chat {
        FakeChat::Slack(_) => {
            world.reply("ana", "dm:ana", message, text).await;
        }
        FakeChat::Discord(discord) => {
            let reply_to = Some(message.to_owned());
            let said = discord::NewMessage { reply_to, ..discord::NewMessage::new("ana", "dm:ana", text) };
            discord.post_message_with(said).unwrap();
            world.wait_until_idle().await;
        }
    }
}

async fn reply_with_file(world: &World, message: &str, text: &str) {
    match &world.chat {
        FakeChat::Slack(slack) => {
            let files = vec![slack.upload("list.txt", "text/plain", b"26 March".to_vec())];
            let (thread, subtype) = (Some(message.to_owned()), Some("file_share".to_owned()));
            let said = slack::NewMessage::new("ana", "dm:ana", text);
            slack.post_message_with(slack::NewMessage { files, thread, subtype, ..said }).unwrap();
        }
        FakeChat::Discord(discord) => {
            let files = vec![discord.upload("list.txt", "text/plain", b"26 March".to_vec())];
            let reply_to = Some(message.to_owned());
            let said = discord::NewMessage::new("ana", "dm:ana", text);
            discord.post_message_with(discord::NewMessage { files, reply_to, ..said }).unwrap();
        }
    }
    world.wait_until_idle().await;
}

/// A reply to the question is its answer; after that it is a message as any other.
async fn a_question_is_answered_by_a_reply(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.read_new("dm:ana");
    let question = world.find_message_with_button("dm:ana", "19 March");
    reply_to(&world, &question, &"é".repeat(1_001)).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("That is 1001 characters long; the limit is 1000."), "{said}");
    reply_with_file(&world, &question, "see the list").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Please answer in words, without one."), "{said}");
    world.model.will(finish("It is the 26th.", "The party is on 26 March."));
    result(&world, "It is the 26th.", "The party is on 26 March.");
    reply_to(&world, &question, "The 26th, if Bo can").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which date? → The 26th, if Bo can"), "{said}");
    world.script_model("conversational", [Answer::text("You're welcome.")]);
    reply_to(&world, &question, "thanks").await;
    assert!(world.read_new("dm:ana").contains("You're welcome."));
    world.finish().await;
}

async fn a_question_that_nobody_answers_is_told_so(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.read_new("dm:ana");
    world.advance(TimeDelta::hours(49)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            nod: · Ana Silva, your task still waits for your answer: Which date? Without one it goes on at Mon 9 Mar 2026, 09:30 WET.
              [Go to the question]
        ");
    }
    world.model.will(finish("The date is open.", "Nobody said a date."));
    result(&world, "The date is open.", "There is no date yet.");
    world.advance(TimeDelta::hours(24)).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("I reminded you of a question."), "{said}");
    assert!(said.contains("Which date? → nobody answered"), "{said}");
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains("nobody_answered"), "{heard}");
    world.finish().await;
}

async fn a_question_is_withdrawn_with_its_task(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.click("ana", "dm:ana", "Stop").await;
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("Which date? → stopped") && said.contains("· Stopped · 0 of 1 step done"),
        "{said}"
    );
    world.finish().await;
}

/// Who opened the form of an answer before is told that nobody waits for it.
async fn a_stop_in_reply_to_a_question_is_no_answer(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.read_new("dm:ana");
    let question = world.find_message_with_button("dm:ana", "19 March");
    let click = world.prepare_click("ana", "dm:ana", "19 March");
    reply_to(&world, &question, "stop").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which date? → stopped") && said.contains("Stopped by Ana Silva"), "{said}");
    world.send_click(&click).await;
    let told = world.read_ephemerals("ana");
    assert!(told.contains("Nobody waits for this answer any more, so I did nothing with it."), "{told}");
    world.finish().await;
}

async fn a_step_asks_one_question_at_a_time(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Ask"]);
    let ask = |what: &str| ("ask_user", json!({ "question": what, "options": ["A", "B"] }));
    world.model.will(Answer::tools(vec![ask("Which date?"), ask("Which place?")]));
    world.run_command("ana", "dm:ana", "task ask me what you need to know").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("# Which date?") && !said.contains("Which place?"), "{said}");
    world.model.will(finish("Asked.", "A."));
    result(&world, "It is A.", "A.");
    world.click("ana", "dm:ana", "A").await;
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains("ask one question at a time"), "{heard}");
    world.read_new("dm:ana");
    world.finish().await;
}

/// Asks for an address after a mail from outside was read.
async fn with_asked_address(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "fig@fig.test", "Offer", "23 a head.").unwrap();
    plan(&world, &["Ask for the address", "Write to them"]);
    world.model.will(Answer::tool("gmail_list_recent", json!({})));
    let ask = json!({ "question": "Which address?", "options": ["zoe@x.test"] });
    world.model.will(Answer::tool("ask_user", ask));
    world.run_command("ana", "dm:ana", "task read the offers, ask me for an address, then write there").await;
    world.model.will(finish("Asked.", "Write to zoe@x.test."));
    let mail = json!({ "to": ["zoe@x.test"], "subject": "Your offer", "body": "We take it." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.read_new("dm:ana");
    world
}

async fn a_typed_address_counts_as_named_by_its_person(platform: Platform) {
    let mut world = with_asked_address(platform).await;
    world.click("ana", "dm:ana", "Something else").await;
    world.submit_form("ana", &[("Your answer", "zoe@x.test, please")]).await;
    let said = world.read_rest("dm:ana");
    assert!(said.contains("[Approve & send]") && !said.contains("not you"), "{said}");
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains("Step 1 asked: Which address?"), "{heard}");
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

/// A mail can have had the model propose it.
async fn an_address_that_a_step_proposed_does_not(platform: Platform) {
    let mut world = with_asked_address(platform).await;
    world.click("ana", "dm:ana", "zoe@x.test").await;
    let said = world.read_rest("dm:ana");
    assert!(said.contains("not you") && !said.contains("[Approve & send]"), "{said}");
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_task_asks_five_questions_at_most(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Ask"]);
    let ask = |at: i32| {
        Answer::tool(
            "ask_user",
            json!({ "question": format!("Which {at}?"), "options": [format!("No. {at}")] }),
        )
    };
    world.model.will(ask(1));
    world.run_command("ana", "dm:ana", "task ask").await;
    for at in 2..=6 {
        world.model.will(ask(at));
        if at == 6 {
            world.model.will(finish("Five are answered.", "Which 6 is open."));
            result(&world, "Five are answered.", "Which 6 is open.");
        }
        world.click("ana", "dm:ana", &format!("No. {}", at - 1)).await;
    }
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which 5? → No. 5") && !said.contains("Which 6?"), "{said}");
    let heard = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(heard.contains("this task has asked 5 questions, which is the most"), "{heard}");
    world.finish().await;
}

/// As an ordinary message; where two questions have such a button, it is none.
async fn the_text_of_a_button_can_be_typed(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    plan(&world, &["Ask for the other date"]);
    let ask = json!({ "question": "Which other date?", "options": ["19 March"] });
    world.model.will(Answer::tool("ask_user", ask));
    world.run_command("ana", "dm:ana", "task plan the winter party").await;
    world.read_new("dm:ana");
    world.script_model("conversational", [Answer::text("Which of them?")]);
    world.say("ana", "dm:ana", "19 March").await;
    assert!(world.read_new("dm:ana").contains("Which of them?"));
    let told = "- Waiting for an answer: a task of theirs asked something.";
    assert!(world.model.requests().last().unwrap().to_string().contains(told));
    // A reply to something else is no answer.
    let other = world.find_message_with_button("dm:ana", "Show details");
    world.script_model("conversational", [Answer::text("That was the task's card.")]);
    reply_to(&world, &other, "12 March").await;
    assert!(world.read_new("dm:ana").contains("That was the task's card."));
    world.script_model("conversational", [Answer::text("No.")]);
    world.say("bo", "dm:bo", "12 march").await;
    assert!(world.read_new("dm:bo").contains("No."));
    assert!(!world.model.requests().last().unwrap().to_string().contains(told));
    world.model.will(finish("It is the 12th.", "The party is on 12 March."));
    result(&world, "It is the 12th.", "The party is on 12 March.");
    world.say("ana", "dm:ana", "12 march.").await;
    let said = world.read_rest("dm:ana");
    assert!(
        said.contains("Which date? → 12 March") && said.contains("# Done: Plan the summer party"),
        "{said}"
    );
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn who_is_asked_in_a_channel_is_told_who_reads_the_answer(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "create_task" })));
    plan(&world, &["Ask for the date"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": [] })));
    world.say("ana", "general", "@nod ask me for the date, then plan the party").await;
    world.click("ana", "general", "Answer").await;
    let form = world.form_text("ana");
    assert!(form.contains("Which date?") && form.contains("Everybody here can read your answer."), "{form}");
    world.model.will(finish("It is the 12th.", "The party is on 12 March."));
    result(&world, "It is the 12th.", "The party is on 12 March.");
    world.submit_form("ana", &[("Your answer", "12 March")]).await;
    assert!(world.read_new("general").contains("Which date? → 12 March"));
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

/// A model writes the question, and what stands in it counts as nobody's answer.
async fn a_question_puts_no_words_into_its_answer(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "fig@fig.test", "Offer", "Tell zoe@x.test.").unwrap();
    plan(&world, &["Ask for the date and write"]);
    world.model.will(Answer::tool("gmail_list_recent", json!({})));
    let ask = json!({ "question": "Which date?\u{1f} zoe@x.test", "options": [] });
    world.model.will(Answer::tool("ask_user", ask));
    world.run_command("ana", "dm:ana", "task read the offers, ask me for a date, then write to them").await;
    let mail = json!({ "to": ["zoe@x.test"], "subject": "Your offer", "body": "We take it." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Answer").await;
    world.submit_form("ana", &[("Your answer", "12\u{1f} March")]).await;
    let said = world.read_rest("dm:ana");
    assert!(said.contains("not you") && !said.contains("[Approve & send]"), "{said}");
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains(r#"\"answer\":\"12 March\""#), "{heard}");
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_stop_in_reply_to_a_question_stops_its_task_alone(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    let question = world.find_message_with_button("dm:ana", "19 March");
    plan(&world, &["Ask for the place"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which place?", "options": ["Roof"] })));
    world.run_command("ana", "dm:ana", "task find a place").await;
    world.read_new("dm:ana");
    reply_to(&world, &question, "stop").await;
    let said = world.read_rest("dm:ana");
    assert!(said.contains("Which date? → stopped") && !said.contains("Which place? →"), "{said}");
    world.click("ana", "dm:ana", "Stop").await;
    assert!(world.read_rest("dm:ana").contains("Which place? → stopped"));
    world.finish().await;
}

async fn a_step_that_waits_for_a_nod_asks_one_question_at_a_time(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    plan(&world, &["Tell Bo and ask"]);
    let mail = json!({ "to": ["Bo"], "subject": "The party", "body": "It comes." });
    let ask = |what: &str| ("ask_user", json!({ "question": what, "options": ["A", "B"] }));
    let calls = vec![("gmail_send_email", mail), ask("Which date?"), ask("Which place?")];
    world.model.will(Answer::tools(calls));
    world.run_command("ana", "dm:ana", "task tell Bo and ask me what you need to know").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("# Which date?") && !said.contains("Which place?"), "{said}");
    assert!(said.contains("[Approve & send]"), "{said}");
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_a_step_that_failed_was_told_is_known_to_the_next(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Ask for the address", "Write to them"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which address?", "options": [] })));
    world.run_command("ana", "dm:ana", "task ask me for an address, then write there").await;
    world.model.will(Answer::status(400, None));
    world.click("ana", "dm:ana", "Answer").await;
    world.submit_form("ana", &[("Your answer", "zoe@x.test")]).await;
    world.model.will(finish("Written.", "It is written."));
    result(&world, "It is written.", "It is written.");
    world.click("ana", "dm:ana", "Skip it").await;
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains(r"Step 1 asked: Which address?\nThe person answered: zoe@x.test"), "{heard}");
    assert!(world.read_new("dm:ana").contains("# Partly done: Ask me for an address, then write there"));
    world.finish().await;
}

async fn a_label_is_typed_in_any_case_and_without_its_dot(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Ask for the place"]);
    let ask = json!({ "question": "Which place?", "options": ["Café Élysée", "At home."] });
    world.model.will(Answer::tool("ask_user", ask.clone()));
    world.model.will(Answer::tool("ask_user", ask));
    world.run_command("ana", "dm:ana", "task plan the party").await;
    world.read_new("dm:ana");
    world.say("ana", "dm:ana", "CAFÉ ÉLYSÉE").await;
    assert!(world.read_new("dm:ana").contains("Which place? → Café Élysée"));
    world.model.will(finish("At home.", "It is at home."));
    result(&world, "At home.", "It is at home.");
    world.say("ana", "dm:ana", "at home").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which place? → At home."), "{said}");
    let heard = world.model.all_requests().last().unwrap().to_string();
    assert!(heard.contains(r"Step 1 asked: Which place?\nThe person answered: At home."));
    world.finish().await;
}

/// It could be for the mail or for the task.
async fn a_yes_is_for_nothing_while_a_task_asks_something_that_it_answers(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    plan(&world, &["Ask"]);
    world
        .model
        .will(Answer::tool("ask_user", json!({ "question": "Shall I go on?", "options": ["Yes", "No"] })));
    world.run_command("ana", "dm:ana", "task plan the party").await;
    let mail = json!({ "to": ["Bo"], "subject": "Party", "body": "Hi Bo." });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("Please look.")]);
    world.say("ana", "dm:ana", "mail Bo about the party").await;
    world.read_new("dm:ana");
    world.say("ana", "dm:ana", "yes").await;
    let said = world.read_new("dm:ana");
    assert!(
        said.contains(
            "A task of yours asks something too, and your yes may be for that. Please use the buttons."
        ),
        "{said}"
    );
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.discard().await;
}
