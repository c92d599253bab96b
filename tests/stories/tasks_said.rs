//! Tasks that are begun by what a person says: in their direct messages, and in a channel, where others read along.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

use crate::tasks::{finish, plan, result};

on_each_platform!(
    a_sentence_begins_a_task,
    a_task_in_a_channel_is_seen_by_all,
    what_a_task_in_a_channel_reads_in_a_mailbox_is_its_owners,
    a_fourth_task_is_not_begun_by_a_sentence,
    a_step_begins_no_task,
    no_model_with_tools_begins_a_task,
    who_asks_which_tasks_there_are_begins_none,
);

/// The router will take the next sentence for a task.
fn route(world: &World) {
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "create_task" })));
}

/// No model is called for it but the router and those of the task.
async fn a_sentence_begins_a_task(platform: Platform) {
    let mut world = World::new_on(platform).await;
    route(&world);
    plan(&world, &["Look for the word", "Tell me"]);
    world.model.will(finish("Found.", "The word is fig."));
    world.model.will(finish("Told.", "Fig."));
    result(&world, "The word is fig.", "Fig.");
    world.say("ana", "dm:ana", "look for the word, then tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: look for the word, then tell me
            nod: # Look for the word, then tell me
              · Ana Silva's task · Done · 2 steps
              ✓ 1 Look for the word — Found.
              ✓ 2 Tell me — Told.
              [Run again]
            nod: I have begun a task. It goes on by itself; talk to me meanwhile.
            nod: # Done: Look for the word, then tell me
              The word is fig.

              Fig.
        ");
    }
    let planned = world.model.all_requests().iter().map(Value::to_string).collect::<String>();
    assert!(planned.contains("look for the word, then tell me"), "{planned}");
    world.finish().await;
}

/// Its question is answered by its owner alone.
async fn a_task_in_a_channel_is_seen_by_all(platform: Platform) {
    let mut world = World::new_on(platform).await;
    route(&world);
    plan(&world, &["Ask for the date"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": ["12 March"] })));
    let thread = world.say("ana", "general", "@nod ask me for the date, then say it here").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod ask me for the date, then say it here
                nod: # Ask me for the date, then say it here
                  · Ana Silva's task · step 1 of 1 · ▱ 0 % · Waits for Ana Silva.
                  ▸ 1 Ask for the date
                  [Stop]
                nod: I have begun a task. It goes on by itself; talk to me meanwhile.
                nod: # Which date?
                  · Asked by your task Ask me for the date, then say it here, step 1.
                  [12 March] [Something else]
        ");
    }
    world.click("bo", "general", "12 March").await;
    assert!(world.read_ephemerals("bo").contains("This question is for someone else."));
    world.click("bo", "general", "Stop").await;
    let whispered = world.read_ephemerals("bo");
    assert!(whispered.contains("Only the person who asked can stop this"), "{whispered}");
    world.script_model("conversational", [Answer::text("Ana's task.")]);
    world.reply("bo", "general", &thread, "@nod whose is it?").await;
    world.model.will(finish("It is the 12th.", "The party is on 12 March."));
    result(&world, "It is the 12th.", "The party is on 12 March.");
    world.click("ana", "general", "12 March").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod ask me for the date, then say it here
                nod: # Ask me for the date, then say it here
                  · Ana Silva's task · Done · 1 step
                  ✓ 1 Ask for the date — It is the 12th.
                  [Run again]
                nod: I have begun a task. It goes on by itself; talk to me meanwhile.
                nod: · Which date? → 12 March
                bo: @nod whose is it?
                nod: Ana's task.
                nod: # Done: Ask me for the date, then say it here
                  It is the 12th.

                  The party is on 12 March.
        ");
    }
    world.finish().await;
}

