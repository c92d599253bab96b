//! A task: a wish becomes a plan, the plan is done step by step, and a result comes, while the person talks to Nod about other
//! things.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, ModelRole};
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{Click, World};
use serde_json::{Value, json};

use crate::task_questions::with_asking_task;

on_each_platform!(
    a_task_is_planned_done_and_told,
    what_a_step_says_is_seen_by_its_task_alone,
    a_result_can_be_talked_about,
    what_steps_did_is_shown_to_the_owner,
    a_result_is_read_raw_and_as_a_file,
    a_plan_that_cannot_be_followed_is_asked_for_once_more,
    a_wish_that_nobody_can_plan_is_one_step,
    what_is_no_wish_begins_nothing,
    a_task_typed_in_a_channel_is_done_in_the_direct_messages,
    open_tasks_are_listed,
    a_step_that_failed_is_tried_again,
    a_step_that_failed_is_skipped,
    a_step_that_never_finishes_can_be_tried_again,
    a_step_that_failed_is_decided_once,
    nobody_decides_about_a_step_that_failed,
    a_task_whose_step_failed_is_stopped,
    a_task_is_run_again_once,
    a_step_makes_a_file,
    a_step_that_read_a_channel_is_tried_again,
    a_result_that_no_model_writes_is_what_the_steps_handed_on,
    the_tenth_step_writes_no_more_than_the_second,
    a_step_finishes_alone,
    a_stopped_task_takes_back_what_it_asked_for,
    stop_typed_stops_the_task,
    a_stop_and_a_nod_at_once_are_one_after_the_other,
    a_step_that_says_it_was_not_done_gets_no_tick,
    a_step_that_sent_a_mail_and_says_it_was_not_done_may_not_be_complete,
    a_step_whose_mail_was_denied_is_not_done,
    what_is_sent_after_the_end_is_done_since_then,
    each_of_two_mails_sent_after_the_end_is_told,
    what_is_sent_after_its_step_has_ended_is_done,
    a_step_whose_mail_expired_is_not_done,
    a_step_of_whose_mails_one_was_denied_may_not_be_complete,
    a_step_whose_mail_is_approved_at_the_second_request_is_done,
    a_step_whose_second_mail_reaches_fewer_may_not_be_complete,
    a_step_whose_mail_went_to_somebody_else_as_told_is_done,
    a_step_whose_mail_was_refused_before_it_was_asked_for_may_not_be_complete,
    a_step_goes_on_once_its_account_is_connected,
    a_forged_retry_of_a_task_does_nothing,
    a_stop_of_a_step_stops_its_task,
    a_stop_takes_back_what_was_asked_for_again,
    a_long_result_comes_whole,
    a_yes_alone_is_no_nod_to_a_step,
    a_task_and_the_conversation_keep_their_own_requests,
    a_result_that_says_too_much_is_corrected,
);

/// The planner will answer with steps of these titles, each after the one before it.
pub(crate) fn plan(world: &World, titles: &[&str]) {
    let step = |(at, title): (usize, &&str)| {
        let after: Vec<usize> = at.checked_sub(1).into_iter().collect();
        json!({ "step": title, "detail": "", "after": after })
    };
    let steps: Vec<Value> = titles.iter().enumerate().map(step).collect();
    world.model.will(Answer::json(&json!({ "planSteps": steps })).for_role(ModelRole::Planner));
}

pub(crate) fn finish(summary: &str, output: &str) -> Answer {
    Answer::tool("finish_step", json!({ "stepSummary": summary, "stepOutputMarkdown": output }))
}

pub(crate) fn result(world: &World, summary: &str, text: &str) {
    let result = json!({ "summary": summary, "resultMarkdown": text });
    world.model.will(Answer::json(&result).for_role(ModelRole::Finaliser));
}

