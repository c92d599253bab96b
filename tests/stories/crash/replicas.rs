//! Two replicas on one database: the other one finishes the work of a killed one.

use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::ModelRole;
use nod_tests::World;
use nod_tests::chat::Platform;
use tokio::time::{Instant, sleep};

use super::invariants::{ExpectedReceipt, assert_invariants, wait_for_text};
use super::{CrashPoint, NOD, SEND, click_approve, plan, wait_for_crash_point};

on_each_platform!(
    another_replica_sends_what_the_dead_one_did_not,
    another_replica_finds_what_the_dead_one_sent,
    another_replica_goes_on_with_the_conversation,
);

async fn another_replica_sends_what_the_dead_one_did_not(platform: Platform) {
    assert_takeover(platform, &CrashPoint::Google(SEND, Fault::HangBefore)).await;
}

async fn another_replica_finds_what_the_dead_one_sent(platform: Platform) {
    assert_takeover(platform, &CrashPoint::Google(SEND, Fault::HangAfter)).await;
}

async fn another_replica_goes_on_with_the_conversation(platform: Platform) {
    assert_takeover(platform, &CrashPoint::Model(ModelRole::Reasoner)).await;
}

async fn assert_takeover(platform: Platform, at: &CrashPoint) {
    let mut world = World::with_real_clock_on(platform).await;
    let first = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    wait_for_text(&world, "[Approve & send]").await;
    plan(&world, at);
    click_approve(&world);
    wait_for_crash_point(&world, at, 1).await;

    let second = world.start_replica(NOD).await;
    // A live replica keeps its leases, also beyond their ten seconds.
    sleep(Duration::from_secs(11)).await;
    let tries = || world.google.calls().iter().filter(|call| call.operation == SEND).count();
    assert_eq!(tries(), 1);

    world.kill_program(first).await;
    let killed = Instant::now();
    wait_for_text(&world, "Sent to bo@acme.test").await;
    eprintln!("taken over after {:?}", killed.elapsed());
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    world.kill_program(second).await;
    world.finish().await;
}
