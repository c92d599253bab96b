//! Archived threads: nothing changes in them until a user reopens them.

use super::*;

/// A card waits in a thread that is archived, and then expires.
async fn put_away(locked: bool) -> (World, Discord) {
    let (mut world, discord) = asked().await;
    world.reads("general");
    let thread = discord.read(|w| {
        let general = w.channel_id("general").unwrap();
        let threads = w.channels.values().find(|c| c.parent.as_ref() == Some(&general));
        threads.map(|thread| thread.id.clone()).unwrap()
    });
    discord.archive(&thread, locked);
    world.model.will(Answer::text("It expired."));
    world.later(TimeDelta::hours(25)).await;
    (world, discord)
}

#[tokio::test]
async fn an_old_card_in_a_thread_that_was_put_away_still_tells_what_became_of_it() {
    let (mut world, discord) = put_away(false).await;
    assert_eq!(discord.calls_of("update_channel").len(), 1);
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod tell Bo I'm late
            nod: # Email not sent · rev 1 · db435d
              From  ana@acme.test
              To  bo@acme.test
              Cc  —
              Bcc  —
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Nobody answered in time. Not sent.
              [Ask again]
            nod: It expired.
              · For the record: nothing was sent or changed in this turn.
    ");
    world.ends().await;
}

#[tokio::test]
async fn a_card_in_a_thread_that_was_locked_stays_as_it_was() {
    let (mut world, discord) = put_away(true).await;
    assert!(!discord.calls_of("update_channel").is_empty());
    let read = world.reads("general");
    assert!(read.contains("[Approve & send]"), "{read}");
    let told = world.reads("dm:ana");
    assert!(told.contains("It expired."), "{told}");
    world.ends().await;
}

/// Rejected requests count against a bot at Discord.
#[tokio::test]
async fn the_first_answer_asks_for_nothing_that_is_not_there() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    let before = discord.calls().len();
    world.says("ana", "general", "@nod when is the party?").await;
    let calls = discord.calls().split_off(before);
    assert!(calls.iter().all(|call| call.error.is_none()), "{calls:#?}");
    assert_eq!(calls.iter().filter(|call| call.method == "create_thread_from_message").count(), 1);
    assert!(world.reads("general").contains("On Friday."));
    world.ends().await;
}
