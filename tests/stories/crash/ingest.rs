//! Nod is killed between receiving and acknowledging; what is delivered or clicked again counts once.

use nod_sandbox::Fault;
use nod_sandbox::slack::EnvelopeKind;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{Program, World};
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};

use super::invariants::{ExpectedReceipt, assert_invariants, wait_for_count, wait_for_text};
use super::{CrashPoint, NOD, SEND, click_approve, plan, wait_for_crash_point};

/// How far the inbound got when Nod was killed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum IngestProgress {
    /// Received, but not stored.
    NotStored,
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

async fn a_mention_that_was_not_stored_comes_again(platform: Platform) {
    crash_during_mention(platform, IngestProgress::NotStored).await;
}

async fn a_mention_that_was_stored_comes_again_and_counts_once(platform: Platform) {
    crash_during_mention(platform, IngestProgress::Stored).await;
}

async fn a_press_that_was_not_stored_may_be_repeated(platform: Platform) {
    crash_during_click(platform, IngestProgress::NotStored).await;
}

async fn a_press_that_was_stored_counts_though_the_platform_says_it_failed(platform: Platform) {
    crash_during_click(platform, IngestProgress::Stored).await;
}

async fn crash_during_mention(platform: Platform, came: IngestProgress) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let nod = crash_during_ingest(&world, nod, came, || {
        world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    })
    .await;
    wait_for_text(&world, "[Approve & send]").await;
    click_approve(&world);
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    world.kill_program(nod).await;
    world.finish().await;
}

async fn crash_during_click(platform: Platform, came: IngestProgress) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let nod = crash_during_ingest(&world, nod, came, || click_approve(&world)).await;
    assert_eq!(
        world.chat.failed_interaction_count(),
        1,
        "the platform says beside the button that it failed"
    );
    match came {
        IngestProgress::NotStored => click_approve(&world),
        // The card shows that the click counts, and has no button any longer.
        IngestProgress::Stored => wait_for_text(&world, "Approved by Ana Silva").await,
    }
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    world.kill_program(nod).await;
    world.finish().await;
}

/// The card is posted only after the kill, and Nod reads only then what was typed before it.
async fn a_yes_to_a_card_that_never_stood_approves_nothing(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let at = CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangBefore);
    plan(&world, &at);
    let thread = world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    wait_for_crash_point(&world, &at, 1).await;
    world.kill_program(nod).await;
    world.chat.drop_undelivered_events();
    world.chat.say("ana", "general", Some(&thread), "yes");
    let nod = world.start_program(NOD).await;
    wait_for_text(&world, "[Approve & send]").await;
    wait_for_count(&world, "select count(*) from messages where role = 'human'", 2).await;
    world.wait_until_idle().await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("general");
    world.kill_program(nod).await;
    world.finish().await;
}

/// Kills Nod while it stores what `act` sends it, and starts it again.
pub(super) async fn crash_during_ingest(
    world: &World,
    nod: Program,
    came: IngestProgress,
    act: impl FnOnce(),
) -> Program {
    const COUNT_WAITING: &str = "select count(distinct wait_event_type) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and wait_event_type";
    let mut lock = nod_store::store::begin(&world.pool).await.unwrap();
    if came == IngestProgress::NotStored {
        lock.execute("lock table inbound in exclusive mode").await.unwrap();
        act();
        wait_for_count(world, &format!("{COUNT_WAITING} = 'Lock'"), 1).await;
    } else {
        // The commit is slow, and completes although the process that requested it is gone.
        set_slow_commit(world, true).await;
        act();
        wait_for_count(world, &format!("{COUNT_WAITING} = 'Timeout'"), 1).await;
    }
    world.kill_program(nod).await;
    lock.rollback().await.unwrap();
    wait_for_count(world, &format!("{COUNT_WAITING} in ('Lock', 'Timeout')"), 0).await;
    set_slow_commit(world, false).await;
    world.start_program(NOD).await
}

async fn set_slow_commit(world: &World, on: bool) {
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
    let mut world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let at = CrashPoint::Google(SEND, Fault::HangAfter);
    plan(&world, &at);
    click_approve(&world);
    click_approve(&world);
    wait_for_crash_point(&world, &at, 1).await;
    let slack = &world.slack;
    slack
        .wait_for("the second press's answer", nod_tests::max_wait(), |w| w.ephemerals.get(1).cloned())
        .await;
    world.kill_program(nod).await;

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
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    let told = world.read_ephemerals("ana");
    assert!(told.contains("already approved this") && told.lines().count() == 1, "{told}");
    world.kill_program(nod).await;
    world.finish().await;
}
