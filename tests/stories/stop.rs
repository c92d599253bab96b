//! [Stop], and "stop" typed: the turn of its owner ends, and Nod reports truthfully what happened.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    long_turn_is_announced_and_stopped_by_its_owner,
    stop_is_typed,
    stop_takes_back_what_waits_for_a_nod,
    stop_takes_back_every_request_of_a_card,
    stop_of_several_turns_is_said_once,
);

/// The model never answers, and Nod has posted that it is working on it.
async fn with_running_turn(platform: Platform) -> (World, String) {
    let world = World::new_on(platform).await;
    world.script_model("tool", [Answer::hang()]);
    let ts = world.chat.say("ana", "general", None, "@nod what is the answer?");
    world.wait_for_text("general", "[Stop]").await;
    (world, ts)
}

async fn long_turn_is_announced_and_stopped_by_its_owner(platform: Platform) {
    let (mut world, ts) = with_running_turn(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what is the answer?
                nod: · Working on it…
                  [Stop]
        ");
    }
    assert!(world.chat.has_shown_typing());
    let stop = world.find_message_with_button("general", "Stop");
    world.chat.click("bo", "general", &stop, "Stop").await;
    let heard = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: Only the person who asked can stop this.");
    }
    world.click("ana", "general", "Stop").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what is the answer?
                nod: · Stopped by Ana Silva. Nothing was sent.
        ");
    }
    // The thread goes on.
    world.script_model("conversational", [Answer::text("Yes?")]);
    world.reply("ana", "general", &ts, "are you there?").await;
    assert!(world.read_new("general").contains("nod: Yes?"));
    world.finish().await;
}

async fn stop_is_typed(platform: Platform) {
    let (mut world, ts) = with_running_turn(platform).await;
    world.reply("ana", "general", &ts, "stop!").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what is the answer?
                nod: · Stopped by Ana Silva. Nothing was sent.
                ana: stop!
        ");
    }
    world.reply("ana", "general", &ts, "stop").await;
    assert!(world.read_new("general").contains("I'm not working on anything for you here"));
    world.finish().await;
}

async fn stop_of_several_turns_is_said_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    for subject in ["Lunch", "Dinner"] {
        let mail = json!({ "to": ["Bo"], "subject": subject, "body": "At one." });
        world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
        world.say("ana", "dm:ana", &format!("tell Bo about {}", subject.to_lowercase())).await;
    }
    world.read_new("dm:ana");
    world.say("ana", "dm:ana", "stop").await;
    let read = world.read_new("dm:ana");
    assert_eq!(read.matches("Stopped by Ana Silva. Nothing was sent.").count(), 1, "{read}");
    assert_eq!(read.matches("Email not sent").count(), 2, "{read}");
    world.finish().await;
}

async fn stop_takes_back_what_waits_for_a_nod(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    let ts = world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.reply("ana", "general", &ts, "stop").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Stopped by Ana Silva 09:30 WET. Not sent.
                ana: stop
                nod: · Stopped by Ana Silva. Nothing was sent.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}

async fn stop_takes_back_every_request_of_a_card(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let mail = |to: &str| {
        ("gmail_send_email", serde_json::json!({ "to": [to], "subject": "Late", "body": "Late." }))
    };
    world.script_model("tool", [Answer::tools(vec![mail("Bo"), mail("Cho")])]);
    let ts = world.say("ana", "general", "@nod tell Bo and Cho I'm late").await;
    world.reply("ana", "general", &ts, "stop").await;
    let read = world.read_new("general");
    assert_eq!(read.matches("Stopped by Ana Silva 09:30 WET. Not sent.").count(), 2, "{read}");
    assert!(read.contains("Stopped by Ana Silva. Nothing was sent.") && !read.contains("[Approve"), "{read}");
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}
