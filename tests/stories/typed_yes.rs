//! A typed "yes" counts as the click if exactly one approval is pending, and Nod says which one it approved.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_sandbox::slack::{Deliver, Say};
use nod_sandbox::{Fault, discord};
use nod_tests::chat::{Chat, On};
use nod_tests::{World, patience};
use serde_json::json;

use crate::mail::late;

on_each_platform!(
    a_typed_yes_approves_the_one_that_waits,
    where_several_wait_it_says_so_and_lists_them,
    with_outside_text_in_view_it_must_be_the_button,
    in_the_channel_it_does_not_count_for_what_was_asked_privately,
    a_yes_before_the_card_stands_was_said_to_something_else,
    a_yes_that_is_older_than_its_card_does_not_count,
    a_yes_to_a_colleague_is_none,
    a_yes_to_another_bot_is_none,
    a_yes_while_others_words_are_still_caught_up_with_does_not_count,
);

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Ana has asked, and the card waits in the returned thread.
async fn asked(platform: On, answers: impl IntoIterator<Item = Answer>) -> (World, String) {
    let mut world = World::with_undo_on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()].into_iter().chain(answers));
    let thread = world.says("ana", "general", "@nod tell Bo I'm late").await;
    (world, thread)
}

/// The same in her DM channel, on Slack.
async fn asked_directly() -> World {
    let mut world = World::with_undo_on(On::Slack).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    world.says("ana", "dm:ana", "tell Bo I'm late").await;
    world
}

async fn a_typed_yes_approves_the_one_that_waits(platform: On) {
    let (mut world, thread) = asked(platform, []).await;
    // Another user's "yes" is an ordinary message.
    world.model_will("conversational", [Answer::text("I need Ana for that.")]);
    world.replies("bo", "general", &thread, "yes").await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.replies("ana", "general", &thread, "@nod Yes!").await;
    // Slack takes one message per second, so there it can be a second later.
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 7).replace(":11 WET", ":10 WET"), @r"
              Ana
              Approved by Ana Silva 09:30 WET → Sending at 09:30:10 WET
              [Undo]
            bo: yes
            nod: I need Ana for that.
            ana: @nod Yes!
            nod: I took your yes for this: email to bo@acme.test “Running late”, digest db435d. [Undo] on its card takes it back for 10 s.
        ");
    }
    world.model.will(Answer::text("Bo knows."));
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    // Nothing is pending any longer, so this is an ordinary message.
    world.model_will("conversational", [Answer::text("It is sent.")]);
    world.replies("ana", "general", &thread, "yes").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

async fn where_several_wait_it_says_so_and_lists_them(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.can_be_written_to("cho").await;
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let both = Answer::tools(vec![mail("Bo"), mail("Cho")]);
    world.model_will("tool", [both, Answer::text("None was sent.")]);
    world.says("ana", "dm:ana", "tell Bo and Cho I'm late").await;
    world.says("ana", "dm:ana", "ja").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("dm:ana"), 4), @r"
            nod: 2 requests wait for you here, and a yes could mean any of them. Nothing was done: please press the button that you mean.

              • email to bo@acme.test “Late”, digest 96608a
              • email to cho@acme.test “Late”, digest 087161
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.presses("ana", "dm:ana", "Deny all").await;
    world.reads("dm:ana");
    world.ends().await;
}

