//! [Stop], and "stop" typed: the turn of its owner ends, and Nod reports truthfully what happened.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;

use crate::mail::late;

on_each_platform!(
    a_turn_that_takes_long_says_so_and_is_stopped_by_whose_it_is,
    stop_is_typed,
    stop_takes_back_what_waits_for_a_nod,
    stop_takes_back_every_request_of_a_card,
);

/// The model never answers, and Nod has posted that it is working on it.
async fn thinking(platform: On) -> (World, String) {
    let world = World::on(platform).await;
    world.model_will("tool", [Answer::hang()]);
    let ts = world.chat.say("ana", "general", None, "@nod what is the answer?");
    world.stands("general", "[Stop]").await;
    (world, ts)
}

async fn a_turn_that_takes_long_says_so_and_is_stopped_by_whose_it_is(platform: On) {
    let (mut world, ts) = thinking(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod what is the answer?
                nod: · Working on it…
                  [Stop]
        ");
    }
    assert!(world.chat.shown_thinking());
    let stop = world.button("general", "Stop");
    world.chat.press("bo", "general", &stop, "Stop").await;
    let heard = world.hears("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: Only whoever asked can stop this. Nothing was done.");
    }
    world.presses("ana", "general", "Stop").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod what is the answer?
                nod: · Stopped by Ana Silva. Nothing was sent.
        ");
    }
    // The thread goes on.
    world.model_will("conversational", [Answer::text("Yes?")]);
    world.replies("ana", "general", &ts, "are you there?").await;
    assert!(world.reads("general").contains("nod: Yes?"));
    world.ends().await;
}

async fn stop_is_typed(platform: On) {
    let (mut world, ts) = thinking(platform).await;
    world.replies("ana", "general", &ts, "stop!").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod what is the answer?
                nod: · Stopped by Ana Silva. Nothing was sent.
                ana: stop!
        ");
    }
    world.replies("ana", "general", &ts, "stop").await;
    assert!(world.reads("general").contains("nothing to stop"));
    world.ends().await;
}

async fn stop_takes_back_what_waits_for_a_nod(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    let ts = world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.replies("ana", "general", &ts, "stop").await;
    insta::allow_duplicates! {
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
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}

async fn stop_takes_back_every_request_of_a_card(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.can_be_written_to("cho").await;
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
