//! Nod is killed around [Share here]: what was for one person is posted in the thread once.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use serde_json::json;

use super::holds::{count, reads};
use super::{At, NOD, Person, killed, suffers};

on_each_platform!(
    killed_when_the_press_was_acknowledged_it_is_shared_once,
    killed_before_it_stands_it_is_shared_once,
    killed_after_it_stands_it_is_shared_once,
    killed_before_the_line_says_so_it_is_shared_once,
    killed_after_the_line_says_so_it_is_shared_once,
);

async fn killed_when_the_press_was_acknowledged_it_is_shared_once(platform: On) {
    dies(platform, At::Acknowledged).await;
}

async fn killed_before_it_stands_it_is_shared_once(platform: On) {
    dies(platform, At::Chat(Deed::Posts, Fault::Hang)).await;
}

async fn killed_after_it_stands_it_is_shared_once(platform: On) {
    dies(platform, At::Chat(Deed::Posts, Fault::HangAfter)).await;
}

async fn killed_before_the_line_says_so_it_is_shared_once(platform: On) {
    dies(platform, At::Chat(Deed::Replaces, Fault::Hang)).await;
}

async fn killed_after_the_line_says_so_it_is_shared_once(platform: On) {
    dies(platform, At::Chat(Deed::Replaces, Fault::HangAfter)).await;
}

async fn dies(platform: On, at: At) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "It is called Marmalade.").unwrap();
    let answer = Answer::text("The bank writes that it is called Marmalade.");
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({})), answer]);
    world.says("ana", "general", "@nod what's new in my mail?").await;
    let line = world.button("general", "Share here");
    let death = killed("[Share here]", Person::Presses, at);
    let nod = suffers(&world, nod, &death, || world.chat.pushes("ana", "general", &line, "Share here")).await;
    reads(&world, "Marmalade").await;
    reads(&world, "Ana Silva shared this answer.").await;
    world.settles().await;
    let read = world.reads("general");
    assert_eq!(read.matches("Marmalade").count(), 1, "{read}");
    assert_eq!(count(&world, "select count(*) from audit where action = 'answer.shared'").await, 1);
    world.reads("dm:ana");
    world.kills(nod).await;
    world.ends().await;
}
