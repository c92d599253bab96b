//! Messages sent while Nod was away, as far as Discord differs.

use std::time::Duration;

use super::*;
use crate::catch_up::answers;

/// Stops Nod; events that Discord cannot deliver are lost.
async fn goes_away(world: &mut World) {
    world.stop().await;
    world.chat.loses_events_while_away();
    world.clock.pass(TimeDelta::minutes(10));
}

#[tokio::test]
async fn however_much_was_said_meanwhile_it_is_read_to_its_end_and_no_page_twice() {
    let (mut world, discord) = world().await;
    goes_away(&mut world).await;
    for _ in 0..1_150 {
        discord.say("bo", "general", None, "lunch?");
    }
    answers(&world, "with us", "Here.");
    discord.say("ana", "general", None, "@nod are you with us?");
    discord.faults().next_times("list_messages", 4, &Fault::Delay(Duration::ZERO));
    discord.faults().next("list_messages", Fault::Status { code: 429, retry_after: Some(30) });
    world.start().await;
    discord.faults().met("list_messages", 5).await;
    world.settles().await;
    world.later(TimeDelta::seconds(31)).await;
    world.hears_nod("general", "Here.").await;
    let general = discord.read(|w| w.channel_id("general")).unwrap();
    let pages = discord.calls_of("list_messages").into_iter().filter(|call| call.path.contains(&general));
    let mut behind: Vec<String> =
        pages.filter_map(|call| call.args["after"].as_str().map(str::to_owned)).collect();
    let asked = behind.len();
    behind.sort();
    behind.dedup();
    // Only the page that failed is requested again.
    assert_eq!((asked, behind.len()), (13, 12));
    assert_eq!(world.reads("general").matches("Here.").count(), 1);
    world.ends().await;
}

#[tokio::test]
async fn a_post_in_a_forum_is_answered_and_also_what_was_posted_while_nod_was_away() {
    let (mut world, discord) = world().await;
    discord.add_channel(Channel::new("ideas", &[]).forum());
    answers(&world, "good idea", "It is.");
    discord.post("ana", "ideas", "Picnic", "@nod is that a good idea?");
    world.hears_nod("ideas", "It is.").await;
    goes_away(&mut world).await;
    answers(&world, "better one", "No.");
    discord.post("bo", "ideas", "Bowling", "@nod do you know a better one?");
    world.start().await;
    world.hears_nod("ideas", "No.").await;
    insta::assert_snapshot!(world.reads("ideas"), @r"
        [Picnic]
            ana: @nod is that a good idea?
            nod: It is.
        [Bowling]
            bo: @nod do you know a better one?
            nod: No.
    ");
    world.ends().await;
}

#[tokio::test]
async fn an_intent_that_was_switched_off_meanwhile_is_asked_for_no_more() {
    let (mut world, discord) = world().await;
    discord.change(|w| w.config.app.members_intent = false);
    // Nod has to identify again, and Discord disconnects a bot that requests an intent that it does not have.
    discord.invalidate(false);
    answers(&world, "still there", "Here.");
    discord.say("ana", "general", None, "@nod are you still there?");
    world.hears_nod("general", "Here.").await;
    world.reads("general");
    world.ends().await;
}
