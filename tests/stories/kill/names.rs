//! Nod is killed while it looks up whom a name means: it looks again, asks once, and one mail is sent.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::On;
use tokio::time::{Duration, sleep};

use super::holds::{count, until};
use super::{At, Death, NOD, Person, killed, suffers};

on_each_platform!(killed_while_somebodys_mail_is_looked_at_for_a_name_it_asks_once);

const ANA: &str = "ana@acme.test";

async fn killed_while_somebodys_mail_is_looked_at_for_a_name_it_asks_once(platform: On) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    assert!(world.google.writes(ANA, "Zoe Kim <zoe@partner.example>", "Hello"));
    let at = At::Google("gmail.users.messages.list", Fault::Hang);
    let death: Death = killed("while it looks", Person::Asks, at);
    let nod = suffers(&world, nod, &death, || {
        world.chat.say("ana", "general", None, "@nod tell Zoe I'm late");
    })
    .await;
    presses(&world, "Zoe Kim (zoe@partner.example) · from your mail").await;
    presses(&world, "Approve & send").await;
    until(&world, "select count(*) from effects where status = 'done'", 1).await;
    until(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    assert_eq!(count(&world, "select count(*) from questions").await, 1);
    let read = world.reads("dm:ana");
    assert_eq!(read.matches("Which Zoe?").count(), 1, "{read}");
    assert_eq!(world.google.sent(ANA).len(), 2);
    world.reads("general");
    world.kills(nod).await;
    world.ends().await;
}

async fn presses(world: &World, label: &str) {
    while world.chat.with_button("dm:ana", label).is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    let card = world.button("dm:ana", label);
    world.chat.pushes("ana", "dm:ana", &card, label);
}
