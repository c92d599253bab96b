//! What exists here is listed without a model, after the router.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::json;

use crate::tasks::{finish, plan, result};

on_each_platform!(
    documents_are_listed_without_a_model,
    what_waits_and_what_is_connected_is_listed_privately,
    drafts_are_listed_without_a_model,
    tasks_are_listed_and_what_they_came_to_is_read,
    a_model_can_call_for_a_list,
);

/// Asks, as the router understands it, and returns how often a model was called.
async fn ask(world: &World, user: &str, channel: &str, text: &str, list: &str) -> usize {
    let before = world.model.requests().len();
    world.model.router_will(Answer::json(&json!({ "intent": "metadata", "tool": list })));
    world.say(user, channel, text).await;
    world.model.requests().len() - before
}

async fn documents_are_listed_without_a_model(platform: Platform) {
    let mut world = World::new_on(platform).await;
    for name in ["hand|book *1*.md", "travel.md"] {
        let file = SharedFile::new(name, "text/markdown", format!("# Leave\nEverybody has {name}."));
        world.share_file("ana", "general", "@nod keep this", &file).await;
    }
    world.read_new("general");
    assert_eq!(ask(&world, "bo", "general", "@nod which documents do you know?", "list_documents").await, 1);
    let said = world.read_new("general");
    assert!(said.contains("2 documents:") && said.contains("hand|book *1*.md"), "{said}");
    assert_eq!(ask(&world, "bo", "dm:bo", "which documents are mine?", "list_documents").await, 1);
    let said = world.read_new("dm:bo");
    assert!(said.contains("travel.md"), "{said}");
    world.finish().await;
}

async fn what_waits_and_what_is_connected_is_listed_privately(platform: Platform) {
    let mut world = World::new_on(platform).await;
    assert_eq!(ask(&world, "ana", "general", "@nod what waits for me?", "list_approvals").await, 1);
    assert!(world.read_new("dm:ana").contains("Nothing is waiting for you."));
    assert_eq!(ask(&world, "ana", "dm:ana", "is my mail connected?", "list_connections").await, 1);
    assert!(world.read_new("dm:ana").contains("None of your accounts is connected."));
    world.connect_google("ana").await;
    assert_eq!(ask(&world, "ana", "general", "@nod is my mail connected?", "list_connections").await, 1);
    let told = world.read_new("dm:ana");
    assert!(told.contains("1 connected account:") && told.contains("works"), "{told}");
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Lunch", "body": "At noon?" });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
    world.say("ana", "dm:ana", "ask Bo for lunch").await;
    world.read_new("dm:ana");
    assert_eq!(ask(&world, "ana", "dm:ana", "what waits for me?", "list_approvals").await, 1);
    let told = world.read_new("dm:ana");
    assert!(told.contains("1 request is waiting for you:") && told.contains("Lunch"), "{told}");
    let shared = world.read_new("general");
    assert!(!shared.contains("account") && shared.contains("Answered Ana Silva privately."), "{shared}");
    world.discard().await;
}

async fn drafts_are_listed_without_a_model(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Lunch", "body": "At noon?" });
    world.script_model("tool", [Answer::tool("gmail_create_draft", mail)]);
    world.say("ana", "dm:ana", "draft a mail to Bo").await;
    world.read_new("dm:ana");
    assert_eq!(ask(&world, "ana", "dm:ana", "which drafts are open?", "list_drafts").await, 1);
    let told = world.read_new("dm:ana");
    assert!(told.contains("1 open draft:") && told.contains("Lunch"), "{told}");
    assert_eq!(ask(&world, "bo", "dm:bo", "which drafts are open?", "list_drafts").await, 1);
    assert!(world.read_new("dm:bo").contains("You have no open drafts here."));
    // All are counted, also where only the first are shown.
    let more = "insert into drafts select (jsonb_populate_record(one, \
                jsonb_build_object('id', gen_random_uuid(), 'draft_ref', n))).* \
                from drafts one, generate_series(1, 72) n";
    sqlx::query(more).execute(&world.pool).await.unwrap();
    assert_eq!(ask(&world, "ana", "dm:ana", "which drafts are open?", "list_drafts").await, 1);
    let told = world.read_new("dm:ana");
    assert!(told.contains("73 open drafts:") && told.contains("and 53 more"), "{told}");
    world.finish().await;
}

async fn tasks_are_listed_and_what_they_came_to_is_read(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let none = json!({ "task": "compare caterers" });
    world.script_model(
        "tool",
        [Answer::tool("get_task_result", none.clone()), Answer::text("There is none.")],
    );
    world.say("ana", "dm:ana", "what did the caterers' task find?").await;
    plan(&world, &["Compare"]);
    world.model.will(finish("Olive is cheaper.", "Fig 23, Olive 21."));
    result(&world, "Olive is cheaper.", "Fig 23, Olive 21.");
    world.run_command("ana", "dm:ana", "task compare the caterers").await;
    plan(&world, &["Ask for the date", "Write the invitation"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": ["12 March"] })));
    world.run_command("ana", "dm:ana", "task plan the party").await;
    world.read_new("dm:ana");
    assert_eq!(ask(&world, "ana", "general", "@nod how far are my tasks?", "list_tasks").await, 1);
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_new("dm:ana").replace("\n\n", "\n"), @r"
        ana: what did the caterers' task find?
        nod: There is none.
        nod: # Compare the caterers
          · Ana Silva's task · Done · 1 step
          ✓ 1 Compare — Olive is cheaper.
          [Run again] [Show details]
        nod: # Done: Compare the caterers
          Olive is cheaper.
          Fig 23, Olive 21.
          [Raw] [As a file]
        nod: # Plan the party
          · Ana Silva's task · step 1 of 2 · ▱▱ 0 % · Waits for your answer, in the message below.
          ▸ 1 Ask for the date
          ○ 2 Write the invitation
          [Stop] [Show details]
        nod: # Which date?
          · Asked by your task “Plan the party”, step 1. Press a button, or reply to this message.
          [12 March] [Something else]
        nod: · You asked in a channel: “how far are my tasks?”
          You have 1 open task:
          • Plan the party: step 1 of 2 waits for your answer
          Ended in the last week:
          • Compare the caterers: Done, Fri 6 Mar 2026, 09:30 WET
          [Share in the thread]
    "); }
    assert_eq!(ask(&world, "bo", "dm:bo", "how far are my tasks?", "list_tasks").await, 1);
    assert!(world.read_new("dm:bo").contains("You have no open tasks, and none ended in the last week."));
    for (user, word) in [("ana", "Olive 21"), ("bo", "I couldn't find a task")] {
        world.script_model("tool", [Answer::tool("get_task_result", none.clone()), Answer::text("I see.")]);
        world.say(user, &format!("dm:{user}"), "what did the caterers' task find?").await;
        let asked = world.model.requests().pop().unwrap().to_string();
        assert!(asked.contains(word) && (user == "ana" || !asked.contains("Olive 21")), "{asked}");
        world.read_new(&format!("dm:{user}"));
    }
    world.read_new("general");
    world.discard().await;
}

/// The router names no list: the full agent answers.
async fn a_model_can_call_for_a_list(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("metadata", [Answer::tool("list_documents", json!({}))]);
    world.say("ana", "dm:ana", "what do you know?").await;
    assert!(world.read_new("dm:ana").contains("I don't know any documents here."));
    world.finish().await;
}
