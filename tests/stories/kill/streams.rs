//! Nod dies in the middle of a streamed answer: in the end the whole answer stands there, once.

use std::sync::Arc;

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use super::NOD;
use super::holds::{reads, until};

const POEM: &str = "Roses are red, violets are blue. Sugar is sweet, and so are you.";

/// Dies where this method hangs, or where the model rests in mid-sentence.
async fn dies(at: Option<(&'static str, Fault)>) {
    let mut world = World::in_real_time().await;
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
    let nod = world.start_program(NOD).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5), Answer::text(POEM)]);
    if let Some((method, fault)) = &at {
        world.slack.faults().next(method, fault.clone());
    }
    world.slack.say("ana", "general", None, "@nod a poem, please");
    match &at {
        Some((method, _)) if ["chat.stopStream", "chat.update"].contains(method) => {
            // There is something to end.
            reads(&world, "violets").await;
            world.model.release();
            world.slack.faults().met(method, 1).await;
            // The answer was committed: nobody asks the model again.
            world.model.clear();
        }
        Some((method, _)) => world.slack.faults().met(method, 1).await,
        None => reads(&world, "violets").await,
    }
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    reads(&world, "so are you").await;
    until(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    let said = world.slack.messages("general").into_iter().filter(|message| message.by_bot).count();
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
    let deaths = [
        None,
        Some(("chat.startStream", Fault::Hang)),
        Some(("chat.startStream", Fault::HangAfter)),
        Some(("chat.appendStream", Fault::Hang)),
        Some(("chat.appendStream", Fault::HangAfter)),
        Some(("chat.stopStream", Fault::Hang)),
        Some(("chat.stopStream", Fault::HangAfter)),
        Some(("chat.update", Fault::HangAfter)),
    ];
    let room = Arc::new(Semaphore::new(3));
    let mut stories = JoinSet::new();
    let told = LocalSet::new();
    for death in deaths {
        let room = room.clone();
        let story = async move {
            let _place = room.acquire_owned().await;
            dies(death).await;
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
