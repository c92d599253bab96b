//! Nod is killed in the middle of a streamed answer: in the end the whole answer is posted once.

use std::sync::Arc;

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use super::NOD;
use super::holds::{reads, until};

const POEM: &str = "Roses are red, violets are blue. Sugar is sweet, and so are you.";

/// Kills Nod where this method hangs, or where the model pauses in mid-sentence.
async fn dies(platform: On, at: Option<(Deed, Fault)>) {
    let mut world = World::in_real_time_on(platform).await;
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
    let nod = world.start_program(NOD).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5), Answer::text(POEM)]);
    match &at {
        Some((deed @ (Deed::Ends | Deed::Replaces), fault)) => {
            world.chat.say("ana", "general", None, "@nod a poem, please");
            // Now there is something to finish.
            reads(&world, "violets").await;
            world.chat.fails(*deed, fault.clone());
            world.model.release();
            world.chat.faults().met(world.chat.operation(*deed), 1).await;
            // The answer was committed, so the model is not asked again.
            world.model.clear();
        }
        Some((deed, fault)) => {
            world.chat.fails(*deed, fault.clone());
            world.chat.say("ana", "general", None, "@nod a poem, please");
            world.chat.faults().met(world.chat.operation(*deed), 1).await;
        }
        None => {
            world.chat.say("ana", "general", None, "@nod a poem, please");
            reads(&world, "violets").await;
        }
    }
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    reads(&world, "so are you").await;
    until(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    let said = world.chat.messages_of_nod("general").len();
    let read = world.reads("general");
    assert_eq!(said, 1, "{at:?}:\n{read}");
    assert!(
        read.contains("Roses are red, violets are blue. Sugar is sweet, and so are you."),
        "{at:?}:\n{read}"
    );
    world.kills(nod).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_mid_stream_it_says_the_whole_answer_once() {
    all_deaths(On::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_mid_stream_it_says_the_whole_answer_once_on_discord() {
    all_deaths(On::Discord).await;
}

async fn all_deaths(platform: On) {
    let deaths = [
        None,
        Some((Deed::Begins, Fault::Hang)),
        Some((Deed::Begins, Fault::HangAfter)),
        Some((Deed::Grows, Fault::Hang)),
        Some((Deed::Grows, Fault::HangAfter)),
        Some((Deed::Ends, Fault::Hang)),
        Some((Deed::Ends, Fault::HangAfter)),
        Some((Deed::Replaces, Fault::HangAfter)),
    ];
    let room = Arc::new(Semaphore::new(3));
    let mut stories = JoinSet::new();
    let told = LocalSet::new();
    for death in deaths {
        let room = room.clone();
        let story = async move {
            let _place = room.acquire_owned().await;
            dies(platform, death).await;
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
