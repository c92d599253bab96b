//! Channels and users that disappear during a run: people who can still be reached are notified.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::{Chat, On};
use nod_tests::{World, patience};

use crate::mail::late;

on_each_platform!(
    a_channel_that_nod_was_removed_from_is_answered_in_the_direct_line,
    a_place_that_was_closed_is_answered_in_the_direct_line,
    a_thread_that_was_deleted_is_answered_in_the_direct_line,
    the_request_of_somebody_who_left_ends_and_its_card_says_so,
    who_asks_later_where_it_went_on_with_somebody_else_is_answered_alone,
);

/// Ana's mail waits for her approval in #general, in a thread that Bo started.
async fn waits(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.connects("bo").await;
    let ts = world.says("bo", "general", "where is Ana?").await;
    world.model_will("tool", [late()]);
    world.replies("ana", "general", &ts, "@nod tell Bo I'm late").await;
    world
}

/// Ana approves, and then `happens` changes the channel.
async fn approved_and_then(world: &mut World, happens: impl FnOnce(&Chat)) {
    world.model.will(Answer::text("Bo knows.").held_after(0));
    let asked = world.model.requests().len();
    let ts = world.button("general", "Approve & send");
    world.chat.pushes("ana", "general", &ts, "Approve & send");
    world.asked(asked + 1).await;
    // Wait for the receipt on the card: a card that is deleted before would be posted again.
    let receipt = async {
        while !world.chat.everything().contains("→ Sent") {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(patience(), receipt).await.unwrap();
    happens(&world.chat);
    world.model.release();
    world.settles().await;
    world.later(TimeDelta::minutes(5)).await;
}

async fn a_channel_that_nod_was_removed_from_is_answered_in_the_direct_line(platform: On) {
    let mut world = waits(platform).await;
    approved_and_then(&mut world, |chat| chat.admits_nod("general", false)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I may not write where you asked, so this comes to you here.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

async fn a_place_that_was_closed_is_answered_in_the_direct_line(platform: On) {
    let mut world = waits(platform).await;
    approved_and_then(&mut world, |chat| chat.closes("general")).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I may not write where you asked, so this comes to you here.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

async fn a_thread_that_was_deleted_is_answered_in_the_direct_line(platform: On) {
    let mut world = waits(platform).await;
    approved_and_then(&mut world, |chat| chat.forgets_messages("general")).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I may not write where you asked, so this comes to you here.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.ends().await;
}

async fn the_request_of_somebody_who_left_ends_and_its_card_says_so(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.later(TimeDelta::hours(1)).await;
    world.model_will("tool", [late()]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.chat.leaves("ana");
    // The list of users is read again once a day.
    world.later(TimeDelta::hours(23) + TimeDelta::minutes(1)).await;
    world.later(TimeDelta::hours(2)).await;
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
                  Nobody answered in time. Not sent.
                  [Ask again]
                nod: · I reminded Ana Silva of a request; its card says what became of it.
        ");
    }
    // A user whose account is deleted reads nothing; one who only left a server does.
    world.reads("dm:ana");
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.ends().await;
}

async fn who_asks_later_where_it_went_on_with_somebody_else_is_answered_alone(platform: On) {
    let mut world = waits(platform).await;
    let root = world.chat.messages("general")[0].clone();
    approved_and_then(&mut world, |chat| chat.admits_nod("general", false)).await;
    world.chat.admits_nod("general", true);
    world.google.deliver("bo@acme.test", "cho@acme.test", "Secret plans", "Psst.").unwrap();
    let recent = Answer::tool("gmail_list_recent", serde_json::json!({}));
    world.model_will("tool", [recent, Answer::text("Cho wrote of secret plans.")]);
    world.replies("bo", "general", &root, "@nod what's new in my mail?").await;
    assert!(world.reads("dm:bo").contains("secret plans"));
    assert!(!world.reads("dm:ana").contains("secret plans"));
    world.reads("general");
    world.ends().await;
}
