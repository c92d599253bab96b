//! People who talk with Nod, each in their own DM, one message after another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use nod_sandbox::model::Model;
use nod_sandbox::slack::Slack;
use nod_tests::World;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::PEOPLE;
use crate::figures::{DisplayDuration, quantile};

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<DateTime<Utc>>>>>;

/// Returns the handle of a person.
pub fn handle_of(number: usize) -> String {
    format!("person{number}")
}

/// Receives every answer when it is posted.
pub struct ConversationLoad {
    slack: Slack,
    model: Model,
    waiting: Waiting,
    listener: JoinHandle<()>,
}

impl Drop for ConversationLoad {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// The turns of one measurement.
pub struct TurnTimes {
    /// The time from the event until the answer is posted.
    pub walls: Vec<Duration>,
    /// The time that the fakes worked, per turn.
    fakes: Duration,
}

impl TurnTimes {
    /// Prints how long the turns took.
    pub fn print(&self) {
        let own = |at: f64| DisplayDuration(quantile(&self.walls, at).0.saturating_sub(self.fakes));
        println!(
            "  {} turns: median {}, p95 {}",
            self.walls.len(),
            quantile(&self.walls, 0.5),
            quantile(&self.walls, 0.95)
        );
        println!(
            "  without the {} in which the model and Slack make their answers: median {}, p95 {}",
            DisplayDuration(self.fakes),
            own(0.5),
            own(0.95)
        );
    }
}

impl ConversationLoad {
    /// Starts listening.
    pub fn listen(world: &World) -> Self {
        let waiting = Waiting::default();
        let ear = tokio::spawn(listen_for_replies(world.slack.clone(), waiting.clone()));
        Self { slack: world.slack.clone(), model: world.model.clone(), waiting, listener: ear }
    }

    /// Lets this many people talk at once, each waiting for the answer before the next message.
    pub async fn run_concurrently(&self, people: usize, turns: usize) -> TurnTimes {
        let before = self.slack.total_response_time() + self.model.total_response_time();
        let mut talking = JoinSet::new();
        for number in 0..people {
            let (slack, waiting) = (self.slack.clone(), self.waiting.clone());
            talking.spawn(async move { run_conversation(&slack, &waiting, (number, people), turns).await });
        }
        let walls: Vec<Duration> = talking.join_all().await.into_iter().flatten().collect();
        let spent = self.slack.total_response_time() + self.model.total_response_time() - before;
        let fakes = spent / u32::try_from(walls.len()).unwrap();
        TurnTimes { walls, fakes }
    }
}

/// Sends a message that needs no tool.
pub fn say(slack: &Slack, name: &str) {
    slack.post_message(name, &slack.dm(name), None, "thanks!");
}

/// Runs the turns in one conversation after another: Slack's rate limit is one message per second and channel.
async fn run_conversation(
    slack: &Slack,
    waiting: &Waiting,
    (first, step): (usize, usize),
    turns: usize,
) -> Vec<Duration> {
    let mut walls = Vec::with_capacity(turns);
    for turn in 0..turns {
        let name = handle_of((first + turn * step) % PEOPLE);
        let line = slack.dm(&name);
        let (answer, answered) = oneshot::channel();
        waiting.lock().unwrap().insert(line.clone(), answer);
        let said = Utc::now();
        say(slack, &name);
        let at = tokio::time::timeout(Duration::from_secs(30), answered).await;
        walls.push((at.expect("an answer in time").unwrap() - said).to_std().unwrap_or_default());
    }
    walls
}

async fn listen_for_replies(slack: Slack, waiting: Waiting) {
    let mut heard = slack.calls().len();
    loop {
        let fresh = slack
            .wait_for("a call", Duration::from_secs(600), |world| {
                let calls = world.calls.get(heard..).filter(|calls| !calls.is_empty())?;
                heard = world.calls.len();
                Some(calls.iter().filter(|c| c.method == "chat.postMessage").cloned().collect::<Vec<_>>())
            })
            .await;
        for call in fresh {
            let line = call.args["channel"].as_str().unwrap_or_default();
            if let Some(answer) = waiting.lock().unwrap().remove(line) {
                let _ = answer.send(call.at);
            }
        }
    }
}
