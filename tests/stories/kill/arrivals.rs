//! Nod is killed between receiving and acknowledging; what is delivered or clicked again counts once.

use nod_sandbox::Fault;
use nod_sandbox::slack::EnvelopeKind;
use nod_tests::chat::{Deed, On};
use nod_tests::{Program, World};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};

use super::holds::{Receipt, holds, reads, until};
use super::{At, NOD, SEND, happens, plan, presses};

/// How far the inbound got when Nod was killed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Came {
    /// Received, but not stored.
    Unstored,
    /// Stored, but the platform has no acknowledgement.
    Stored,
}

on_each_platform!(
    a_mention_that_was_not_stored_comes_again,
    a_mention_that_was_stored_comes_again_and_counts_once,
    a_press_that_was_not_stored_may_be_repeated,
    a_press_that_was_stored_counts_though_the_platform_says_it_failed,
    a_yes_to_a_card_that_never_stood_approves_nothing,
);

async fn a_mention_that_was_not_stored_comes_again(platform: On) {
    mention(platform, Came::Unstored).await;
}

async fn a_mention_that_was_stored_comes_again_and_counts_once(platform: On) {
    mention(platform, Came::Stored).await;
}

async fn a_press_that_was_not_stored_may_be_repeated(platform: On) {
    press(platform, Came::Unstored).await;
}

async fn a_press_that_was_stored_counts_though_the_platform_says_it_failed(platform: On) {
    press(platform, Came::Stored).await;
}

async fn mention(platform: On, came: Came) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let nod = dies_at_the_door(&world, nod, came, || {
        world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    })
    .await;
    reads(&world, "[Approve & send]").await;
    presses(&world);
    holds(&mut world, Receipt::Sent).await;
    world.kills(nod).await;
    world.ends().await;
}

async fn press(platform: On, came: Came) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let nod = dies_at_the_door(&world, nod, came, || presses(&world)).await;
    assert_eq!(world.chat.failed(), 1, "the platform says beside the button that it failed");
    match came {
        Came::Unstored => presses(&world),
        // The card shows that the click counts, and has no button any longer.
        Came::Stored => reads(&world, "Approved by Ana Silva").await,
    }
    holds(&mut world, Receipt::Sent).await;
    world.kills(nod).await;
    world.ends().await;
}

/// The card is posted only after the kill, and Nod reads only then what was typed before it.
async fn a_yes_to_a_card_that_never_stood_approves_nothing(platform: On) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let at = At::Chat(Deed::Posts, Fault::Hang);
    plan(&world, &at);
    let thread = world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    happens(&world, &at, 1).await;
    world.kills(nod).await;
    world.chat.loses_events_while_away();
    world.chat.say("ana", "general", Some(&thread), "yes");
    let nod = world.start_program(NOD).await;
    reads(&world, "[Approve & send]").await;
    until(&world, "select count(*) from messages where role = 'human'", 2).await;
    world.settles().await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.reads("general");
    world.kills(nod).await;
    world.ends().await;
}

/// Kills Nod while it stores what `act` sends it, and starts it again.
pub(super) async fn dies_at_the_door(world: &World, nod: Program, came: Came, act: impl FnOnce()) -> Program {
    const WAITS: &str = "select count(distinct wait_event_type) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and wait_event_type";
    let mut lock = nod_store::store::begin(&world.pool).await.unwrap();
    if came == Came::Unstored {
        lock.execute("lock table inbound in exclusive mode").await.unwrap();
        act();
        until(world, &format!("{WAITS} = 'Lock'"), 1).await;
    } else {
        // The commit is slow, and completes although the process that requested it is gone.
        slow_commit(world, true).await;
        act();
        until(world, &format!("{WAITS} = 'Timeout'"), 1).await;
    }
    world.kills(nod).await;
    lock.rollback().await.unwrap();
    until(world, &format!("{WAITS} in ('Lock', 'Timeout')"), 0).await;
    slow_commit(world, false).await;
    world.start_program(NOD).await
}

async fn slow_commit(world: &World, on: bool) {
    let sql = if on {
        "create function slowly() returns trigger language plpgsql as
             $$ begin perform pg_sleep(1.5); return null; end $$;
         create constraint trigger slowly after insert on inbound
             deferrable initially deferred for each row execute function slowly()"
    } else {
        "drop trigger if exists slowly on inbound; drop function if exists slowly"
    };
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&world.pool).await.unwrap();
}

/// Slack redelivers what was not acknowledged in time; Discord delivers nothing twice.
#[tokio::test]
async fn everything_twice_around_a_death_is_one_mail() {
    let mut world = World::in_real_time().await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let at = At::Google(SEND, Fault::HangAfter);
    plan(&world, &at);
    presses(&world);
    presses(&world);
    happens(&world, &at, 1).await;
    let slack = &world.slack;
    slack
        .wait_for("the second press's answer", nod_tests::patience(), |w| w.ephemerals.get(1).cloned())
        .await;
    world.kills(nod).await;

    let nod = world.start_program(NOD).await;
    for (number, envelope) in world.slack.envelopes().into_iter().enumerate() {
        match envelope.kind {
            EnvelopeKind::EventsApi => world.slack.deliver_event(envelope.payload),
            // Slack does not do this; a proxy in between might.
            EnvelopeKind::Interactive => {
                let again = json!({ "type": "interactive", "envelope_id": format!("again-{number}"),
                    "payload": envelope.payload, "accepts_response_payload": false });
                world.slack.deliver_raw(&again.to_string()).unwrap();
            }
            EnvelopeKind::SlashCommands => {}
        }
    }
    holds(&mut world, Receipt::Sent).await;
    let told = world.whispers("ana");
    assert!(told.contains("approved this already") && told.lines().count() == 1, "{told}");
    world.kills(nod).await;
    world.ends().await;
}
