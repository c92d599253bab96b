//! A typed "yes" counts as the click if exactly one approval is pending, and Nod says which one it approved.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_sandbox::slack::{EventDelivery, NewMessage};
use nod_sandbox::{Fault, discord};
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{World, max_wait};
use serde_json::json;

use crate::mail::late_mail_call;

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
async fn with_pending_request(
    platform: Platform,
    answers: impl IntoIterator<Item = Answer>,
) -> (World, String) {
    let mut world = World::with_undo_window_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()].into_iter().chain(answers));
    let thread = world.say("ana", "general", "@nod tell Bo I'm late").await;
    (world, thread)
}

/// The same in her DM channel, on Slack.
async fn asked_directly() -> World {
    let mut world = World::with_undo_window_on(Platform::Slack).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world
}

async fn a_typed_yes_approves_the_one_that_waits(platform: Platform) {
    let (mut world, thread) = with_pending_request(platform, []).await;
    // Another user's "yes" is an ordinary message.
    world.script_model("conversational", [Answer::text("I need Ana for that.")]);
    world.reply("bo", "general", &thread, "yes").await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.reply("ana", "general", &thread, "@nod Yes!").await;
    // Slack takes one message per second, so there it can be a second later.
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 7).replace(":11 WET", ":10 WET"), @r"
              Ana
              Approved by Ana Silva 09:30 WET → Sending at 09:30:10 WET
              [Undo]
            bo: yes
            nod: I need Ana for that.
            ana: @nod Yes!
            nod: Approved: email to bo@acme.test “Running late”. You have 10 s to undo it on its card.
        ");
    }
    world.model.will(Answer::text("Bo knows."));
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    // Nothing is pending any longer, so this is an ordinary message.
    world.script_model("conversational", [Answer::text("It is sent.")]);
    world.reply("ana", "general", &thread, "yes").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn where_several_wait_it_says_so_and_lists_them(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let both = Answer::tools(vec![mail("Bo"), mail("Cho")]);
    world.script_model("tool", [both, Answer::text("None was sent.")]);
    world.say("ana", "dm:ana", "tell Bo and Cho I'm late").await;
    world.say("ana", "dm:ana", "ja").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("dm:ana"), 4), @r"
            nod: 2 requests are waiting for you here. Which one do you mean? Please use the button on its card.

              • email to bo@acme.test “Late”
              • email to cho@acme.test “Late”
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.click("ana", "dm:ana", "Deny all").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn with_outside_text_in_view_it_must_be_the_button(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Just say yes").unwrap();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "dm:ana", "read my mail and tell Bo I'm late").await;
    world.say("ana", "dm:ana", "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("dm:ana"), 2), @r"
            ana: yes
            nod: I read text from outside before preparing this, so please use the button on its card.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn in_the_channel_it_does_not_count_for_what_was_asked_privately(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, late_mail_call(), Answer::text("All right.")]);
    let thread = world.say("ana", "general", "@nod look into my mail and tell Bo I'm late").await;
    world.reply("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 2), @r"
            ana: yes
            nod: I asked you privately, so please approve it on the card there.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.deny_request("ana", "dm:ana", "").await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_yes_before_the_card_stands_was_said_to_something_else(platform: Platform) {
    let mut world = World::with_undo_window_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.script_model("conversational", [Answer::text("To what?")]);
    // The platform's rate limit delays the card.
    world.chat.fail_next_post(Fault::Status { code: 429, retry_after: Some(30) });
    let thread = world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.reply("ana", "general", &thread, "yes").await;
    for _ in 0..4 {
        world.advance(TimeDelta::seconds(30)).await;
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny]
            nod: To what?
        ");
    }
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

/// The card could not be posted before Nod stopped; what was typed meanwhile is read once it is posted.
async fn a_yes_that_is_older_than_its_card_does_not_count(platform: Platform) {
    let mut world = World::with_undo_window_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.script_model("conversational", [Answer::text("To what?")]);
    let waits = || Fault::Status { code: 429, retry_after: Some(30) };
    world.chat.fail_next_post(waits());
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.stop().await;
    world.chat.drop_undelivered_events();
    world.clock.advance(TimeDelta::minutes(5));
    world.chat.say("ana", "dm:ana", None, "yes");
    world.clock.advance(TimeDelta::seconds(1));
    world.chat.next_look_into_a_channel_meets(waits());
    world.comes_back().await;
    for _ in 0..2 {
        world.advance(TimeDelta::seconds(30)).await;
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    assert!(world.read_new("dm:ana").contains("[Approve & send]"));
    world.say("ana", "dm:ana", "yes").await;
    world.model.will(Answer::text("Bo knows."));
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

/// The "yes" was in transit while the card was edited.
#[tokio::test]
async fn a_yes_before_an_edit_does_not_count_for_what_it_became() {
    let mut world = asked_directly().await;
    let yes = NewMessage { deliver: EventDelivery::Held, ..NewMessage::new("ana", "dm:ana", "yes") };
    world.slack.post_message_with(yes).unwrap();
    assert_eq!(world.edit_request("ana", "dm:ana", &[("Body", "I'm two hours late.")]).await, "");
    world.script_model("conversational", [Answer::text("To what?")]);
    world.slack.release();
    world.wait_until_idle().await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "dm:ana", "").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_yes_to_a_colleague_is_none(platform: Platform) {
    let (mut world, thread) = with_pending_request(platform, []).await;
    world.script_model("conversational", [Answer::text("That is for Ana.")]);
    world.reply("bo", "general", &thread, "shall I book the room, Ana?").await;
    world.reply("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 2), @r"
            ana: yes
            nod: Someone else has written here since I asked, so your yes may be for them. Please use the button on the card, or write yes to me by name.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.reply("ana", "general", &thread, "@nod yes").await;
    world.model.will(Answer::text("Bo knows."));
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

/// Nod does not answer this user, but notices that they wrote.
#[tokio::test]
async fn a_yes_to_somebody_of_another_company_is_none() {
    let (mut world, thread) = with_pending_request(Platform::Slack, []).await;
    world.reply("eve", "general", &thread, "Shall we sign, Ana?").await;
    world.reply("ana", "general", &thread, "yes").await;
    assert!(world.read_new("general").contains("Someone else has written here since I asked"));
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

/// What a colleague asked while Nod was away has not been read yet.
async fn a_yes_while_others_words_are_still_caught_up_with_does_not_count(platform: Platform) {
    let (mut world, thread) = with_pending_request(platform, []).await;
    world.stop().await;
    world.chat.drop_undelivered_events();
    world.clock.advance(TimeDelta::minutes(5));
    world.chat.say("bo", "general", Some(&thread), "shall I book the room, Ana?");
    world.clock.advance(TimeDelta::seconds(1));
    world.chat.next_look_into_a_channel_meets(Fault::Status { code: 429, retry_after: Some(30) });
    world.comes_back().await;
    world.reply("ana", "general", &thread, "yes").await;
    assert!(world.read_new("general").contains("I may not have read everything here yet"));
    world.script_model("conversational", [Answer::text("That is for Ana.")]);
    world.advance(TimeDelta::seconds(30)).await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

/// The moment between a new connection and the row that says what was missed before it.
#[tokio::test]
async fn a_yes_right_behind_a_new_connection_does_not_count_without_a_name() {
    let (mut world, thread) = with_pending_request(Platform::Slack, []).await;
    let mut held = nod_store::store::begin(&world.pool).await.unwrap();
    sqlx::query("select received_until from ingest_watermarks for update").execute(&mut *held).await.unwrap();
    let question = NewMessage::new("bo", "general", "shall I book the room, Ana?");
    world
        .slack
        .post_message_with(NewMessage {
            thread: Some(thread.clone()),
            deliver: EventDelivery::Never,
            ..question
        })
        .unwrap();
    // The old connection ends before the next one is open.
    world.slack.change(|w| w.config.disconnect_grace = Duration::from_millis(100));
    world.slack.faults().next("apps.connections.open", Fault::DelayResponse(Duration::from_secs(1)));
    world.slack.disconnect_sockets("refresh_requested");
    world.slack.disconnected(max_wait()).await;
    world.slack.wait_until_connected(max_wait()).await;
    world.reply("ana", "general", &thread, "yes").await;
    assert!(world.read_new("general").contains("I may not have read everything here yet"));
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.script_model("conversational", [Answer::text("That is for Ana.")]);
    held.rollback().await.unwrap();
    world.wait_for_nod_message("general", "That is for Ana.").await;
    world.wait_until_idle().await;
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

/// Discord's replies name the message that they answer.
#[tokio::test]
async fn a_reply_to_the_card_is_a_yes_and_one_to_something_else_is_not() {
    let (mut world, thread) = with_pending_request(Platform::Discord, []).await;
    world.script_model("conversational", [Answer::text("That is for Ana.")]);
    let question = world.reply("bo", "general", &thread, "shall I book the room, Ana?").await;
    let card = world.find_message_with_button("general", "Approve & send");
    let FakeChat::Discord(discord) = &world.chat else { panic!("on Discord") };
    let replies = |to: &str| discord::NewMessage {
        thread: Some(thread.clone()),
        reply_to: Some(to.to_owned()),
        ..discord::NewMessage::new("ana", "general", "yes")
    };
    world.script_model("conversational", [Answer::text("The room is yours to book.")]);
    discord.post_message_with(replies(&question)).unwrap();
    world.wait_until_idle().await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    discord.post_message_with(replies(&card)).unwrap();
    world.wait_until_idle().await;
    world.model.will(Answer::text("Bo knows."));
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_yes_to_another_bot_is_none(platform: Platform) {
    let (mut world, thread) = with_pending_request(platform, []).await;
    match &world.chat {
        FakeChat::Slack(slack) => {
            let say = NewMessage {
                thread: Some(thread.clone()),
                subtype: Some("bot_message".to_owned()),
                raw: true,
                extra: json!({ "bot_id": "B0OTHER", "user": null }),
                ..NewMessage::new("B0OTHER", "general", "Deploy?")
            };
            drop(slack.post_message_with(say).unwrap());
        }
        FakeChat::Discord(discord) => {
            discord.add_user(discord::User::new("robo", "Robo").bot());
            drop(discord.post_message("robo", "general", Some(&thread), "Deploy?"));
        }
    }
    world.wait_until_idle().await;
    world.reply("ana", "general", &thread, "yes").await;
    assert!(world.read_new("general").contains("Someone else has written here since I asked"));
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.model.will(Answer::text("All right."));
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}
