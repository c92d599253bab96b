//! Nod was away: messages sent meanwhile are looked up, handled once each, and answered if that still helps.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, ModelScript};
use nod_sandbox::slack::{Deliver, Say};
use nod_tests::chat::On;
use nod_tests::{Mode, World, patience};
use serde_json::{Value, json};

on_each_platform!(
    what_was_said_while_nod_was_down_is_answered_once,
    what_is_too_old_is_not_acted_upon_and_nod_says_so_once_in_a_place,
    what_was_said_before_nod_came_is_none_of_its_business,
    many_reconnects_lose_nothing_and_double_nothing,
);

/// Answers every message that contains `heard` with `said`, in whatever order the messages come.
pub fn answers(world: &World, heard: &'static str, said: &str) {
    let last = move |ask: &Value| {
        ask["messages"].as_array().and_then(|all| all.last()).is_some_and(|m| m.to_string().contains(heard))
    };
    let route = Answer::json(&json!({"intent": "conversational", "tool": null}));
    world.model.script(ModelScript::from(route).when(last));
    world.model.script(ModelScript::from(Answer::text(said)).when(last));
}

/// Stops Nod, and the platform discards events that it cannot deliver.
async fn goes_away(world: &mut World, minutes: i64) {
    world.stop().await;
    world.chat.loses_events_while_away();
    world.clock.pass(TimeDelta::minutes(minutes));
}

async fn what_was_said_while_nod_was_down_is_answered_once(platform: On) {
    is_answered_once(World::on(platform).await).await;
}

#[tokio::test]
async fn what_was_said_while_nod_was_down_is_answered_once_where_slack_posts() {
    is_answered_once(World::in_mode(Mode::Http).await).await;
}

async fn is_answered_once(mut world: World) {
    answers(&world, "hello", "Hello.");
    let ts = world.says("ana", "general", "@nod hello").await;
    // Discord has no list of DM channels, so only known ones are read.
    answers(&world, "hi there", "Hi.");
    world.says("cho", "dm:cho", "hi there").await;
    goes_away(&mut world, 10).await;
    world.chat.say("ana", "general", None, "@nod are you with us?");
    world.chat.say("bo", "general", Some(&ts), "a follow-up");
    world.chat.say("bo", "general", None, "lunch?");
    world.chat.say("cho", "dm:cho", None, "psst");
    let other = world.chat.say("bo", "general", None, "an old thread");
    world.chat.say("cho", "general", Some(&other), "@nod in a thread of others");
    for (heard, said) in
        [("with us?", "Here."), ("follow-up", "Followed."), ("psst", "Yes?"), ("others", "Joined.")]
    {
        answers(&world, heard, said);
    }
    world.start().await;
    for (place, said) in
        [("general", "Here."), ("general", "Followed."), ("dm:cho", "Yes?"), ("general", "Joined.")]
    {
        world.hears_nod(place, said).await;
    }
    let cho = world.reads("dm:cho");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod hello
                nod: Hello.
                bo: a follow-up
                nod: Followed.
            ana: @nod are you with us?
                nod: Here.
            bo: lunch?
            bo: an old thread
                cho: @nod in a thread of others
                nod: Joined.
        ");
        insta::assert_snapshot!(cho, @r"
            cho: hi there
            nod: Hi.
            cho: psst
            nod: Yes?
        ");
    }
    world.ends().await;
}

/// Slack redelivers later what it could not deliver, and has a list of DM channels.
#[tokio::test]
async fn what_slack_delivers_after_all_is_known_already() {
    let mut world = World::new().await;
    goes_away(&mut world, 10).await;
    let held = Say { deliver: Deliver::Held, ..Say::new("cho", "dm:cho", "psst") };
    world.slack.say_with(held).unwrap();
    answers(&world, "psst", "Yes?");
    world.start().await;
    world.hears_nod("dm:cho", "Yes?").await;
    world.slack.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:cho"), @r"
        cho: psst
        nod: Yes?
    ");
    world.ends().await;
}