async fn a_task_is_planned_done_and_told(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Compare the offers and tell Bo which to take
              · Ana Silva's task · step 2 of 2 · ▰▱ 50 % · Waits for your nod, in the message below.
              ✓ 1 Compare the offers — Olive is cheaper.
              ▸ 2 Tell Bo which to take
              [Stop] [Show details]
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              · Asked by your task “Compare the offers and tell Bo which to take”, step 2. Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny]
        ");
    }
    world.script_model("conversational", [Answer::text("At two, with Cho.")]);
    world.say("ana", "dm:ana", "what's my next meeting?").await;
    assert!(world.read_new("dm:ana").contains("nod: At two, with Cho."));
    world.model.will(finish("Bo has the mail.", "Bo was told to take Olive."));
    result(&world, "Olive is cheaper, and Bo knows.", "| | a head |\n|-|-|\n| Fig | 23 |\n| Olive | 21 |");
    world.click("ana", "dm:ana", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Compare the offers and tell Bo which to take
              · Ana Silva's task · Done · 2 steps
              ✓ 1 Compare the offers — Olive is cheaper.
              ✓ 2 Tell Bo which to take — Bo has the mail.
              [Run again] [Show details]
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            ana: what's my next meeting?
            nod: At two, with Cho.
            nod: # Done: Compare the offers and tell Bo which to take
              Olive is cheaper, and Bo knows.
                     a head
              ─────  ──────
              Fig    23
              Olive  21
              [Raw] [As a file]
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

/// A word that a step says or reads is in no history, summary or fact, in no answer's prompt and in no list.
async fn what_a_step_says_is_seen_by_its_task_alone(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look", "Tell"]);
    world.model.will(finish("Found.", "The word is heliotrope."));
    world.model.will(finish("Told.", "Nothing more."));
    result(&world, "It is found.", "There is a word.");
    world.run_command("ana", "dm:ana", "task find the word").await;
    assert!(!world.read_new("dm:ana").contains("heliotrope"));
    let before = world.model.all_requests().len();
    world.script_model("conversational", [Answer::text("I don't know it.")]);
    world.say("ana", "dm:ana", "which word did you find?").await;
    let asked = world.model.all_requests()[before..].iter().map(Value::to_string).collect::<String>();
    assert!(asked.contains("which word did you find?") && !asked.contains("heliotrope"), "{asked}");
    assert!(!world.run_command("ana", "dm:ana", "memory").await.contains("heliotrope"));
    let runs = world.run_command("ana", "dm:ana", "runs").await;
    assert!(runs.contains("which word") && !runs.contains("find the word"), "{runs}");
    world.read_new("dm:ana");
    world.finish().await;
}

/// Nod knows what it has told, in the direct messages where it stands.
async fn a_result_can_be_talked_about(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"]);
    world.model.will(finish("Found.", "It is here."));
    result(&world, "The word is fig.", "It has three letters.");
    world.run_command("ana", "dm:ana", "task find the word").await;
    world.script_model("conversational", [Answer::text("gif")]);
    world.say("ana", "dm:ana", "spell it backwards").await;
    assert!(world.read_new("dm:ana").contains("gif"));
    let asked = world.model.requests().last().unwrap().to_string();
    assert!(asked.contains(r"Done: Find the word\n\nThe word is fig.\n\nIt has three letters."), "{asked}");
    world.finish().await;
}

/// Returns what a person reads after a click on a button that shows more.
async fn open(world: &mut World, button: &str) -> String {
    world.click("ana", "dm:ana", button).await;
    match world.chat {
        FakeChat::Slack(_) => world.form_text("ana"),
        FakeChat::Discord(_) => world.read_ephemerals("ana"),
    }
}

async fn with_result(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    plan(&world, &["Read the offers", "Tell me"]);
    world.model.will(Answer::tool("gmail_list_recent", json!({})));
    world.model.will(finish("Olive is cheaper.", "**Olive** costs 21 a head."));
    world.model.will(finish("Told.", "Take Olive."));
    result(&world, "Take Olive.", "**Olive** costs 21 a head, Fig 23.");
    world.run_command("ana", "dm:ana", "task compare the offers").await;
    world.read_new("dm:ana");
    world
}

async fn what_steps_did_is_shown_to_the_owner(platform: Platform) {
    let mut world = with_result(platform).await;
    let details = open(&mut world, "Show details").await;
    let first = "✓ 1 Read the offers — Olive is cheaper.\n· Checking mail\nOlive costs 21 a head.\n✓ 2 Tell me — Told.";
    assert!(details.contains(first), "{details}");
    if let FakeChat::Slack(_) = world.chat {
        world.close_form("ana");
    }
    let task: String = sqlx::query_scalar("select id::text from tasks").fetch_one(&world.pool).await.unwrap();
    for kind in ["show_task_details", "show_raw_result", "result_as_file"] {
        world.send_click(&Click::forged("bo", "general", format!("{kind}:{task}"))).await;
        assert!(world.read_ephemerals("bo").contains("Only the person whose task it is can see that."));
    }
    world.finish().await;
}

async fn a_result_is_read_raw_and_as_a_file(platform: Platform) {
    let mut world = with_result(platform).await;
    let raw = open(&mut world, "Raw").await;
    assert!(raw.contains("**Olive** costs 21 a head, Fig 23."), "{raw}");
    if let FakeChat::Slack(_) = world.chat {
        world.close_form("ana");
    }
    world.click("ana", "dm:ana", "As a file").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Here is the result as a file.") && said.contains("[file result."), "{said}");
    world.click("ana", "dm:ana", "As a file").await;
    assert!(world.read_ephemerals("ana").contains("The file is there already, below the result."));
    world.finish().await;
}

async fn a_plan_that_cannot_be_followed_is_asked_for_once_more(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let circular = json!([
        { "step": "Look", "detail": "", "after": [1] },
        { "step": "Tell", "detail": "", "after": [0] },
    ]);
    world.model.will(Answer::json(&json!({ "planSteps": circular })).for_role(ModelRole::Planner));
    plan(&world, &["Look"]);
    world.model.will(finish("Found.", "It is here."));
    result(&world, "It is found.", "It is here.");
    world.run_command("ana", "dm:ana", "task find it").await;
    assert!(world.read_new("dm:ana").contains("✓ 1 Look — Found."));
    let asked = world.model.all_requests();
    let again = asked.iter().find(|request| request.to_string().contains("That cannot be used")).unwrap();
    assert!(
        again.to_string().contains("step 0 cannot come after step 1: name earlier steps only"),
        "{again}"
    );
    world.finish().await;
}

async fn a_wish_that_nobody_can_plan_is_one_step(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let none = json!({ "planSteps": [] });
    world.model.will(Answer::text("1. Look").for_role(ModelRole::Planner));
    world.model.will(Answer::json(&none).for_role(ModelRole::Planner));
    world.model.will(Answer::text("It is here. It was here before."));
    world.model.will(Answer::text("Found!").for_role(ModelRole::Finaliser));
    world.model.will(Answer::text("Found!!").for_role(ModelRole::Finaliser));
    world.run_command("ana", "dm:ana", "task find it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · Done · 1 step
              ✓ 1 Find it — It is here. It was here before.
              · I could not make a plan, so all of it is one step.
              [Run again] [Show details]
            nod: # Done: Find it
              It is here. It was here before.
              [Raw] [As a file]
        ");
    }
    world.finish().await;
}

async fn what_is_no_wish_begins_nothing(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let bare = world.run_command("ana", "dm:ana", "task").await;
    let long = world.run_command("ana", "dm:ana", &format!("task {}", "é".repeat(4_001))).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!([bare, long].join("\n").replace('`', ""), @r"
            (ana only) nod: You have no open tasks. Tell me what you want done: /nod task ….
            (ana only) nod: That is 4,001 characters long, and a task takes at most 4,000. Say it in fewer words. Nothing was begun.
        ");
    }
    assert!(world.model.all_requests().is_empty());
    world.finish().await;
}

/// Also where Nod is no member and does not know her direct messages yet.
async fn a_task_typed_in_a_channel_is_done_in_the_direct_messages(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel_without_nod("attic", &["ana", "bo"]);
    plan(&world, &["Look"]);
    world.model.will(finish("Found.", "It is here."));
    result(&world, "It is found.", "It is here.");
    let said = world.run_command("ana", "attic", "task find *it*").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said.replace("\n\n", "\n"), @r"
            (ana only) nod: I have begun a task. See our direct messages.
            Task  Find *it*
        ");
    }
    assert!(world.read_new("dm:ana").contains("Done: Find *it*"));
    assert!(!world.read_new("attic").contains("nod:"), "nothing is said in the channel");
    world.finish().await;
}

async fn open_tasks_are_listed(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    plan(&world, &["Ask for the date", "Write the invitation"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": [] })));
    world.run_command("ana", "dm:ana", "task plan the summer party").await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said.replace('`', ""), @r"
            (ana only) nod: # Your open tasks
            1. Compare the offers and tell Bo which to take: step 2 of 2 waits for your nod
            [Stop 1]
            2. Plan the summer party: step 1 of 2 waits for your answer
            [Show 2] [Stop 2]
            Tell me what you want done: /nod task ….
        ");
    }
    world.click_newest_ephemeral("ana", "Show 2").await;
    let shown = world.wait_for_ephemeral("ana").await;
    assert!(shown.contains("# Which date?") && shown.contains("[Answer]"), "{shown}");
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 2").await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(!said.contains("Plan the summer party") && said.contains("Stop 1"), "{said}");
    let others = world.run_command("bo", "dm:bo", "task").await;
    assert!(others.contains("You have no open tasks."), "{others}");
    world.discard().await;
}

/// A task of three steps whose second one failed, because the model refused it.
async fn with_failed_step(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look", "Look again", "Tell"]);
    world.model.will(finish("Found.", "It is here."));
    world.model.will(Answer::status(400, None));
    world.run_command("ana", "dm:ana", "task find it").await;
    world
}

async fn a_step_that_failed_is_tried_again(platform: Platform) {
    let mut world = with_failed_step(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · step 2 of 3 · ▰▱▱ 33 % · It did not work: see the message below.
              ✓ 1 Look — Found.
              ✗ 2 Look again — did not work
              ○ 3 Tell
              [Stop] [Show details]
            nod: # Step 2 did not work: Look again
              The model refused the request (status 400). The person who runs Nod needs to look at it. This step sent and changed nothing.
              · If nobody decides within 72 hours, the rest of the task is skipped.
              · Asked by your task “Find it” · run ········
              [Try this step again] [Skip it] [Stop]
        ");
    }
    world.model.will(finish("Found again.", "It is still here."));
    world.model.will(finish("Told.", "Nothing more."));
    result(&world, "It is found.", "It is here.");
    world.click("ana", "dm:ana", "Try this step again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · Done · 3 steps
              ✓ 1 Look — Found.
              ✓ 2 Look again — Found again.
              ✓ 3 Tell — Told.
              [Run again] [Show details]
            nod: · Step 2 did not work → tried again
            nod: # Done: Find it
              It is found.

              It is here.
              [Raw] [As a file]
        ");
    }
    let heard = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(heard.contains("The person wants this step tried once more."), "{heard}");
    world.finish().await;
}

async fn a_step_that_failed_is_skipped(platform: Platform) {
    let mut world = with_failed_step(platform).await;
    world.model.will(finish("Told.", "Nothing more."));
    result(&world, "It is found.", "It is here.");
    world.click("ana", "dm:ana", "Skip it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · Partly done · 2 of 3 steps
              ✓ 1 Look — Found.
              – 2 Look again — skipped
              ✓ 3 Tell — Told.
              [Run again] [Show details]
            nod: · Step 2 did not work → skipped
            nod: # Partly done: Find it
              It is found.

              It is here.
              [Raw] [As a file]
        ");
    }
    world.finish().await;
}

async fn a_step_that_never_finishes_can_be_tried_again(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"]);
    for _ in 0..12 {
        world.model.will(Answer::tool("list_approvals", json!({})));
    }
    world.run_command("ana", "dm:ana", "task find it").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("I stopped after 12 thoughts without a result."), "{said}");
    world.model.will(finish("Found.", "It is here."));
    result(&world, "It is found.", "It is here.");
    world.click("ana", "dm:ana", "Try this step again").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("# Done: Find it"), "{said}");
    world.finish().await;
}

