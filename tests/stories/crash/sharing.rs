//! Nod is killed around [Share in the thread]: what was for one person is posted in the thread once.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use serde_json::json;

use super::invariants::{count, wait_for_text};
use super::{CrashPoint, NOD, UserAction, killed_case, run_until_crash};

on_each_platform!(
    killed_when_the_press_was_acknowledged_it_is_shared_once,
    killed_before_it_stands_it_is_shared_once,
    killed_after_it_stands_it_is_shared_once,
    killed_before_the_line_says_so_it_is_shared_once,
    killed_after_the_line_says_so_it_is_shared_once,
);

async fn killed_when_the_press_was_acknowledged_it_is_shared_once(platform: Platform) {
    run_crash(platform, CrashPoint::Acknowledged).await;
}

async fn killed_before_it_stands_it_is_shared_once(platform: Platform) {
    run_crash(platform, CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangBefore)).await;
}

async fn killed_after_it_stands_it_is_shared_once(platform: Platform) {
    run_crash(platform, CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangAfter)).await;
}

async fn killed_before_the_line_says_so_it_is_shared_once(platform: Platform) {
    run_crash(platform, CrashPoint::Chat(ChatOperation::UpdateMessage, Fault::HangBefore)).await;
}

async fn killed_after_the_line_says_so_it_is_shared_once(platform: Platform) {
    run_crash(platform, CrashPoint::Chat(ChatOperation::UpdateMessage, Fault::HangAfter)).await;
}

async fn run_crash(platform: Platform, at: CrashPoint) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "It is called Marmalade.").unwrap();
    let answer = Answer::text("The bank writes that it is called Marmalade.");
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), answer]);
    world.say("ana", "general", "@nod what's new in my mail?").await;
    let line = world.find_message_with_button("dm:ana", "Share in the thread");
    let death = killed_case("[Share in the thread]", UserAction::Click, at);
    let nod = run_until_crash(&world, nod, &death, || {
        world.chat.click_without_waiting("ana", "dm:ana", &line, "Share in the thread")
    })
    .await;
    wait_for_text(&world, "Marmalade").await;
    wait_for_text(&world, "Ana Silva shared this answer.").await;
    world.wait_until_idle().await;
    let read = world.read_new("general");
    assert_eq!(read.matches("Marmalade").count(), 1, "{read}");
    assert_eq!(count(&world, "select count(*) from audit where action = 'answer.shared'").await, 1);
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}
