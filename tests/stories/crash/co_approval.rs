//! Nod is killed between one person's approval and the other's: both count once, and one mail is sent.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use tokio::time::{Duration, sleep};

use super::invariants::{ExpectedReceipt, assert_invariants, count, wait_for_count};
use super::{CrashPoint, NOD, SEND, plan, wait_for_crash_point, wait_until_acknowledged};

on_each_platform!(
    killed_after_the_owner_agreed_the_second_completes_it,
    killed_while_the_second_is_asked_they_are_asked_once,
    killed_after_it_went_out_both_cards_tell,
);

const RULES: &str = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n";

async fn with_pending_request(platform: Platform) -> (World, nod_tests::Program) {
    let mut world = World::with_real_clock_on(platform).await;
    world.set_rules(RULES);
    let nod = world.start_program(NOD).await;
    // The rules name people, who are read from the platform first.
    wait_for_count(
        &world,
        "select count(*) from people where full_name = 'Cho Park' and membership = 'member'",
        1,
    )
    .await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    (world, nod)
}

fn click_without_waiting(world: &World, user: &str, channel: &str, label: &str) {
    let card = world.find_message_with_button(channel, label);
    world.chat.click_without_waiting(user, channel, &card, label);
}

/// Waits for the co-approver's card, which is posted once, and clicks on it.
async fn approve_as_co_approver(world: &World) {
    while world.chat.find_message_with_button("dm:cho", "Approve & send").is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    click_without_waiting(world, "cho", "dm:cho", "Approve & send");
}

async fn assert_single_mail(mut world: World, nod: nod_tests::Program) {
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    assert_eq!(count(&world, "select count(*) from audit where action = 'approval.owner_approved'").await, 1);
    let read = world.read_new("dm:cho");
    assert_eq!(read.matches("and Cho Park").count(), 1, "{read}");
    assert!(!read.contains("[Approve"), "{read}");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn killed_after_the_owner_agreed_the_second_completes_it(platform: Platform) {
    let (world, nod) = with_pending_request(platform).await;
    click_without_waiting(&world, "ana", "general", "Approve");
    wait_until_acknowledged(&world).await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    approve_as_co_approver(&world).await;
    assert_single_mail(world, nod).await;
}

async fn killed_while_the_second_is_asked_they_are_asked_once(platform: Platform) {
    let (world, nod) = with_pending_request(platform).await;
    let at = CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangAfter);
    plan(&world, &at);
    click_without_waiting(&world, "ana", "general", "Approve");
    wait_for_crash_point(&world, &at, 1).await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    approve_as_co_approver(&world).await;
    assert_single_mail(world, nod).await;
}

async fn killed_after_it_went_out_both_cards_tell(platform: Platform) {
    let (world, nod) = with_pending_request(platform).await;
    click_without_waiting(&world, "ana", "general", "Approve");
    let at = CrashPoint::Google(SEND, Fault::HangAfter);
    plan(&world, &at);
    approve_as_co_approver(&world).await;
    wait_for_crash_point(&world, &at, 1).await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    assert_single_mail(world, nod).await;
}
