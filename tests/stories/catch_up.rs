//! Nod was away: messages sent meanwhile are looked up, handled once each, and answered if that still helps.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, ScriptedAnswer};
use nod_sandbox::slack::{EventDelivery, NewMessage};
use nod_tests::chat::Platform;
use nod_tests::{Mode, World, max_wait};
use serde_json::{Value, json};

on_each_platform!(
    what_was_said_while_nod_was_down_is_answered_once,
    what_is_too_old_is_not_acted_upon_and_nod_says_so_once_in_a_place,
    what_was_said_before_nod_came_is_none_of_its_business,
    many_reconnects_lose_nothing_and_double_nothing,
);

/// Answers every message that contains `heard` with `said`, in whatever order the messages come.
pub fn script_answer(world: &World, heard: &'static str, said: &str) {
    let last = move |ask: &Value| {
        ask["messages"].as_array().and_then(|all| all.last()).is_some_and(|m| m.to_string().contains(heard))
    };
    let route = Answer::json(&json!({"intent": "conversational", "tool": null}));
    world.model.script(ScriptedAnswer::from(route).with_condition(last));
    world.model.script(ScriptedAnswer::from(Answer::text(said)).with_condition(last));
}

/// Stops Nod, and the platform discards events that it cannot deliver.
async fn stop_for(world: &mut World, minutes: i64) {
    world.stop().await;
    world.chat.drop_undelivered_events();
    world.clock.advance(TimeDelta::minutes(minutes));
}

async fn what_was_said_while_nod_was_down_is_answered_once(platform: Platform) {
    assert_answered_once(World::new_on(platform).await).await;
}

#[tokio::test]
async fn what_was_said_while_nod_was_down_is_answered_once_where_slack_posts() {
    assert_answered_once(World::with_slack_mode(Mode::Http).await).await;
}

async fn assert_answered_once(mut world: World) {
    script_answer(&world, "hello", "Hello.");
    let ts = world.say("ana", "general", "@nod hello").await;
    // Discord has no list of DM channels, so only known ones are read.
    script_answer(&world, "hi there", "Hi.");
    world.say("cho", "dm:cho", "hi there").await;
    stop_for(&mut world, 10).await;
    world.chat.say("ana", "general", None, "@nod are you with us?");
    world.chat.say("bo", "general", Some(&ts), "a follow-up");
    world.chat.say("bo", "general", None, "lunch?");
    world.chat.say("cho", "dm:cho", None, "psst");
    let other = world.chat.say("bo", "general", None, "an old thread");
    world.chat.say("cho", "general", Some(&other), "@nod in a thread of others");
    for (heard, said) in
        [("with us?", "Here."), ("follow-up", "Followed."), ("psst", "Yes?"), ("others", "Joined.")]
    {
        script_answer(&world, heard, said);
    }
    world.start().await;
    for (place, said) in
        [("general", "Here."), ("general", "Followed."), ("dm:cho", "Yes?"), ("general", "Joined.")]
    {
        world.wait_for_nod_message(place, said).await;
    }
    let cho = world.read_new("dm:cho");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
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
    world.finish().await;
}

/// Slack redelivers later what it could not deliver, and has a list of DM channels.
#[tokio::test]
async fn what_slack_delivers_after_all_is_known_already() {
    let mut world = World::new().await;
    stop_for(&mut world, 10).await;
    let held = NewMessage { deliver: EventDelivery::Held, ..NewMessage::new("cho", "dm:cho", "psst") };
    world.slack.post_message_with(held).unwrap();
    script_answer(&world, "psst", "Yes?");
    world.start().await;
    world.wait_for_nod_message("dm:cho", "Yes?").await;
    world.slack.release();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:cho"), @r"
        cho: psst
        nod: Yes?
    ");
    world.finish().await;
}