async fn what_is_too_old_is_not_acted_upon_and_nod_says_so_once_in_a_place(platform: On) {
    let mut world = World::on(platform).await;
    answers(&world, "good morning", "Good morning.");
    world.says("ana", "dm:ana", "good morning").await;
    world.reads("dm:ana");
    goes_away(&mut world, 10).await;
    world.chat.say("ana", "dm:ana", None, "send the report to Bo");
    world.chat.say("ana", "dm:ana", None, "hello?");
    world.chat.say("bo", "general", None, "@nod book a room");
    world.clock.pass(TimeDelta::hours(5));
    world.chat.say("ana", "dm:ana", None, "never mind");
    answers(&world, "never mind", "All right.");
    world.start().await;
    world.hears_nod("general", "I was away").await;
    world.hears_nod("dm:ana", "All right.").await;
    insta::allow_duplicates! {
    insta::assert_snapshot!(world.reads_on("dm:ana"), @r"
        ana: send the report to Bo
        ana: hello?
        ana: never mind
        nod: I was away when you wrote this (Fri 6 Mar 2026, 09:40 WET), and did not act on it. Write again if it still matters.
        nod: All right.
    ");
    // Slack reports Bo's time zone.
    insta::assert_snapshot!(world.reads("general").replace("10:40 CET", "09:40 WET"), @r"
        bo: @nod book a room
            nod: I was away when you wrote this (Fri 6 Mar 2026, 09:40 WET), and did not act on it. Write again if it still matters.
    ");
    }
    world.ends().await;
}

/// Slack closes the old connection before the next one is open, and delivers nothing twice.
#[tokio::test]
async fn what_is_said_while_a_connection_is_renewed_is_answered_once() {
    let mut world = World::new().await;
    answers(&world, "in between", "Heard.");
    world.slack.change(|w| w.config.disconnect_grace = Duration::from_millis(200));
    world.slack.faults().next("apps.connections.open", Fault::Delay(Duration::from_secs(3)));
    world.slack.disconnect_sockets("refresh_requested");
    world.slack.disconnected(patience()).await;
    world.chat.say_untold("ana", "general", "@nod in between");
    world.hears_nod("general", "Heard.").await;
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod in between
            nod: Heard.
    ");
    world.ends().await;
}

#[tokio::test]
async fn catching_up_keeps_to_the_pace_that_slack_asks_for() {
    let mut world = World::new().await;
    goes_away(&mut world, 10).await;
    world.slack.say("ana", "general", None, "@nod are you there?");
    answers(&world, "there?", "Here.");
    world.slack.faults().next("users.conversations", Fault::Status { code: 429, retry_after: Some(30) });
    world.slack.faults().next("conversations.history", Fault::Status { code: 429, retry_after: Some(30) });
    world.slack.faults().next("conversations.history", Fault::Drop);
    world.start().await;
    for method in ["users.conversations", "conversations.history"] {
        world.slack.faults().met(method, 1).await;
        world.settles().await;
        world.later(TimeDelta::seconds(31)).await;
    }
    world.later(TimeDelta::seconds(31)).await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod are you there?
            nod: Here.
    ");
    world.ends().await;
}

async fn what_was_said_before_nod_came_is_none_of_its_business(platform: On) {
    let mut world = World::without_nod().await;
    world.play_on(platform).await;
    world.chat.say_untold("ana", "general", "@nod hello");
    world.start().await;
    world.settles().await;
    assert_eq!(world.chat.looks_into_channels(), 0);
    assert_eq!(world.reads("general"), "ana: @nod hello\n");
    world.ends().await;
}

async fn many_reconnects_lose_nothing_and_double_nothing(platform: On) {
    let mut world = World::on(platform).await;
    let words: [&'static str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    for (at, word) in words.into_iter().enumerate() {
        answers(&world, word, &format!("heard {word}"));
        world.chat.say("ana", "general", None, &format!("@nod {word}"));
        match at % 4 {
            0 => world.chat.cut(),
            1 => world.chat.disturb(),
            2 => world.chat.ask_to_reconnect(),
            _ => {
                world.chat.ask_to_reconnect();
                world.chat.cut();
            }
        }
        // Some during the reconnect, some after it.
        if at % 2 == 1 {
            world.chat.connected(patience()).await;
        }
    }
    for word in words {
        world.hears_nod("general", &format!("heard {word}")).await;
    }
    world.settles().await;
    let read = world.reads("general");
    for word in words {
        assert_eq!(read.matches(&format!("heard {word}")).count(), 1, "{read}");
    }
    world.ends().await;
}