/// One button is pressed twice at once, by somebody else, and the other one afterwards.
async fn a_step_that_failed_is_decided_once(platform: Platform) {
    let mut world = with_failed_step(platform).await;
    let notice: String = sqlx::query_scalar("select notice_id::text from task_steps where status = 'failed'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    world.send_click(&Click::forged("bo", "general", format!("skip_step:{notice}"))).await;
    assert!(world.read_ephemerals("bo").contains("Only the person whose task it is can decide this."));
    world.model.will(finish("Told.", "Nothing more."));
    result(&world, "It is found.", "It is here.");
    let message = world.find_message_with_button("dm:ana", "Skip it");
    tokio::join!(
        world.chat.click("ana", "dm:ana", &message, "Skip it"),
        world.chat.click("ana", "dm:ana", &message, "Skip it"),
    );
    world.wait_until_idle().await;
    assert!(world.read_ephemerals("ana").contains("That has been decided already, or the task has ended."));
    world.send_click(&Click::forged("ana", "dm:ana", format!("try_step_again:{notice}"))).await;
    assert!(world.read_ephemerals("ana").contains("That has been decided already, or the task has ended."));
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("Step 2 did not work → skipped") && said.contains("# Partly done: Find it"),
        "{said}"
    );
    world.finish().await;
}

