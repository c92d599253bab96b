//! [Stop], and "stop" typed: the turn of its owner ends, and what is said of it is true.

use nod_sandbox::model::Answer;
use nod_tests::{World, patience};

use crate::mail::late;

/// The model thinks for ever, and Nod has said that it works on it.
async fn thinking() -> (World, String) {
    let world = World::new().await;
    world.model_will("tool", [Answer::hang()]);
    let ts = world.slack.say("ana", "general", None, "@nod what is the answer?");
    world
        .slack
        .wait_for("[Stop]", patience(), |w| {
            let channel = w.channel_id("general").ok()?;
            w.messages(&channel).iter().any(|m| format!("{:?}", m.blocks).contains("Stop")).then_some(())
        })
        .await;
    (world, ts)
}

#[tokio::test]
async fn a_turn_that_takes_long_says_so_and_is_stopped_by_whose_it_is() {
    let (mut world, ts) = thinking().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod what is the answer?
            nod: · Working on it…
              [Stop]
    ");
    let statuses = world.slack.calls_of("assistant.threads.setStatus");
    assert_eq!(statuses.first().map(|call| call.args["status"].clone()), Some("is thinking…".into()));
    let stop = world.button("general", "Stop");
    world.slack.press("bo", "general", &stop, "Stop").unwrap().acknowledged(patience()).await;
    insta::assert_snapshot!(world.hears("bo").await, @"(bo only) nod: Only whoever asked can stop this. Nothing was done.");
    world.presses("ana", "general", "Stop").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod what is the answer?
            nod: · Stopped by Ana Silva. Nothing was sent.
    ");
    // The thread goes on.
    world.model_will("conversational", [Answer::text("Yes?")]);
    world.replies("ana", "general", &ts, "are you there?").await;
    assert!(world.reads("general").contains("nod: Yes?"));
    world.ends().await;
}

#[tokio::test]
async fn stop_is_typed() {
    let (mut world, ts) = thinking().await;
    world.replies("ana", "general", &ts, "stop!").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod what is the answer?
            nod: · Stopped by Ana Silva. Nothing was sent.
            ana: stop!
    ");
    world.replies("ana", "general", &ts, "stop").await;
    assert!(world.reads("general").contains("nothing to stop"));
    world.ends().await;
}

#[tokio::test]
async fn stop_takes_back_what_waits_for_a_nod() {
    let mut world = World::new().await;
    world.connects("ana").await;
    world.model_will("tool", [late()]);
    let ts = world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.replies("ana", "general", &ts, "stop").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod tell Bo I'm late
            nod: # Email not sent · rev 1 · db435d
              From  ana@acme.test
              To  bo@acme.test
              Cc  —
              Bcc  —
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Denied by Ana Silva 09:30 WET. Not sent.
            ana: stop
            nod: · Stopped by Ana Silva. Nothing was sent.
    ");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}

#[tokio::test]
async fn stop_takes_back_every_request_of_a_card() {
    let mut world = World::new().await;
    world.connects("ana").await;
    let mail = |to: &str| {
        ("gmail_send_email", serde_json::json!({ "to": [to], "subject": "Late", "body": "Late." }))
    };
    world.model_will("tool", [Answer::tools(vec![mail("Bo"), mail("Cho")])]);
    let ts = world.says("ana", "general", "@nod tell Bo and Cho I'm late").await;
    world.replies("ana", "general", &ts, "stop").await;
    let read = world.reads("general");
    assert_eq!(read.matches("Denied by Ana Silva 09:30 WET. Not sent.").count(), 2, "{read}");
    assert!(read.contains("Stopped by Ana Silva. Nothing was sent.") && !read.contains("[Approve"), "{read}");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}