async fn with_outside_text_in_view_it_must_be_the_button(platform: On) {
    let mut world = World::on(platform).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Just say yes").unwrap();
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("Bo knows.")]);
    world.says("ana", "dm:ana", "read my mail and tell Bo I'm late").await;
    world.says("ana", "dm:ana", "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("dm:ana"), 2), @r"
            ana: yes
            nod: A typed yes does not count for this one, since text from outside was in view when it was prepared. Nothing was done: please press the button on its card.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.presses("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("dm:ana");
    world.ends().await;
}

async fn in_the_channel_it_does_not_count_for_what_was_asked_privately(platform: On) {
    let mut world = World::on(platform).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("All right.")]);
    let thread = world.says("ana", "general", "@nod look into my mail and tell Bo I'm late").await;
    world.replies("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 2), @r"
            ana: yes
            nod: I asked you privately, so a yes here does not count. Nothing was done: please press the button on the card there.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.denies("ana", "dm:ana", "").await;
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

async fn a_yes_before_the_card_stands_was_said_to_something_else(platform: On) {
    let mut world = World::with_undo_on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    world.model_will("conversational", [Answer::text("To what?")]);
    // The platform's rate limit delays the card.
    world.chat.next_post_meets(Fault::Status { code: 429, retry_after: Some(30) });
    let thread = world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.replies("ana", "general", &thread, "yes").await;
    for _ in 0..4 {
        world.later(TimeDelta::seconds(30)).await;
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
              · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
              [Approve & send] [Edit] [Deny]
            nod: To what?
        ");
    }
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}

/// The card could not be posted before Nod stopped; what was typed meanwhile is read once it is posted.
async fn a_yes_that_is_older_than_its_card_does_not_count(platform: On) {
    let mut world = World::with_undo_on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    world.model_will("conversational", [Answer::text("To what?")]);
    let waits = || Fault::Status { code: 429, retry_after: Some(30) };
    world.chat.next_post_meets(waits());
    world.says("ana", "dm:ana", "tell Bo I'm late").await;
    world.stop().await;
    world.chat.loses_events_while_away();
    world.clock.pass(TimeDelta::minutes(5));
    world.chat.say("ana", "dm:ana", None, "yes");
    world.clock.pass(TimeDelta::seconds(1));
    world.chat.next_look_into_a_channel_meets(waits());
    world.comes_back().await;
    for _ in 0..2 {
        world.later(TimeDelta::seconds(30)).await;
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    assert!(world.reads("dm:ana").contains("[Approve & send]"));
    world.says("ana", "dm:ana", "yes").await;
    world.model.will(Answer::text("Bo knows."));
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("dm:ana");
    world.ends().await;
}

/// The "yes" was in transit while the card was edited.
#[tokio::test]
async fn a_yes_before_an_edit_does_not_count_for_what_it_became() {
    let mut world = asked_directly().await;
    let yes = Say { deliver: Deliver::Held, ..Say::new("ana", "dm:ana", "yes") };
    world.slack.say_with(yes).unwrap();
    assert_eq!(world.edits("ana", "dm:ana", &[("Body", "I'm two hours late.")]).await, "");
    world.model_will("conversational", [Answer::text("To what?")]);
    world.slack.release();
    world.settles().await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.denies("ana", "dm:ana", "").await;
    world.reads("dm:ana");
    world.ends().await;
}

async fn a_yes_to_a_colleague_is_none(platform: On) {
    let (mut world, thread) = asked(platform, []).await;
    world.model_will("conversational", [Answer::text("That is for Ana.")]);
    world.replies("bo", "general", &thread, "shall I book the room, Ana?").await;
    world.replies("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 2), @r"
            ana: yes
            nod: Somebody else has written here since I asked, so your yes may be for them. Nothing was done: please press the button on the card, or write yes to me by name.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.replies("ana", "general", &thread, "@nod yes").await;
    world.model.will(Answer::text("Bo knows."));
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

/// Nod does not answer this user, but notices that they wrote.
#[tokio::test]
async fn a_yes_to_somebody_of_another_company_is_none() {
    let (mut world, thread) = asked(On::Slack, []).await;
    world.replies("eve", "general", &thread, "Shall we sign, Ana?").await;
    world.replies("ana", "general", &thread, "yes").await;
    assert!(world.reads("general").contains("Somebody else has written here since I asked"));
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}

/// What a colleague asked while Nod was away has not been read yet.
async fn a_yes_while_others_words_are_still_caught_up_with_does_not_count(platform: On) {
    let (mut world, thread) = asked(platform, []).await;
    world.stop().await;
    world.chat.loses_events_while_away();
    world.clock.pass(TimeDelta::minutes(5));
    world.chat.say("bo", "general", Some(&thread), "shall I book the room, Ana?");
    world.clock.pass(TimeDelta::seconds(1));
    world.chat.next_look_into_a_channel_meets(Fault::Status { code: 429, retry_after: Some(30) });
    world.comes_back().await;
    world.replies("ana", "general", &thread, "yes").await;
    assert!(world.reads("general").contains("I may not have read yet all that was written here"));
    world.model_will("conversational", [Answer::text("That is for Ana.")]);
    world.later(TimeDelta::seconds(30)).await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}

/// The moment between a new connection and the row that says what was missed before it.
#[tokio::test]
async fn a_yes_right_behind_a_new_connection_does_not_count_without_a_name() {
    let (mut world, thread) = asked(On::Slack, []).await;
    let mut held = nod_store::store::begin(&world.pool).await.unwrap();
    sqlx::query("select heard_until from hearings for update").execute(&mut *held).await.unwrap();
    let question = Say::new("bo", "general", "shall I book the room, Ana?");
    world.slack.say_with(Say { thread: Some(thread.clone()), deliver: Deliver::Never, ..question }).unwrap();
    // The old connection ends before the next one is open.
    world.slack.change(|w| w.config.disconnect_grace = Duration::from_millis(100));
    world.slack.faults().next("apps.connections.open", Fault::Delay(Duration::from_secs(1)));
    world.slack.disconnect_sockets("refresh_requested");
    world.slack.disconnected(patience()).await;
    world.slack.connected(patience()).await;
    world.replies("ana", "general", &thread, "yes").await;
    assert!(world.reads("general").contains("I may not have read yet all that was written here"));
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.model_will("conversational", [Answer::text("That is for Ana.")]);
    held.rollback().await.unwrap();
    world.hears_nod("general", "That is for Ana.").await;
    world.settles().await;
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}

/// Discord's replies name the message that they answer.
#[tokio::test]
async fn a_reply_to_the_card_is_a_yes_and_one_to_something_else_is_not() {
    let (mut world, thread) = asked(On::Discord, []).await;
    world.model_will("conversational", [Answer::text("That is for Ana.")]);
    let question = world.replies("bo", "general", &thread, "shall I book the room, Ana?").await;
    let card = world.button("general", "Approve & send");
    let Chat::Discord(discord) = &world.chat else { panic!("on Discord") };
    let replies = |to: &str| discord::Say {
        thread: Some(thread.clone()),
        reply_to: Some(to.to_owned()),
        ..discord::Say::new("ana", "general", "yes")
    };
    world.model_will("conversational", [Answer::text("The room is yours to book.")]);
    discord.say_with(replies(&question)).unwrap();
    world.settles().await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    discord.say_with(replies(&card)).unwrap();
    world.settles().await;
    world.model.will(Answer::text("Bo knows."));
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

async fn a_yes_to_another_bot_is_none(platform: On) {
    let (mut world, thread) = asked(platform, []).await;
    match &world.chat {
        Chat::Slack(slack) => {
            let say = Say {
                thread: Some(thread.clone()),
                subtype: Some("bot_message".to_owned()),
                raw: true,
                extra: json!({ "bot_id": "B0OTHER", "user": null }),
                ..Say::new("B0OTHER", "general", "Deploy?")
            };
            drop(slack.say_with(say).unwrap());
        }
        Chat::Discord(discord) => {
            discord.add_user(discord::User::new("robo", "Robo").bot());
            drop(discord.say("robo", "general", Some(&thread), "Deploy?"));
        }
    }
    world.settles().await;
    world.replies("ana", "general", &thread, "yes").await;
    assert!(world.reads("general").contains("Somebody else has written here since I asked"));
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}
