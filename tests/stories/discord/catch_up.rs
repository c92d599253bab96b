//! Messages sent while Nod was away, as far as Discord differs.

use std::time::Duration;

use super::*;
use crate::catch_up::script_answer;

/// Stops Nod; events that Discord cannot deliver are lost.
async fn stop_nod(world: &mut World) {
    world.stop().await;
    world.chat.drop_undelivered_events();
    world.clock.advance(TimeDelta::minutes(10));
}

#[tokio::test]
async fn however_much_was_said_meanwhile_it_is_read_to_its_end_and_no_page_twice() {
    let (mut world, discord) = world().await;
    stop_nod(&mut world).await;
    for _ in 0..1_150 {
        discord.post_message("bo", "general", None, "lunch?");
    }
    script_answer(&world, "with us", "Here.");
    discord.post_message("ana", "general", None, "@nod are you with us?");
    discord.faults().next_times("list_messages", 4, &Fault::DelayResponse(Duration::ZERO));
    discord.faults().next("list_messages", Fault::Status { code: 429, retry_after: Some(30) });
    world.start().await;
    discord.faults().wait_until_triggered("list_messages", 5).await;
    world.wait_until_idle().await;
    world.advance(TimeDelta::seconds(31)).await;
    world.wait_for_nod_message("general", "Here.").await;
    let general = discord.read(|w| w.channel_id("general")).unwrap();
    let pages =
        discord.list_calls_of("list_messages").into_iter().filter(|call| call.path.contains(&general));
    let mut behind: Vec<String> =
        pages.filter_map(|call| call.args["after"].as_str().map(str::to_owned)).collect();
    let asked = behind.len();
    behind.sort();
    behind.dedup();
    // Only the page that failed is requested again.
    assert_eq!((asked, behind.len()), (13, 12));
    assert_eq!(world.read_new("general").matches("Here.").count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn a_post_in_a_forum_is_answered_and_also_what_was_posted_while_nod_was_away() {
    let (mut world, discord) = world().await;
    discord.add_channel(Channel::new("ideas", &[]).forum());
    script_answer(&world, "good idea", "It is.");
    discord.post("ana", "ideas", "Picnic", "@nod is that a good idea?");
    world.wait_for_nod_message("ideas", "It is.").await;
    stop_nod(&mut world).await;
    script_answer(&world, "better one", "No.");
    discord.post("bo", "ideas", "Bowling", "@nod do you know a better one?");
    world.start().await;
    world.wait_for_nod_message("ideas", "No.").await;
    insta::assert_snapshot!(world.read_new("ideas"), @r"
        [Picnic]
            ana: @nod is that a good idea?
            nod: It is.
        [Bowling]
            bo: @nod do you know a better one?
            nod: No.
    ");
    world.finish().await;
}

/// Discord lists the last message of each channel and each open thread.
#[tokio::test]
async fn a_channel_in_which_nobody_has_addressed_nod_or_posted_is_not_read() {
    let (mut world, discord) = world().await;
    for channel in ["quiet", "busy", "in-a-thread"] {
        world.chat.add_channel(channel, &[]);
        discord.post_message("bo", channel, None, "welcome");
    }
    let thread = discord.post_message("bo", "in-a-thread", None, "an old thread");
    discord.post_message("cho", "in-a-thread", Some(&thread), "hm");
    let quiet = discord.read(|w| w.channel_id("quiet")).unwrap();
    let count_calls = || {
        let calls = discord.list_calls_of("list_messages").into_iter();
        calls.filter(|call| call.path.contains(&quiet)).count()
    };
    stop_nod(&mut world).await;
    world.comes_back().await;
    let read = count_calls();
    assert!(read > 0);
    stop_nod(&mut world).await;
    script_answer(&world, "with us", "Here.");
    script_answer(&world, "and here", "Here too.");
    discord.post_message("ana", "busy", None, "@nod are you with us?");
    discord.post_message("ana", "in-a-thread", Some(&thread), "@nod and here?");
    world.start().await;
    world.wait_for_nod_message("busy", "Here.").await;
    world.wait_for_nod_message("in-a-thread", "Here too.").await;
    world.wait_until_idle().await;
    assert_eq!(count_calls(), read);
    for channel in ["quiet", "busy", "in-a-thread"] {
        world.read_new(channel);
    }
    world.finish().await;
}

#[tokio::test]
async fn an_intent_that_was_switched_off_meanwhile_is_asked_for_no_more() {
    let (mut world, discord) = world().await;
    discord.change(|w| w.config.app.members_intent = false);
    // Nod has to identify again, and Discord disconnects a bot that requests an intent that it does not have.
    discord.invalidate(false);
    script_answer(&world, "still there", "Here.");
    discord.post_message("ana", "general", None, "@nod are you still there?");
    world.wait_for_nod_message("general", "Here.").await;
    world.read_new("general");
    world.finish().await;
}