async fn what_is_too_old_is_not_acted_upon_and_nod_says_so_once_in_a_place(platform: Platform) {
    let mut world = World::new_on(platform).await;
    script_answer(&world, "good morning", "Good morning.");
    world.say("ana", "dm:ana", "good morning").await;
    world.read_new("dm:ana");
    stop_for(&mut world, 10).await;
    world.chat.say("ana", "dm:ana", None, "send the report to Bo");
    world.chat.say("ana", "dm:ana", None, "hello?");
    world.chat.say("bo", "general", None, "@nod book a room");
    world.clock.advance(TimeDelta::hours(5));
    world.chat.say("ana", "dm:ana", None, "never mind");
    script_answer(&world, "never mind", "All right.");
    world.start().await;
    world.wait_for_nod_message("general", "I was offline").await;
    world.wait_for_nod_message("dm:ana", "All right.").await;
    insta::allow_duplicates! {
    insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
        ana: send the report to Bo
        ana: hello?
        ana: never mind
        nod: I was offline when you wrote this (Fri 6 Mar 2026, 09:40 WET), so I haven't done anything about it. Write again if it still matters.
        nod: All right.
    ");
    // Slack reports Bo's time zone.
    insta::assert_snapshot!(world.read_new("general").replace("10:40 CET", "09:40 WET"), @r"
        bo: @nod book a room
            nod: I was offline when you wrote this (Fri 6 Mar 2026, 09:40 WET), so I haven't done anything about it. Write again if it still matters.
    ");
    }
    world.finish().await;
}

/// Slack closes the old connection before the next one is open, and delivers nothing twice.
#[tokio::test]
async fn what_is_said_while_a_connection_is_renewed_is_answered_once() {
    let mut world = World::new().await;
    script_answer(&world, "in between", "Heard.");
    world.slack.change(|w| w.config.disconnect_grace = Duration::from_millis(200));
    world.slack.faults().next("apps.connections.open", Fault::DelayResponse(Duration::from_secs(3)));
    world.slack.disconnect_sockets("refresh_requested");
    world.slack.disconnected(max_wait()).await;
    world.chat.say_without_event("ana", "general", "@nod in between");
    world.wait_for_nod_message("general", "Heard.").await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod in between
            nod: Heard.
    ");
    world.finish().await;
}

#[tokio::test]
async fn catching_up_keeps_to_the_pace_that_slack_asks_for() {
    let mut world = World::new().await;
    stop_for(&mut world, 10).await;
    world.slack.post_message("ana", "general", None, "@nod are you there?");
    script_answer(&world, "there?", "Here.");
    world.slack.faults().next("users.conversations", Fault::Status { code: 429, retry_after: Some(30) });
    world.slack.faults().next("conversations.history", Fault::Status { code: 429, retry_after: Some(30) });
    world.slack.faults().next("conversations.history", Fault::DropConnection);
    world.start().await;
    for method in ["users.conversations", "conversations.history"] {
        world.slack.faults().wait_until_triggered(method, 1).await;
        world.wait_until_idle().await;
        world.advance(TimeDelta::seconds(31)).await;
    }
    world.advance(TimeDelta::seconds(31)).await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod are you there?
            nod: Here.
    ");
    world.finish().await;
}

/// Returns how many bytes of rows are written while the messages of so many channels are looked up, and how many calls read
/// messages.
async fn count_work_of_catching_up(channels: usize) -> (i64, usize) {
    const COUNT_BYTES: &str = "
        create table written (bytes bigint not null);
        create function add_bytes() returns trigger language plpgsql as $$ begin
            insert into written values (octet_length(coalesce(new, old)::text));
            return null;
        end $$;
        create trigger add_bytes after insert or update or delete on catch_up_channels
            for each row execute function add_bytes();
        create trigger add_bytes after update on lanes
            for each row when (old.payload <> new.payload) execute function add_bytes()";
    let mut world = World::new().await;
    for number in 0..channels {
        world.chat.add_channel(&format!("team-{number:02}"), &["ana"]);
    }
    stop_for(&mut world, 10).await;
    sqlx::raw_sql(COUNT_BYTES).execute(&world.pool).await.unwrap();
    let calls = world.chat.history_call_count();
    world.start().await;
    world.wait_until_idle().await;
    let bytes: i64 =
        sqlx::query_scalar("select sum(bytes)::bigint from written").fetch_one(&world.pool).await.unwrap();
    let calls = world.chat.history_call_count() - calls;
    world.finish().await;
    (bytes, calls)
}

#[tokio::test]
async fn a_channel_costs_the_same_however_many_there_are() {
    let (few_bytes, few_calls) = count_work_of_catching_up(10).await;
    let (many_bytes, many_calls) = count_work_of_catching_up(40).await;
    assert_eq!(many_calls, few_calls + 30);
    // Their places have one digit or two, in a row that is written and deleted.
    let (few, many) = (few_bytes / 10, many_bytes / 40);
    assert!(many <= few + 2, "{few} bytes a channel of 10, {many} a channel of 40");
}

async fn what_was_said_before_nod_came_is_none_of_its_business(platform: Platform) {
    let mut world = World::without_nod().await;
    world.use_platform(platform).await;
    world.chat.say_without_event("ana", "general", "@nod hello");
    world.start().await;
    world.wait_until_idle().await;
    assert_eq!(world.chat.history_call_count(), 0);
    assert_eq!(world.read_new("general"), "ana: @nod hello\n");
    world.finish().await;
}

async fn many_reconnects_lose_nothing_and_double_nothing(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let words: [&'static str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    for (at, word) in words.into_iter().enumerate() {
        script_answer(&world, word, &format!("heard {word}"));
        world.chat.say("ana", "general", None, &format!("@nod {word}"));
        match at % 4 {
            0 => world.chat.cut_connections(),
            1 => world.chat.disrupt_connections(),
            2 => world.chat.request_reconnect(),
            _ => {
                world.chat.request_reconnect();
                world.chat.cut_connections();
            }
        }
        // Some during the reconnect, some after it.
        if at % 2 == 1 {
            world.chat.wait_until_connected(max_wait()).await;
        }
    }
    for word in words {
        world.wait_for_nod_message("general", &format!("heard {word}")).await;
    }
    world.wait_until_idle().await;
    let read = world.read_new("general");
    for word in words {
        assert_eq!(read.matches(&format!("heard {word}")).count(), 1, "{read}");
    }
    world.finish().await;
}
