//! The hello: invited into a channel, Nod says once what it does, with three things to ask at once.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{Click, World};
use serde_json::json;

on_each_platform!(
    hello_is_said_once_wherever_nod_is_invited_again,
    invitations_at_once_are_greeted_once,
    a_hello_that_would_come_days_late_is_not_said,
    where_nod_may_not_write_nothing_follows,
    each_button_works_for_who_has_connected_nothing,
    whoever_presses_is_answered_from_their_own_email,
    a_hellos_button_works_only_in_its_channel,
);

/// Nod is in no channel of this world when the story begins.
async fn without_invitation(platform: Platform) -> World {
    let world = World::new_on(platform).await;
    world.chat.remove_nod("general");
    world
}

async fn invite(world: &World) {
    world.chat.invite_nod("ana", "general");
    world.wait_until_idle().await;
}

async fn greeted(platform: Platform) -> World {
    let world = without_invitation(platform).await;
    invite(&world).await;
    world
}

/// Slack shows in the channel who joined.
fn read(world: &mut World) -> String {
    world.read_new("general").replace("nod: @nod has joined the channel\n", "")
}

async fn hello_is_said_once_wherever_nod_is_invited_again(platform: Platform) {
    let mut world = greeted(platform).await;
    let said = read(&mut world);
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            nod: Hi, I'm Nod. Mention me and I'll answer from your own email and calendar, just for you.
              Anything that would reach someone else, you see first. It's sent once, and only after you approve it.
              [What's new in my email?] [Summarise this channel] [Find a time]
        ");
    }
    world.chat.remove_nod("general");
    world.advance(TimeDelta::hours(1)).await;
    invite(&world).await;
    world.stop().await;
    world.chat.remove_nod("general");
    world.clock.advance(TimeDelta::hours(1));
    world.chat.invite_nod("ana", "general");
    world.start().await;
    world.wait_until_idle().await;
    assert_eq!(read(&mut world), said);
    world.finish().await;
}

async fn invitations_at_once_are_greeted_once(platform: Platform) {
    let mut world = without_invitation(platform).await;
    for _ in 0..3 {
        world.clock.advance(TimeDelta::seconds(1));
        world.chat.invite_nod("ana", "general");
        world.chat.remove_nod("general");
    }
    invite(&world).await;
    assert_eq!(read(&mut world).matches("Hi, I'm Nod.").count(), 1);
    world.finish().await;
}

async fn a_hello_that_would_come_days_late_is_not_said(platform: Platform) {
    let mut world = without_invitation(platform).await;
    world.stop().await;
    world.chat.invite_nod("ana", "general");
    world.clock.advance(TimeDelta::days(2));
    world.start().await;
    world.wait_until_idle().await;
    assert_eq!(read(&mut world), "");
    world.finish().await;
}

async fn where_nod_may_not_write_nothing_follows(platform: Platform) {
    let mut world = without_invitation(platform).await;
    match &world.chat {
        FakeChat::Slack(slack) => {
            let archived = Fault::ErrorReason { code: 200, reason: "is_archived", retry_after: None };
            slack.faults().next("chat.postMessage", archived);
        }
        FakeChat::Discord(discord) => discord.change(|w| {
            let general = w.channel_id("general").unwrap();
            w.channels.get_mut(&general).unwrap().bot_sends = false;
        }),
    }
    invite(&world).await;
    world.advance(TimeDelta::days(1)).await;
    assert_eq!(read(&mut world), "");
    assert!(world.chat.list_channels_with_nod().is_empty());
    world.finish().await;
}

async fn each_button_works_for_who_has_connected_nothing(platform: Platform) {
    let mut world = greeted(platform).await;
    world.say("cho", "general", "decided: cake").await;
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.click("bo", "general", "What's new in my email?").await;
    let summed_up = [Answer::tool("chat_read_channel", json!({})), Answer::text("It will be cake.")];
    world.script_model("tool", summed_up);
    world.click("bo", "general", "Summarise this channel").await;
    world.script_model("conversational", [Answer::text("Who would you like to meet, and for how long?")]);
    world.click("bo", "general", "Find a time").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(read(&mut world), @r"
            nod: Hi, I'm Nod. Mention me and I'll answer from your own email and calendar, just for you.
              Anything that would reach someone else, you see first. It's sent once, and only after you approve it.
              [What's new in my email?] [Summarise this channel] [Find a time]
                nod: # Bo Lind asked
                  What's new in my email?
                nod: · Bo Lind, I need access to your account first. Check our direct messages.
                nod: # Bo Lind asked
                  Summarise this channel.
                nod: @bo
                  It will be cake.
                nod: # Bo Lind asked
                  Help me find a time to meet.
                nod: @bo
                  Who would you like to meet, and for how long?
            cho: decided: cake
        ");
        insta::assert_snapshot!(world.read_new("dm:bo"), @r"
            nod: I need access to your Gmail for that. Connect it, and I'll pick up where I left off. I'll ask for your Gmail and your calendar at once: untick what you don't want.
              · This link is just for you. It works once, within an hour. It only works with your own account.
              [Connect Google]
        ");
    }
    // Nobody's platform tells them of a thread in which they have not written.
    world.expect_loose_end("a ping: bo");
    world.finish().await;
}

async fn whoever_presses_is_answered_from_their_own_email(platform: Platform) {
    let mut world = greeted(platform).await;
    world.connect_google("ana").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, Answer::text("Nothing new.")]);
    world.click("ana", "general", "What's new in my email?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(read(&mut world), @r"
            nod: Hi, I'm Nod. Mention me and I'll answer from your own email and calendar, just for you.
              Anything that would reach someone else, you see first. It's sent once, and only after you approve it.
              [What's new in my email?] [Summarise this channel] [Find a time]
                nod: # Ana Silva asked
                  What's new in my email?
                nod: · Answered Ana Silva privately.
        ");
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “What's new in my email?”
              Nothing new.
              [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn a_hellos_button_works_only_in_its_channel(platform: Platform) {
    let mut world = greeted(platform).await;
    let press = world.prepare_click("bo", "general", "What's new in my email?");
    world.chat.add_channel("launch", &["ana", "bo"]);
    let elsewhere = Click { channel: "launch".to_owned(), message: "1.1".to_owned(), ..press.clone() };
    world.send_click(&elsewhere).await;
    let heard = world.wait_for_ephemeral("bo").await;
    world.send_click(&Click { action: format!("{}7", press.action), ..press }).await;
    assert_eq!(world.wait_for_ephemeral("bo").await, heard);
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: That button no longer works. Nothing was done.");
    }
    read(&mut world);
    world.finish().await;
}

/// The platform's rate limit holds for each channel, and now and then for all of them.
#[tokio::test]
async fn many_channels_at_once_are_each_greeted_once() {
    let mut world = World::new().await;
    world.chat.fail_next_post(Fault::Status { code: 429, retry_after: Some(3) });
    let names: Vec<String> = (0..30).map(|number| format!("team-{number}")).collect();
    for name in &names {
        world.chat.add_channel_without_nod(name, &["ana"]);
        world.chat.invite_nod("ana", name);
    }
    world.wait_until_idle().await;
    world.advance(TimeDelta::seconds(10)).await;
    for name in &names {
        assert_eq!(world.read_new(name).matches("Hi, I'm Nod.").count(), 1, "{name}");
    }
    world.finish().await;
}
