//! Channels and users that disappear during a run: people who can still be reached are notified.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{World, max_wait};

use crate::mail::late_mail_call;

on_each_platform!(
    a_channel_that_nod_was_removed_from_is_answered_in_the_direct_line,
    a_place_that_was_closed_is_answered_in_the_direct_line,
    a_thread_that_was_deleted_is_answered_in_the_direct_line,
    the_request_of_somebody_who_left_ends_and_its_card_says_so,
    later_asker_in_a_private_conversation_is_answered_privately,
    what_went_on_privately_stays_so_while_the_turn_lasts,
);

/// Ana's mail waits for her approval in #general, in a thread that Bo started.
async fn with_pending_mail(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.connect_google("bo").await;
    let ts = world.say("bo", "general", "where is Ana?").await;
    world.script_model("tool", [late_mail_call()]);
    world.reply("ana", "general", &ts, "@nod tell Bo I'm late").await;
    world
}

/// Ana approves, and then `happens` changes the channel.
async fn approve_and_then(world: &mut World, happens: impl FnOnce(&FakeChat)) {
    world.model.will(Answer::text("Bo knows.").with_pause_after(0));
    let asked = world.model.requests().len();
    let ts = world.find_message_with_button("general", "Approve & send");
    world.chat.click_without_waiting("ana", "general", &ts, "Approve & send");
    world.wait_for_model_requests(asked + 1).await;
    // Wait for the receipt on the card: a card that is deleted before would be posted again.
    let receipt = async {
        while !world.chat.dump().contains("→ Sent") {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(max_wait(), receipt).await.unwrap();
    happens(&world.chat);
    world.model.release();
    world.wait_until_idle().await;
    world.advance(TimeDelta::minutes(5)).await;
}

async fn a_channel_that_nod_was_removed_from_is_answered_in_the_direct_line(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    approve_and_then(&mut world, |chat| chat.set_nod_access("general", false)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I can't post where you asked, so here it is.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_place_that_was_closed_is_answered_in_the_direct_line(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    approve_and_then(&mut world, |chat| chat.close_channel("general")).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I can't post where you asked, so here it is.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_thread_that_was_deleted_is_answered_in_the_direct_line(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    approve_and_then(&mut world, |chat| chat.delete_all_messages("general")).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo knows.
              · I can't post where you asked, so here it is.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn the_request_of_somebody_who_left_ends_and_its_card_says_so(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.advance(TimeDelta::hours(1)).await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.chat.remove_user("ana");
    // The list of users is read again once a day.
    world.advance(TimeDelta::hours(23) + TimeDelta::minutes(1)).await;
    world.advance(TimeDelta::hours(2)).await;
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
                  Expired without an answer. Not sent.
                  [Ask again]
                nod: · I reminded Ana Silva about a request. Its card shows how it ended.
        ");
    }
    // A user whose account is deleted reads nothing; one who only left a server does.
    world.read_new("dm:ana");
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

async fn later_asker_in_a_private_conversation_is_answered_privately(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    let root = world.chat.message_ids("general")[0].clone();
    approve_and_then(&mut world, |chat| chat.set_nod_access("general", false)).await;
    world.chat.set_nod_access("general", true);
    world.google.deliver("bo@acme.test", "cho@acme.test", "Secret plans", "Psst.").unwrap();
    let recent = Answer::tool("gmail_list_recent", serde_json::json!({}));
    world.script_model("tool", [recent, Answer::text("Cho wrote of secret plans.")]);
    world.reply("bo", "general", &root, "@nod what's new in my mail?").await;
    assert!(world.read_new("dm:bo").contains("secret plans"));
    assert!(!world.read_new("dm:ana").contains("secret plans"));
    world.read_new("general");
    world.finish().await;
}

/// The channel refuses the line that Nod is working on it, and takes messages again before the answer.
async fn what_went_on_privately_stays_so_while_the_turn_lasts(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [Answer::text("Here I am.").with_pause_after(0)]);
    world.chat.say("ana", "general", None, "@nod are you there?");
    world.chat.set_nod_access("general", false);
    world.wait_for_paced_text("dm:ana", "[Stop]").await;
    world.chat.set_nod_access("general", true);
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @"ana: @nod are you there?");
        insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: Here I am.");
    }
    world.finish().await;
}
