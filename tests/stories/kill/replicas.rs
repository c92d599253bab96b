//! Two replicas on one database: the other one finishes the work of a killed one.

use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::Lane;
use nod_tests::World;
use nod_tests::chat::On;
use tokio::time::{Instant, sleep};

use super::holds::{Receipt, holds, reads};
use super::{At, NOD, SEND, happens, plan, presses};

/// The lease, and some time for the poll and the work.
const TAKEN_OVER: Duration = Duration::from_secs(15);

on_each_platform!(
    another_replica_sends_what_the_dead_one_did_not,
    another_replica_finds_what_the_dead_one_sent,
    another_replica_goes_on_with_the_conversation,
);

async fn another_replica_sends_what_the_dead_one_did_not(platform: On) {
    takes_over(platform, &At::Google(SEND, Fault::Hang)).await;
}

async fn another_replica_finds_what_the_dead_one_sent(platform: On) {
    takes_over(platform, &At::Google(SEND, Fault::HangAfter)).await;
}

async fn another_replica_goes_on_with_the_conversation(platform: On) {
    takes_over(platform, &At::Model(Lane::Reasoner)).await;
}

async fn takes_over(platform: On, at: &At) {
    let mut world = World::in_real_time_on(platform).await;
    let first = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    reads(&world, "[Approve & send]").await;
    plan(&world, at);
    presses(&world);
    happens(&world, at, 1).await;

    let second = world.start_replica(NOD).await;
    // A live replica keeps its leases, also beyond their ten seconds.
    sleep(Duration::from_secs(11)).await;
    let tries = || world.google.calls().iter().filter(|call| call.operation == SEND).count();
    assert_eq!(tries(), 1);

    world.kills(first).await;
    let killed = Instant::now();
    reads(&world, "Sent to bo@acme.test").await;
    assert!(killed.elapsed() < TAKEN_OVER, "taken over after {:?}", killed.elapsed());
    holds(&mut world, Receipt::Sent).await;
    world.kills(second).await;
    world.ends().await;
}
