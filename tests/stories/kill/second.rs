//! Nod is killed between one person's approval and the other's: both count once, and one mail is sent.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use tokio::time::{Duration, sleep};

use super::holds::{Receipt, count, holds, until};
use super::{At, NOD, SEND, acknowledged, happens, plan};

on_each_platform!(
    killed_after_the_owner_agreed_the_second_completes_it,
    killed_while_the_second_is_asked_they_are_asked_once,
    killed_after_it_went_out_both_cards_tell,
);

const RULES: &str = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n";

async fn asked(platform: On) -> (World, nod_tests::Program) {
    let mut world = World::in_real_time_on(platform).await;
    world.lays_down(RULES);
    let nod = world.start_program(NOD).await;
    // The rules name people, who are read from the platform first.
    until(&world, "select count(*) from people where full_name = 'Cho Park' and standing = 'member'", 1)
        .await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    (world, nod)
}

fn pushes(world: &World, user: &str, channel: &str, label: &str) {
    let card = world.button(channel, label);
    world.chat.pushes(user, channel, &card, label);
}

/// Waits for the co-approver's card, which is posted once, and clicks on it.
async fn completes(world: &World) {
    while world.chat.with_button("dm:cho", "Approve & send").is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    pushes(world, "cho", "dm:cho", "Approve & send");
}

async fn ends(mut world: World, nod: nod_tests::Program) {
    holds(&mut world, Receipt::Sent).await;
    assert_eq!(count(&world, "select count(*) from audit where action = 'approval.first_approved'").await, 1);
    let read = world.reads("dm:cho");
    assert_eq!(read.matches("and by Cho Park").count(), 1, "{read}");
    assert!(!read.contains("[Approve"), "{read}");
    world.kills(nod).await;
    world.ends().await;
}

async fn killed_after_the_owner_agreed_the_second_completes_it(platform: On) {
    let (world, nod) = asked(platform).await;
    pushes(&world, "ana", "general", "Approve");
    acknowledged(&world).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    completes(&world).await;
    ends(world, nod).await;
}

async fn killed_while_the_second_is_asked_they_are_asked_once(platform: On) {
    let (world, nod) = asked(platform).await;
    let at = At::Chat(Deed::Posts, Fault::HangAfter);
    plan(&world, &at);
    pushes(&world, "ana", "general", "Approve");
    happens(&world, &at, 1).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    completes(&world).await;
    ends(world, nod).await;
}

async fn killed_after_it_went_out_both_cards_tell(platform: On) {
    let (world, nod) = asked(platform).await;
    pushes(&world, "ana", "general", "Approve");
    let at = At::Google(SEND, Fault::HangAfter);
    plan(&world, &at);
    completes(&world).await;
    happens(&world, &at, 1).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    ends(world, nod).await;
}
