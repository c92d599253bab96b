//! Talking with Nod: mentions, threads, direct messages; each message is handled once.

use nod_sandbox::model::Answer;
use nod_sandbox::slack::MentionOrder;
use nod_tests::World;
use nod_tests::chat::Platform;

on_each_platform!(
    a_mention_is_answered_in_its_thread_and_follow_ups_need_none,
    a_direct_message_needs_no_mention,
    what_is_not_said_to_nod_is_not_kept,
    an_event_delivered_twice_is_heard_once,
    what_was_said_while_the_connection_was_cut_is_heard_afterwards,
    one_conversation_is_answered_in_order_and_another_does_not_wait,
);

async fn a_mention_is_answered_in_its_thread_and_follow_ups_need_none(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Hello **Ana**.")]);
    let ts = world.say("ana", "general", "@nod hello").await;
    world.script_model("conversational", [Answer::text("Twice *two* is 4.")]);
    world.reply("bo", "general", &ts, "and what is 2×2?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Hello Ana.
                bo: and what is 2×2?
                nod: Twice two is 4.
        ");
    }
    let last = world.model.requests().pop().unwrap().to_string();
    assert!(last.contains("Ana Silva: hello") && last.contains("Hello **Ana**."), "{last}");
    world.finish().await;
}

async fn a_direct_message_needs_no_mention(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("You're welcome.")]);
    world.say("ana", "dm:ana", "thanks!").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: thanks!
            nod: You're welcome.
        ");
    }
    world.finish().await;
}

async fn what_is_not_said_to_nod_is_not_kept(platform: Platform) {
    let world = World::new_on(platform).await;
    world.say("ana", "general", "lunch, anyone?").await;
    world.say("bo", "general", "me, at 12").await;
    let rows: i64 =
        sqlx::query_scalar("select (select count(*) from inbound) + (select count(*) from messages)")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(rows, 0);
    world.finish().await;
}

#[tokio::test]
async fn a_mention_comes_as_two_events_in_either_order_and_is_heard_once() {
    for order in [MentionOrder::MentionFirst, MentionOrder::MessageFirst] {
        let mut world = World::without_nod().await;
        world.slack.change(|slack| slack.config.mention_order = order);
        world.start().await;
        world.script_model("conversational", [Answer::text("Once.")]);
        world.say("ana", "general", "@nod hello").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod hello
                    nod: Once.
            ");
        }
        world.finish().await;
    }
}

async fn an_event_delivered_twice_is_heard_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Once.")]);
    world.chat.say_with_duplicate("ana", "general", "@nod hello");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Once.
        ");
    }
    world.finish().await;
}

/// Slack redelivers what it believes was not acknowledged; Discord redelivers nothing.
#[tokio::test]
async fn an_event_delivered_again_later_is_heard_once() {
    let mut world = World::new().await;
    world.script_model("conversational", [Answer::text("Once.")]);
    world.say("ana", "general", "@nod hello").await;
    // What the process remembers is gone; the row is not.
    world.stop().await;
    world.start().await;
    world.slack.redeliver_last();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod hello
            nod: Once.
    ");
    world.finish().await;
}

async fn what_was_said_while_the_connection_was_cut_is_heard_afterwards(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.cut_connections();
    world.script_model("conversational", [Answer::text("Here again.")]);
    world.say("ana", "general", "@nod are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod are you there?
                nod: Here again.
        ");
    }
    world.finish().await;
}

async fn one_conversation_is_answered_in_order_and_another_does_not_wait(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let slow = std::time::Duration::from_millis(400);
    let says = |text: &'static str| move |ask: &serde_json::Value| ask.to_string().contains(text);
    let script = nod_sandbox::model::ScriptedAnswer::from;
    for (heard, said, delay) in [("first", "1", slow), ("second", "2", slow / 8), ("other", "3", slow / 8)] {
        let last = move |ask: &serde_json::Value| {
            ask["messages"].as_array().and_then(|m| m.last()).is_some_and(says(heard))
        };
        world.model.script(
            script(Answer::json(&serde_json::json!({"intent": "conversational", "tool": null})))
                .with_condition(last),
        );
        world.model.script(script(Answer::text(said).with_delay(delay)).with_condition(last));
    }
    world.chat.say("ana", "dm:ana", None, "first");
    world.chat.say("ana", "dm:ana", None, "second");
    world.chat.say("bo", "dm:bo", None, "other");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: first
            ana: second
            nod: 1
            nod: 2
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:bo"), @r"
            bo: other
            nod: 3
        ");
    }
    let posts = world.chat.posted_messages();
    let order = ["3", "1", "2"].map(|said| {
        let said = format!(":\"{said}\"");
        posts.iter().position(|post| post.contains(&said)).unwrap_or_else(|| panic!("{said}: {posts:?}"))
    });
    assert_eq!((order, posts.len()), ([0, 1, 2], 3));
    world.finish().await;
}

/// Returns an answer with every kind of formatting, as the platform shows it.
async fn answer_with_all_markdown(platform: Platform) -> String {
    let mut world = World::new_on(platform).await;
    let answer = "# Plan\n\n1. one\n2. two\n   - *nested*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n\
                  See [the site](https://acme.test) or [bank](https://evil.test). <!channel> @here <@U0000ANA>";
    world.script_model("conversational", [Answer::text(answer)]);
    world.say("ana", "dm:ana", "show me everything").await;
    let read = world.read_new("dm:ana").replace('\u{200b}', "(nothing)");
    world.finish().await;
    read
}

#[tokio::test]
async fn markdown_becomes_what_slack_shows() {
    insta::assert_snapshot!(answer_with_all_markdown(Platform::Slack).await, @r"
        ana: show me everything
        nod: Plan

          1. one
          2. two

            • nested

          a  b
          ─  ─
          1  2

          fn main() {}

          See the site (https://acme.test/) or bank (https://evil.test/). <(nothing)!channel> @(nothing)here <(nothing)@U0000ANA>
    ");
}

#[tokio::test]
async fn markdown_becomes_what_discord_shows() {
    insta::assert_snapshot!(answer_with_all_markdown(Platform::Discord).await, @r"
        ana: show me everything
        nod: # Plan
          1. one
          2. two
            • nested
          a  b
          ─  ─
          1  2
          fn main() {}
          See the site (https://acme.test/) (acme.test) or bank (https://evil.test/) (evil.test). <!channel> @(nothing)here <(nothing)@U0000ANA>
    ");
}
