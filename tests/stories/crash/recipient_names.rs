//! Nod is killed while it looks up whom a name means: it looks again, asks once, and one mail is sent.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::Platform;
use tokio::time::{Duration, sleep};

use super::invariants::{count, wait_for_count};
use super::{CrashCase, CrashPoint, NOD, UserAction, killed_case, run_until_crash};

on_each_platform!(killed_while_somebodys_mail_is_looked_at_for_a_name_it_asks_once);

const ANA: &str = "ana@acme.test";

async fn killed_while_somebodys_mail_is_looked_at_for_a_name_it_asks_once(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    assert!(world.google.writes(ANA, "Zoe Kim <zoe@partner.example>", "Hello"));
    let at = CrashPoint::Google("gmail.users.messages.list", Fault::HangBefore);
    let death: CrashCase = killed_case("while it looks", UserAction::Ask, at);
    let nod = run_until_crash(&world, nod, &death, || {
        world.chat.say("ana", "general", None, "@nod tell Zoe I'm late");
    })
    .await;
    click(&world, "Zoe Kim (zoe@partner.example) · from your email").await;
    click(&world, "Approve & send").await;
    wait_for_count(&world, "select count(*) from effects where status = 'done'", 1).await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
    assert_eq!(count(&world, "select count(*) from questions").await, 1);
    let read = world.read_new("dm:ana");
    assert_eq!(read.matches("Is this the right Zoe?").count(), 1, "{read}");
    assert_eq!(world.google.list_sent(ANA).len(), 2);
    world.read_new("general");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn click(world: &World, label: &str) {
    while world.chat.find_message_with_button("dm:ana", label).is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    let card = world.find_message_with_button("dm:ana", label);
    world.chat.click_without_waiting("ana", "dm:ana", &card, label);
}