/// Others see the plan's titles and how far it is. What came from the mailbox, and all that follows from it, they do not.
async fn what_a_task_in_a_channel_reads_in_a_mailbox_is_its_owners(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.read_new("dm:ana");
    route(&world);
    plan(&world, &["Read the offers", "Ask for the date", "Tell Bo"]);
    world.model.will(Answer::tool("gmail_list_recent", json!({})));
    world.model.will(finish("Heliotrope costs 23.", "Heliotrope costs 23 a head."));
    let question = json!({ "question": "When is heliotrope?", "options": ["12 March"] });
    world.model.will(Answer::tool("ask_user", question));
    world.say("ana", "general", "@nod read the offers in my mail, ask me for the date, then tell Bo").await;
    world.model.will(finish("Heliotrope on the 12th.", "Heliotrope on 12 March."));
    let mail = json!({ "to": ["Bo"], "subject": "Heliotrope", "body": "Hi Bo,\n\nHeliotrope it is.\n\nAna" });
    world.model.will(Answer::tool("gmail_send_email", mail));
    world.click("ana", "dm:ana", "12 March").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · When is heliotrope? → 12 March
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Heliotrope
              Hi Bo,

              Heliotrope it is.

              Ana
              · Asked by your task Read the offers in my mail, ask me for the date, then tell Bo, step 3. Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny]
        ");
    }
    world.model.will(finish("Bo has the mail on heliotrope.", "Bo was told of heliotrope."));
    result(&world, "Heliotrope, and Bo knows.", "Heliotrope on 12 March.");
    world.click("ana", "dm:ana", "Approve & send").await;
    world.advance_past_undo_window().await;
    let seen = world.read_new("general");
    assert!(!seen.to_lowercase().contains("heliotrope"), "{seen}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(seen, @r"
            ana: @nod read the offers in my mail, ask me for the date, then tell Bo
                nod: # Read the offers in my mail, ask me for the date, then tell Bo
                  · Ana Silva's task · Done · 3 steps
                  ✓ 1 Read the offers
                  ✓ 2 Ask for the date
                  ✓ 3 Tell Bo
                  [Run again]
                nod: I have begun a task. It goes on by itself; talk to me meanwhile.
                nod: · Asked Ana Silva privately.
                nod: · Asked Ana Silva privately.
                nod: · Answered Ana Silva privately.
        ");
    }
    assert!(world.read_new("dm:ana").contains("Heliotrope, and Bo knows."));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn a_fourth_task_is_not_begun_by_a_sentence(platform: Platform) {
    let mut world = World::new_on(platform).await;
    for at in 1..=3 {
        plan(&world, &["Ask for the date"]);
        let question = json!({ "question": format!("Which date for {at}?"), "options": [] });
        world.model.will(Answer::tool("ask_user", question));
        world.run_command("ana", "dm:ana", &format!("task plan party {at}")).await;
    }
    world.read_new("dm:ana");
    route(&world);
    world.say("ana", "dm:ana", "plan a fourth party, then tell me").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("You have 3 tasks open already. Nothing was begun."), "{said}");
    world.discard().await;
}

async fn count_tasks(world: &World) -> i64 {
    sqlx::query_scalar("select count(*) from tasks").fetch_one(&world.pool).await.unwrap()
}

async fn no_model_with_tools_begins_a_task(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [Answer::tool("create_task", json!({})), Answer::text("I can't.")]);
    world.say("ana", "dm:ana", "what's waiting for me?").await;
    assert!(world.read_new("dm:ana").contains("I can't."));
    assert_eq!(count_tasks(&world).await, 0);
    let offered = world.model.list_reasoner_requests();
    assert!(offered.iter().all(|asked| !asked["tools"].to_string().contains("create_task")));
    world.finish().await;
}

async fn who_asks_which_tasks_there_are_begins_none(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.model.router_will(Answer::json(&json!({ "intent": "metadata", "tool": "create_task" })));
    world.model.will(Answer::text("Type /nod task."));
    world.say("ana", "dm:ana", "which tasks do I have?").await;
    assert!(world.read_new("dm:ana").contains("Type /nod task."));
    assert_eq!(count_tasks(&world).await, 0);
    world.finish().await;
}

async fn a_step_begins_no_task(platform: Platform) {
    let mut world = World::new_on(platform).await;
    plan(&world, &["Look"]);
    world.model.will(Answer::tool("create_task", json!({})));
    world.model.will(finish("Found.", "It is here."));
    result(&world, "It is found.", "It is here.");
    world.run_command("ana", "dm:ana", "task find it").await;
    assert!(world.read_new("dm:ana").contains("✓ 1 Look — Found."));
    assert_eq!(count_tasks(&world).await, 1);
    let offered = world.model.all_requests();
    let of_steps = offered.iter().filter(|asked| asked.to_string().contains("finish_step"));
    assert!(of_steps.clone().count() > 0);
    assert!(of_steps.into_iter().all(|asked| !asked["tools"].to_string().contains("create_task")));
    world.finish().await;
}
