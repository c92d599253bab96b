//! Archived threads: nothing changes in them until a user reopens them.

use super::*;

/// A card waits in a thread that is archived, and then expires.
async fn with_archived_thread(locked: bool) -> (World, Discord) {
    let (mut world, discord) = with_pending_request().await;
    world.read_new("general");
    let thread = discord.read(|w| {
        let general = w.channel_id("general").unwrap();
        let threads = w.channels.values().find(|c| c.parent.as_ref() == Some(&general));
        threads.map(|thread| thread.id.clone()).unwrap()
    });
    discord.archive(&thread, locked);
    world.model.will(Answer::text("It expired."));
    world.advance(TimeDelta::hours(25)).await;
    (world, discord)
}

#[tokio::test]
async fn an_old_card_in_a_thread_that_was_put_away_still_tells_what_became_of_it() {
    let (mut world, discord) = with_archived_thread(false).await;
    assert_eq!(discord.list_calls_of("update_channel").len(), 1);
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
            nod: It expired.
              · To be clear, nothing was sent or changed just now.
    ");
    world.finish().await;
}

#[tokio::test]
async fn a_card_in_a_thread_that_was_locked_stays_as_it_was() {
    let (mut world, discord) = with_archived_thread(true).await;
    assert!(!discord.list_calls_of("update_channel").is_empty());
    let read = world.read_new("general");
    assert!(read.contains("[Approve & send]"), "{read}");
    let told = world.read_new("dm:ana");
    assert!(told.contains("It expired."), "{told}");
    world.finish().await;
}

/// Rejected requests count against a bot at Discord.
#[tokio::test]
async fn the_first_answer_asks_for_nothing_that_is_not_there() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    let before = discord.calls().len();
    world.say("ana", "general", "@nod when is the party?").await;
    let calls = discord.calls().split_off(before);
    assert!(calls.iter().all(|call| call.error.is_none()), "{calls:#?}");
    assert_eq!(calls.iter().filter(|call| call.method == "create_thread_from_message").count(), 1);
    assert!(world.read_new("general").contains("On Friday."));
    world.finish().await;
}
