//! A model that has nothing left to do or say after a call says so with it: then its receipt is the answer.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

on_each_platform!(
    a_receipt_is_the_answer_where_nothing_is_left_to_say,
    what_follows_a_receipt_knows_of_it,
    what_was_denied_is_answered_all_the_same,
    a_receipt_is_no_answer_to_the_rest_of_a_request,
    a_receipt_that_comes_late_is_told,
    what_failed_is_told,
    a_private_receipt_is_no_answer_to_a_channel,
    a_receipt_that_the_channel_refuses_reaches_the_person,
);

/// Mail to Bo, after which nothing is left to do or say.
fn last_mail() -> (&'static str, Value) {
    let body = "Hi Bo,\n\nI'm running late.\n\nAna";
    ("gmail_send_email", json!({ "to": ["Bo"], "subject": "Running late", "body": body, "more": false }))
}

async fn with_pending_request(platform: Platform, answers: Vec<Answer>) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", answers);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.read_new("general");
    world
}

async fn a_receipt_is_the_answer_where_nothing_is_left_to_say(platform: Platform) {
    let (tool, arguments) = last_mail();
    let mut world = with_pending_request(platform, vec![Answer::tool(tool, arguments)]).await;
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  [Open in Gmail]
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn what_follows_a_receipt_knows_of_it(platform: Platform) {
    let (tool, arguments) = last_mail();
    let mut world = with_pending_request(platform, vec![Answer::tool(tool, arguments)]).await;
    world.click("ana", "general", "Approve & send").await;
    world.read_new("general");
    world.script_model("conversational", [Answer::text("Yes, it is sent.")]);
    let before = world.model.all_requests().len();
    let root = world.chat.first_message("general");
    world.reply("ana", "general", &root, "did it go out?").await;
    let said = world.model.all_requests()[before..].last().unwrap()["messages"].to_string();
    assert!(said.contains("tell Bo I'm late") && said.contains("Done."), "{said}");
    world.read_new("general");
    world.finish().await;
}

async fn what_was_denied_is_answered_all_the_same(platform: Platform) {
    let (tool, arguments) = last_mail();
    let answers = vec![Answer::tool(tool, arguments), Answer::text("All right, I did not send it.")];
    let mut world = with_pending_request(platform, answers).await;
    world.deny_request("ana", "general", "").await;
    assert!(world.read_new("general").contains("nod: All right, I did not send it."));
    world.finish().await;
}

async fn a_receipt_is_no_answer_to_the_rest_of_a_request(platform: Platform) {
    let other = json!({ "to": ["Bo"], "subject": "Lunch", "body": "Lunch is at one." });
    let answers =
        vec![Answer::tools(vec![last_mail(), ("gmail_send_email", other)]), Answer::text("Bo has both.")];
    let mut world = with_pending_request(platform, answers).await;
    world.click("ana", "general", "Approve all").await;
    assert!(world.read_new("general").contains("nod: Bo has both."));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 2);
    world.finish().await;
}

/// Nobody looks at a card any more that changes after a while, and no platform notifies anybody of it.
async fn a_receipt_that_comes_late_is_told(platform: Platform) {
    let (tool, arguments) = last_mail();
    let answers = vec![Answer::tool(tool, arguments), Answer::text("Bo knows that you are late.")];
    let mut world = with_pending_request(platform, answers).await;
    let busy = Fault::Status { code: 429, retry_after: Some(120) };
    world.google.faults.next("gmail.users.drafts.create", busy);
    world.click("ana", "general", "Approve & send").await;
    world.advance(TimeDelta::minutes(3)).await;
    assert!(world.read_new("general").contains("nod: Bo knows that you are late."));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn what_failed_is_told(platform: Platform) {
    let (tool, arguments) = last_mail();
    let answers = vec![Answer::tool(tool, arguments), Answer::text("Gmail refused it.")];
    let mut world = with_pending_request(platform, answers).await;
    let refused = Fault::Status { code: 403, retry_after: None };
    world.google.faults.next("gmail.users.drafts.send", refused);
    world.click("ana", "general", "Approve & send").await;
    assert!(world.read_new("general").contains("nod: Gmail refused it."));
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

/// Others read the request; without an answer the thread would say for good that Ana was asked.
async fn a_private_receipt_is_no_answer_to_a_channel(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    let (tool, arguments) = last_mail();
    let list = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [list, Answer::tool(tool, arguments), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod answer my mail from Bo").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert!(world.read_new("general").contains("Answered Ana"));
    assert!(world.read_new("dm:ana").contains("Bo knows."));
    world.finish().await;
}

/// Nod was removed from the channel while the mail could still be taken back.
async fn a_receipt_that_the_channel_refuses_reaches_the_person(platform: Platform) {
    let mut world = World::with_undo_window_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let (tool, arguments) = last_mail();
    world.script_model("tool", [Answer::tool(tool, arguments)]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world.chat.set_nod_access("general", false);
    world.advance_past_undo_window().await;
    world.read_new("general");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              · I can't update this where you asked, so here it is.
              [Open in Gmail]
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}