async fn nobody_decides_about_a_step_that_failed(platform: Platform) {
    let mut world = with_failed_step(platform).await;
    world.advance(TimeDelta::hours(49)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · step 2 of 3 · ▰▱▱ 33 % · It did not work: see the message below.
              ✓ 1 Look — Found.
              ✗ 2 Look again — did not work
              ○ 3 Tell
              [Stop] [Show details]
            nod: # Step 2 did not work: Look again
              The model refused the request (status 400). The person who runs Nod needs to look at it. This step sent and changed nothing.
              · If nobody decides within 72 hours, the rest of the task is skipped.
              · Asked by your task “Find it” · run ········
              [Try this step again] [Skip it] [Stop]
            nod: · Ana Silva, step 2 of your task did not work, and waits for your decision. Without one, the rest of your task is skipped at Mon 9 Mar 2026, 09:30 WET.
              [Go to the step]
        ");
    }
    result(&world, "It is found.", "It is here.");
    world.advance(TimeDelta::hours(24)).await;
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("I reminded you of a step that did not work. Its message shows what became of it."),
        "{said}"
    );
    assert!(said.contains("Step 2 did not work → nobody decided, so the rest was skipped"), "{said}");
    assert!(said.contains("– 3 Tell — skipped") && said.contains("# Partly done: Find it"), "{said}");
    world.finish().await;
}

async fn a_task_whose_step_failed_is_stopped(platform: Platform) {
    let mut world = with_failed_step(platform).await;
    let listed = world.run_command("ana", "dm:ana", "task").await;
    assert!(listed.contains("step 2 of 3 did not work and waits for your decision"), "{listed}");
    world.read_new("dm:ana");
    let message = world.find_message_with_button("dm:ana", "Skip it");
    world.chat.click("ana", "dm:ana", &message, "Stop").await;
    world.wait_until_idle().await;
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("Step 2 did not work → stopped") && said.contains("Stopped · 1 of 3 steps done"),
        "{said}"
    );
    assert!(!said.contains("[Skip it]") && !said.contains("[Stop]"), "{said}");
    world.finish().await;
}

async fn a_task_is_run_again_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    for text in ["It is here.", "It is there."] {
        plan(&world, &["Look"]);
        world.model.will(finish("Found.", text));
        result(&world, "It is found.", text);
    }
    world.run_command("ana", "dm:ana", "task find it").await;
    let ended: String =
        sqlx::query_scalar("select id::text from tasks").fetch_one(&world.pool).await.unwrap();
    world.click("ana", "dm:ana", "Run again").await;
    world.send_click(&Click::forged("ana", "dm:ana", format!("run_task_again:{ended}"))).await;
    assert!(
        world.read_ephemerals("ana").contains("I have begun it again already. Its own card is further down.")
    );
    world.send_click(&Click::forged("bo", "general", format!("run_task_again:{ended}"))).await;
    assert!(world.read_ephemerals("bo").contains("Only the person whose task it is can run it again."));
    let said = world.read_new("dm:ana");
    assert!(said.contains("It is here.") && said.contains("It is there."), "{said}");
    assert_eq!(said.matches("# Done: Find it").count(), 2, "{said}");
    world.finish().await;
}

