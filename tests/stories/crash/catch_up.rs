//! Nod is killed while it looks up what it missed: it goes on where it was, and answers each message once.

use std::time::Duration;

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};

use super::NOD;
use super::invariants::{count, wait_for_count};

/// More than are read before Nod is killed.
const CHANNELS: i64 = 12;
const COUNT_LEFT: &str = "select count(*) from catch_up_channels";

on_each_platform!(killed_while_it_catches_up_it_goes_on_where_it_was);

async fn killed_while_it_catches_up_it_goes_on_where_it_was(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let names: Vec<String> = (0..CHANNELS).map(|number| format!("team-{number:02}")).collect();
    for name in &names {
        world.chat.add_channel(name, &["ana", "bo"]);
    }
    let nod = world.start_program(NOD).await;
    world.wait_until_idle().await;
    world.kill_program(nod).await;
    for name in &names {
        world.chat.say_without_event("ana", name, "@nod are you with us?");
    }
    let read = world.chat.operation_name(ChatOperation::ReadHistory);
    world.chat.faults().next_times(read, 6, &Fault::DelayResponse(Duration::ZERO));
    world.chat.faults().next(read, Fault::HangBefore);
    let nod = world.start_program(NOD).await;
    world.chat.faults().wait_until_triggered(read, 7).await;
    world.kill_program(nod).await;
    let left = count(&world, COUNT_LEFT).await;
    assert!(0 < left && left < CHANNELS, "{left} channels are left");
    let nod = world.start_program(NOD).await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", CHANNELS).await;
    wait_for_count(&world, COUNT_LEFT, 0).await;
    world.wait_until_idle().await;
    for name in &names {
        let talk = world.read_new(name);
        assert_eq!(talk.matches("nod: ").count(), 1, "{talk}");
    }
    assert_eq!(count(&world, "select count(*) from runs").await, CHANNELS);
    world.kill_program(nod).await;
    world.finish().await;
}
