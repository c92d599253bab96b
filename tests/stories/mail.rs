//! A mention becomes a mail, after a nod.

use nod_sandbox::model::Answer;
use nod_tests::World;
use serde_json::json;

pub fn late() -> Answer {
    Answer::tool(
        "gmail_send_email",
        json!({ "to": ["Bo"], "subject": "Running late", "body": "Hi Bo,\n\nI'm running late.\n\nAna" }),
    )
}

#[tokio::test]
async fn mail_waits_for_a_yes() {
    let mut world = World::new().await;
    world.connects("ana").await;
    world.model_will("tool", [late(), Answer::text("Bo knows that you are late.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    insta::assert_snapshot!(world.reads("general"), @"");
    assert!(world.google.sent("ana@acme.test").is_empty());

    world.presses("ana", "general", "Approve & send").await;
    insta::assert_snapshot!(world.reads("general"), @"");
    let inbox = world.google.inbox("bo@acme.test");
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].subject, "Running late");
    world.ends().await;
}