async fn a_step_makes_a_file(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Compare"]);
    let file = |kind: &str, content: &str| json!({ "name": "../Offers/comparison", "kind": kind, "content": content });
    world.model.will(Answer::tool("create_file", file("json", "{ no JSON")));
    world.model.will(Answer::tool("create_file", file("csv", "caterer,a head\nFig,23\nOlive,21\n")));
    world.model.will(finish("Compared.", "Olive is cheaper; comparison.csv has it all."));
    result(&world, "Olive is cheaper.", "See comparison.csv.");
    world.run_command("ana", "dm:ana", "task compare the offers").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Here is the file from your task “"), "{said}");
    assert_eq!(world.chat.uploaded_file_text("comparison").unwrap(), "caterer,a head\nFig,23\nOlive,21\n");
    let heard = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(heard.contains("the content is not JSON"), "{heard}");
    world.finish().await;
}

async fn a_step_finishes_alone(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"]);
    let handover = json!({ "stepSummary": "Found.", "stepOutputMarkdown": "Too early." });
    world.model.will(Answer::tools(vec![("list_approvals", json!({})), ("finish_step", handover)]));
    world.model.will(finish("Found.", "It is here."));
    result(&world, "It is found.", "It is here.");
    world.run_command("ana", "dm:ana", "task find it").await;
    assert!(world.read_new("dm:ana").contains("✓ 1 Look — Found."));
    let asked = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(asked.contains("call finish_step alone, once everything else is done"), "{asked}");
    assert!(!asked.contains("handed on:\\nToo early."), "{asked}");
    world.finish().await;
}

/// A task whose second step waits for a nod to a mail.
async fn with_waiting_task(platform: Platform) -> World {
    with_waiting_task_in(World::new_on(platform).await).await
}

async fn with_waiting_task_in(mut world: World) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    plan(&world, &["Compare the offers", "Tell Bo which to take"]);
    let mail = json!({ "to": ["Bo"], "subject": "The caterer", "body": "Hi Bo,\n\nOlive it is.\n\nAna" });
    world.model.will(finish("Olive is cheaper.", "Fig costs 23 a head, Olive 21."));
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.run_command("ana", "dm:ana", "task compare the offers and tell Bo which to take").await;
    world
}

async fn a_stopped_task_takes_back_what_it_asked_for(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Stop").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Compare the offers and tell Bo which to take
              · Ana Silva's task · Stopped · 1 of 2 steps done
              ✓ 1 Compare the offers — Olive is cheaper.
              ■ 2 Tell Bo which to take — stopped
              [Run again] [Show details]
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              Stopped by Ana Silva 09:30 WET. Not sent.
            nod: · Stopped by Ana Silva: “Compare the offers and tell Bo which to take”. Nothing was sent.
        ");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

async fn stop_typed_stops_the_task(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.say("ana", "dm:ana", "stop").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Ana Silva's task · Stopped · 1 of 2 steps done"), "{said}");
    assert!(
        said.contains(
            "Stopped by Ana Silva: “Compare the offers and tell Bo which to take”. Nothing was sent."
        ),
        "{said}"
    );
    world.finish().await;
}

/// [Stop] and [Approve & send] are pressed at once. Whichever was first, the mail could still be held back, so it is.
async fn a_stop_and_a_nod_at_once_are_one_after_the_other(platform: Platform) {
    let mut world = with_waiting_task_in(World::with_undo_window_on(platform).await).await;
    let stop = world.find_message_with_button("dm:ana", "Stop");
    let approve = world.find_message_with_button("dm:ana", "Approve & send");
    tokio::join!(
        world.chat.click("ana", "dm:ana", &approve, "Approve & send"),
        world.chat.click("ana", "dm:ana", &stop, "Stop"),
    );
    world.wait_until_idle().await;
    world.advance_past_undo_window().await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Ana Silva's task · Stopped") && said.contains("# Email not sent"), "{said}");
    assert!(
        said.contains(
            "Stopped by Ana Silva: “Compare the offers and tell Bo which to take”. Nothing was sent."
        ),
        "{said}"
    );
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.read_ephemerals("ana");
    world.finish().await;
}

/// What its person refused is no tick, and the result's title says so, whatever a model writes.
async fn a_step_that_says_it_was_not_done_gets_no_tick(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look", "Tell me"]);
    let nothing =
        json!({ "stepSummary": "There is none.", "stepOutputMarkdown": "There is none.", "done": false });
    world.model.will(Answer::tool("finish_step", nothing));
    world.model.will(finish("Told.", "There is none."));
    result(&world, "There is none.", "There is none.");
    world.run_command("ana", "dm:ana", "task find it").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("– 1 Look — not done. There is none.") && said.contains("✓ 2 Tell me"), "{said}");
    assert!(said.contains("Partly done · 1 of 2 steps") && said.contains("# Partly done: Find it"), "{said}");
    world.finish().await;
}

async fn a_step_that_sent_a_mail_and_says_it_was_not_done_may_not_be_complete(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    let handover =
        json!({ "stepSummary": "No place was found.", "stepOutputMarkdown": "Bo knows.", "done": false });
    world.model.will(Answer::tool("finish_step", handover));
    result(&world, "Bo knows, and the place is open.", "Bo knows.");
    world.click("ana", "dm:ana", "Approve & send").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("◐ 2 Tell Bo which to take — may not be complete. No place was found."), "{said}");
    world.finish().await;
}

