//! Nod is killed in the middle of a streamed answer: in the end the whole answer is posted once.

use std::sync::Arc;

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use super::NOD;
use super::invariants::{wait_for_count, wait_for_text};

const POEM: &str = "Roses are red, violets are blue. Sugar is sweet, and so are you.";

/// Kills Nod where this method hangs, or where the model pauses in mid-sentence.
async fn run_crash(platform: Platform, at: Option<(ChatOperation, Fault)>) {
    let mut world = World::with_real_clock_on(platform).await;
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
    let nod = world.start_program(NOD).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5), Answer::text(POEM)]);
    match &at {
        Some((deed @ (ChatOperation::StopStream | ChatOperation::UpdateMessage), fault)) => {
            world.chat.say("ana", "general", None, "@nod a poem, please");
            // Now there is something to finish.
            wait_for_text(&world, "violets").await;
            world.chat.inject_fault(*deed, fault.clone());
            world.model.release();
            world.chat.faults().wait_until_triggered(world.chat.operation_name(*deed), 1).await;
            // The answer was committed, so the model is not asked again.
            world.model.clear();
        }
        Some((deed, fault)) => {
            world.chat.inject_fault(*deed, fault.clone());
            world.chat.say("ana", "general", None, "@nod a poem, please");
            world.chat.faults().wait_until_triggered(world.chat.operation_name(*deed), 1).await;
        }
        None => {
            world.chat.say("ana", "general", None, "@nod a poem, please");
            wait_for_text(&world, "violets").await;
        }
    }
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    wait_for_text(&world, "so are you").await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
    let said = world.chat.nod_message_ids("general").len();
    let read = world.read_new("general");
    assert_eq!(said, 1, "{at:?}:\n{read}");
    assert!(
        read.contains("Roses are red, violets are blue. Sugar is sweet, and so are you."),
        "{at:?}:\n{read}"
    );
    world.kill_program(nod).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_mid_stream_it_says_the_whole_answer_once() {
    run_all_crashes(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_mid_stream_it_says_the_whole_answer_once_on_discord() {
    run_all_crashes(Platform::Discord).await;
}

async fn run_all_crashes(platform: Platform) {
    let deaths = [
        None,
        Some((ChatOperation::StartStream, Fault::HangBefore)),
        Some((ChatOperation::StartStream, Fault::HangAfter)),
        Some((ChatOperation::AppendStream, Fault::HangBefore)),
        Some((ChatOperation::AppendStream, Fault::HangAfter)),
        Some((ChatOperation::StopStream, Fault::HangBefore)),
        Some((ChatOperation::StopStream, Fault::HangAfter)),
        Some((ChatOperation::UpdateMessage, Fault::HangAfter)),
    ];
    let room = Arc::new(Semaphore::new(3));
    let mut stories = JoinSet::new();
    let told = LocalSet::new();
    for death in deaths {
        let room = room.clone();
        let story = async move {
            let _place = room.acquire_owned().await;
            run_crash(platform, death).await;
        };
        stories.spawn_local_on(story, &told);
    }
    told.run_until(async {
        while let Some(ended) = stories.join_next().await {
            ended.unwrap()
        }
    })
    .await;
}