async fn a_step_whose_mail_was_denied_is_not_done(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.read_new("dm:ana");
    world.model.will(finish("Bo was told.", "Bo was told to take Olive."));
    result(&world, "Olive is cheaper.", "Olive costs 21 a head.");
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Compare the offers and tell Bo which to take
              · Ana Silva's task · Partly done · 1 of 2 steps
              ✓ 1 Compare the offers — Olive is cheaper.
              – 2 Tell Bo which to take — not done. Bo was told.
              [Run again] [Show details]
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              Denied by Ana Silva 09:30 WET. Not sent.
              [Ask again]
            nod: # Partly done: Compare the offers and tell Bo which to take
              Olive is cheaper.

              Olive costs 21 a head.
              [Raw] [As a file]
        ");
    }
    let asked = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(asked.contains("Step 2, which was not done, handed on:"), "{asked}");
    world.finish().await;
}

/// The task has ended, and then the mail that was denied is asked for again and sent.
async fn what_is_sent_after_the_end_is_done_since_then(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.model.will(finish("Bo was not told.", "You denied the mail, so I did not send it."));
    result(&world, "Olive is cheaper.", "I did not send the mail.");
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.click("ana", "dm:ana", "Ask again").await;
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Compare the offers and tell Bo which to take
              · Ana Silva's task · Done · 2 steps
              ✓ 1 Compare the offers — Olive is cheaper.
              ✓ 2 Tell Bo which to take — Done after the step had ended.
              [Run again] [Show details]
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              Denied by Ana Silva 09:30 WET. Not sent.
            nod: # Partly done: Compare the offers and tell Bo which to take
              · Since this was written, the rest was done.
              Olive is cheaper.

              I did not send the mail.
              [Raw] [As a file]
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  The caterer
              Hi Bo,

              Olive it is.

              Ana
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    assert!(open(&mut world, "Show details").await.contains("\n\nDone after the step had ended."));
    if let FakeChat::Slack(_) = world.chat {
        world.close_form("ana");
    }
    world.script_model("tool", [Answer::tool("get_task_result", json!({})), Answer::text("He was.")]);
    world.say("ana", "dm:ana", "what did the caterers' task do, was Bo told?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("Done after the step had ended."), "{asked}");
    world.read_new("dm:ana");
    world.finish().await;
}

/// Both mails of a step are asked for again after the end, one after the other.
async fn each_of_two_mails_sent_after_the_end_is_told(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    plan(&world, &["Tell Bo and Cho"]);
    let mail_to = |name: &str| json!({ "to": [name], "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail_to("Bo")));
    world.run_command("ana", "dm:ana", "task tell Bo and Cho which to take").await;
    world.model.will(Answer::tool("gmail_send_email", mail_to("Cho")));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.model.will(finish("Nobody was told.", "You denied both mails."));
    result(&world, "Nobody knows.", "You denied both mails.");
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    for (step, much) in [
        (
            "◐ 1 Tell Bo and Cho — may not be complete. Nobody was told. Part of it was done after the",
            "more of it",
        ),
        ("✓ 1 Tell Bo and Cho — Done after the step had ended.", "the rest"),
    ] {
        world.click("ana", "dm:ana", "Ask again").await;
        world.click("ana", "dm:ana", "Approve & send").await;
        world.advance_past_undo_window().await;
        let read = world.read_new("dm:ana");
        assert!(read.contains(step), "{read}");
        assert!(read.contains(&format!("· Since this was written, {much} was done.")), "{read}");
        assert_eq!(read.matches("Since this was written").count(), 1, "{read}");
    }
    world.finish().await;
}

/// As above, while a later step waits.
async fn what_is_sent_after_its_step_has_ended_is_done(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    plan(&world, &["Tell Bo", "Ask for the date"]);
    let mail = json!({ "to": ["Bo"], "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.run_command("ana", "dm:ana", "task tell Bo, then ask me for the date").await;
    world.model.will(finish("Bo was not told.", "You denied the mail."));
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": ["The 5th"] })));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.click("ana", "dm:ana", "Ask again").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("✓ 1 Tell Bo — Done after the step had ended."), "{read}");
    assert!(read.contains("Waits for your answer"), "{read}");
    world.model.will(finish("It is the 5th.", "The 5th."));
    result(&world, "Bo knows, and it is the 5th.", "The 5th.");
    world.click("ana", "dm:ana", "The 5th").await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("# Done: "), "{read}");
    world.finish().await;
}

async fn a_step_whose_mail_expired_is_not_done(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.model.will(finish("Nobody approved the mail.", "Bo has no mail."));
    result(&world, "Olive is cheaper.", "Olive costs 21 a head.");
    world.advance(TimeDelta::hours(25)).await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("– 2 Tell Bo which to take — not done. Nobody approved the mail."), "{read}");
    assert!(read.contains("Partly done: Compare the offers"), "{read}");
    world.finish().await;
}

/// The other mail was sent, so it is neither done nor not done.
async fn a_step_of_whose_mails_one_was_denied_may_not_be_complete(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    plan(&world, &["Tell Bo and Cho"]);
    let mail_to = |name: &str| json!({ "to": [name], "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail_to("Bo")));
    world.run_command("ana", "dm:ana", "task tell Bo and Cho which to take").await;
    world.model.will(Answer::tool("gmail_send_email", mail_to("Cho")));
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    world.model.will(finish("Both were told.", "Both were told to take Olive."));
    result(&world, "Both know.", "Olive.");
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("May not be complete · 0 of 1 step"), "{read}");
    assert!(read.contains("◐ 1 Tell Bo and Cho — may not be complete. Both were told."), "{read}");
    assert!(read.contains("# May not be complete: Tell Bo and Cho which to take"), "{read}");
    let asked = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(asked.contains("Step 1, which may not be complete, handed on:"), "{asked}");
    world.finish().await;
}

async fn a_step_whose_mail_is_approved_at_the_second_request_is_done(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    let mail = json!({ "to": ["Bo"], "subject": "The caterer", "body": "Olive, please." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.model.will(finish("Bo was told.", "Bo was told to take Olive."));
    result(&world, "Olive is cheaper.", "Olive costs 21 a head.");
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("✓ 2 Tell Bo which to take — Bo was told."), "{read}");
    assert!(read.contains("# Done: Compare the offers and tell Bo which to take"), "{read}");
    world.finish().await;
}

async fn a_step_whose_mail_went_to_somebody_else_as_told_is_done(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.make_mail_address_known("cho").await;
    let mail = json!({ "to": ["Cho"], "subject": "The caterer", "body": "Olive, please." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[("Reason", "Tell Cho instead")]).await;
    world.model.will(finish("Cho was told.", "Cho was told to take Olive."));
    result(&world, "Olive is cheaper.", "Olive costs 21 a head.");
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("✓ 2 Tell Bo which to take — Cho was told."), "{read}");
    world.finish().await;
}

async fn a_step_whose_second_mail_reaches_fewer_may_not_be_complete(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    plan(&world, &["Tell Bo and Cho"]);
    let mail_to = |names: &[&str]| json!({ "to": names, "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail_to(&["Bo", "Cho"])));
    world.run_command("ana", "dm:ana", "task tell Bo and Cho which to take").await;
    world.model.will(Answer::tool("gmail_send_email", mail_to(&["Bo"])));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.model.will(finish("Both were told.", "Both were told to take Olive."));
    result(&world, "Both know.", "Olive.");
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("◐ 1 Tell Bo and Cho — may not be complete. Both were told."), "{read}");
    world.finish().await;
}

async fn a_step_whose_mail_was_refused_before_it_was_asked_for_may_not_be_complete(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    plan(&world, &["Tell Zoe"]);
    let mail = json!({ "to": ["Zoe"], "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.model.will(finish("Zoe was told.", "Zoe was told to take Olive."));
    result(&world, "Zoe knows.", "Olive.");
    world.run_command("ana", "dm:ana", "task tell Zoe which to take").await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("◐ 1 Tell Zoe — may not be complete. Zoe was told."), "{read}");
    assert!(read.contains("# May not be complete: Tell Zoe which to take"), "{read}");
    let heard = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(heard.contains("Zoe isn't in this workspace") && !heard.contains("couldn't find Zoe"), "{heard}");
    world.finish().await;
}

/// Its task waits meanwhile and hears of the step alone.
async fn a_step_goes_on_once_its_account_is_connected(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look into the mail"]);
    world.model.will(Answer::tool("gmail_list_recent", json!({})));
    world.run_command("ana", "dm:ana", "task look into my mail").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("step 1 of 1 · ▱ 0 % · Waits for your account, see the message below."), "{said}");
    world.model.will(finish("It is empty.", "There is no mail."));
    result(&world, "It is empty.", "There is no mail.");
    let link = world.find_newest_link("ana");
    world.consent_as("ana", &link, "ana@acme.test", None).await;
    world.wait_until_idle().await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("# Done: Look into my mail"), "{said}");
    world.finish().await;
}

async fn a_forged_retry_of_a_task_does_nothing(platform: Platform) {
    let mut world = with_asking_task(platform).await;
    world.read_new("dm:ana");
    let task: String = sqlx::query_scalar("select id::text from tasks").fetch_one(&world.pool).await.unwrap();
    world.send_click(&Click::forged("ana", "dm:ana", format!("retry_run:{task}"))).await;
    assert!(world.read_ephemerals("ana").contains("I can't find that any more."));
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

/// What a step does without a nod can have to wait; its line would stand beside the task's card.
async fn a_stop_of_a_step_stops_its_task(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    plan(&world, &["Draft a mail", "Look"]);
    let busy = Fault::ErrorReason { code: 429, reason: "rateLimitExceeded", retry_after: Some(600) };
    world.google.faults.next("gmail.users.drafts.create", busy);
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nhere it is.\n\nAna" });
    world.model.will(Answer::tool("gmail_create_draft", draft));
    world.run_command("ana", "dm:ana", "task draft a mail to Bo").await;
    let said = world.read_new("dm:ana");
    assert_eq!(said.matches("[Stop]").count(), 1, "{said}");
    let step: String = sqlx::query_scalar("select run_id::text from task_steps where number = 1")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    world.send_click(&Click::forged("ana", "dm:ana", format!("stop_run:{step}"))).await;
    world.advance(TimeDelta::minutes(11)).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Stopped · 0 of 2 steps done") && !said.contains("[Stop]"), "{said}");
    world.finish().await;
}

async fn a_long_result_comes_whole(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"]);
    world.model.will(finish("Found.", "It is here."));
    let text = (1..=900).map(|at| format!("This is line {at}.")).collect::<Vec<_>>().join("\n\n");
    result(&world, "It is found.", &text);
    world.run_command("ana", "dm:ana", "task find it").await;
    let said = world.read_new("dm:ana");
    assert!((1..=900).all(|at| said.contains(&format!("This is line {at}."))), "{said}");
    world.finish().await;
}

/// A bare yes can be an answer to what was said in the conversation.
async fn a_yes_alone_is_no_nod_to_a_step(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    world.read_new("dm:ana");
    world.say("ana", "dm:ana", "yes").await;
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("A task of yours asked for a nod here") && said.contains("[Approve & send]"),
        "{said}"
    );
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.click("ana", "dm:ana", "Stop").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_task_and_the_conversation_keep_their_own_requests(platform: Platform) {
    let mut world = with_waiting_task(platform).await;
    let mail = json!({ "to": ["Bo"], "subject": "The caterer", "body": "Hi Bo,\n\nFig it is.\n\nAna" });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
    world.say("ana", "dm:ana", "tell Bo to take Fig").await;
    let said = world.read_new("dm:ana");
    assert_eq!(said.matches("[Approve & send]").count(), 2, "{said}");
    world.discard().await;
}

async fn a_result_that_says_too_much_is_corrected(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Tell Bo"]);
    world.model.will(finish("Told.", "I have sent the mail to Bo."));
    result(&world, "Bo knows.", "I have sent the mail to Bo.");
    world.run_command("ana", "dm:ana", "task tell Bo").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("· To be clear, nothing was sent or changed."), "{said}");
    world.finish().await;
}

async fn the_tenth_step_writes_no_more_than_the_second(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"; 10]);
    for _ in 0..10 {
        world.model.will(finish("One more is found.", &"It is here. ".repeat(100)));
    }
    result(&world, "It is found.", "It is here.");
    world.run_command("ana", "dm:ana", "task find it").await;
    world.read_new("dm:ana");
    let bytes: Vec<i64> = sqlx::query_scalar(
        "select (octet_length(s.output) + octet_length(r.state::text)
             + (select sum(octet_length(turn::text)) from messages m where m.run_id = s.run_id)
             + (select sum(octet_length(steps::text)) from step_records c where c.run_id = s.run_id))::bigint
         from task_steps s join runs r on r.id = s.run_id order by s.number",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    assert!(bytes.len() == 10 && bytes[9] * 10 <= bytes[1] * 11, "{bytes:?}");
    world.finish().await;
}

/// What it read of others is deleted in time, which must not stand before another try.
async fn a_step_that_read_a_channel_is_tried_again(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.say("bo", "general", "The offsite is in May.").await;
    plan(&world, &["Sum up general"]);
    world.model.will(Answer::tool("chat_read_channel", json!({ "channel": "general" })));
    world.model.will(Answer::status(400, None));
    world.run_command("ana", "dm:ana", "task sum up general").await;
    let purges = "select count(*) from jobs where payload->>'work' = 'purge_run_history'";
    assert_eq!(sqlx::query_scalar::<_, i64>(purges).fetch_one(&world.pool).await.unwrap(), 1);
    world.model.will(finish("It is in May.", "The offsite is in May."));
    result(&world, "The offsite is in May.", "It is in May.");
    world.click("ana", "dm:ana", "Try this step again").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("# Done: Sum up general"), "{said}");
    world.discard().await;
}

async fn a_result_that_no_model_writes_is_what_the_steps_handed_on(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look", "Look again"]);
    world.model.will(finish("Found.", "It is here."));
    world.model.will(finish("Found again.", "It is still here."));
    world.model.will(Answer::status(400, None).for_role(ModelRole::Finaliser));
    world.run_command("ana", "dm:ana", "task find it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Find it
              · Ana Silva's task · Done · 2 steps
              ✓ 1 Look — Found.
              ✓ 2 Look again — Found again.
              [Run again] [Show details]
            nod: # Done: Find it
              The model refused the request (status 400). The person who runs Nod needs to look at it. This is what the steps handed on.

              Look

              It is here.

              Look again

              It is still here.
              [Raw] [As a file]
        ");
    }
    world.finish().await;
}

/// A step has ended, and the mail that it did not get sent is asked for again while the next one works.
async fn a_stop_takes_back_what_was_asked_for_again(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.read_new("dm:ana");
    plan(&world, &["Tell Bo", "Ask for the date"]);
    let mail = json!({ "to": ["Bo"], "subject": "The caterer", "body": "Olive it is." });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.run_command("ana", "dm:ana", "task tell Bo, then ask me for the date").await;
    world.model.will(finish("Bo was not told.", "You denied the mail."));
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": [] })));
    world.click("ana", "dm:ana", "Deny").await;
    world.submit_form("ana", &[]).await;
    world.click("ana", "dm:ana", "Ask again").await;
    assert!(world.read_rest("dm:ana").contains("[Approve & send]"));
    let stop = world.find_message_with_button("dm:ana", "Approve & send");
    let approve = world.prepare_click("ana", "dm:ana", "Approve & send");
    world.click("ana", "dm:ana", "Stop").await;
    let read = world.read_rest("dm:ana");
    assert!(read.contains("Stopped by Ana Silva") && read.contains("Nothing was sent."), "{read}");
    assert!(!read.contains("[Approve & send]"), "{stop}: {read}");
    world.send_click(&approve).await;
    world.advance_past_undo_window().await;
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.read_ephemerals("ana");
    world.read_new("dm:ana");
    world.finish().await;
}
