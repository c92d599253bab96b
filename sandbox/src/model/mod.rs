//! A fake model with the OpenAI protocol that answers from a script, or by simple rules.
//!
//! Owns the endpoint and the record of its requests. It never invents an answer: a request that neither a script nor a
//! rule answers is rejected and recorded.

mod embeddings;
mod endpoint;
mod rules;
mod script;
mod stream;
mod strict;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::serve::Server;
pub use script::{Answer, ModelRole, ScriptedAnswer, ToolCall};
use strict::RequestValidator;

/// The name of the model when the rules answer.
pub const RULES_MODEL: &str = "sandbox-rules";

/// The configuration of the fake.
#[derive(Debug, Clone, Default)]
pub struct ModelConfig {
    /// Answer by rules when no script is left.
    pub rules: bool,
    /// The only key that is accepted; any key if `None`.
    pub api_key: Option<String>,
    /// The folder with `openai/openai.strict.schema.json`; without it only the rules written here apply.
    pub specs_dir: Option<PathBuf>,
    /// How long a stream pauses before each chunk.
    pub pace: Option<Duration>,
}

/// A handle on the running fake; clones share it. The port closes when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Model {
    shared: Arc<Shared>,
    server: Arc<Server>,
}

#[derive(Debug, Default)]
struct State {
    /// How long an answer by rules takes.
    thinks: Duration,
    scripts: VecDeque<ScriptedAnswer>,
    requests: Vec<Value>,
    /// How many of these were taken.
    taken: usize,
    unexpected: Vec<Value>,
    violations: Vec<String>,
    answers: u64,
    embeddings: embeddings::EmbeddingsState,
}

#[derive(Debug)]
struct Shared {
    config: ModelConfig,
    strictness: RequestValidator,
    state: Mutex<State>,
    version: watch::Sender<u64>,
    /// How many streams are paused.
    resting: watch::Sender<usize>,
    released: tokio::sync::Semaphore,
}

impl Shared {
    /// Pauses until [`Model::release`] is called.
    async fn wait_for_release(&self) {
        self.resting.send_modify(|resting| *resting += 1);
        if let Ok(permit) = self.released.acquire().await {
            permit.forget();
        }
        self.resting.send_modify(|resting| *resting = resting.saturating_sub(1));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.state());
        self.version.send_modify(|version| *version += 1);
        outcome
    }
}

impl Model {
    /// Starts the fake on a free loopback port.
    ///
    /// # Errors
    /// If no port can be bound, or the specification in `specs_dir` cannot be used.
    pub async fn start(config: ModelConfig) -> std::io::Result<Self> {
        let strictness = RequestValidator::read(config.specs_dir.as_deref())?;
        let state = Mutex::new(State::default());
        let shared = Arc::new(Shared {
            config,
            strictness,
            state,
            version: watch::channel(0).0,
            resting: watch::channel(0).0,
            released: tokio::sync::Semaphore::new(0),
        });
        let server = Arc::new(Server::start(endpoint::routes().with_state(shared.clone())).await?);
        Ok(Self { shared, server })
    }

    /// Returns `http://127.0.0.1:port`; clients need [`Model::base_url`].
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the URL with `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Returns the total time that was spent on making answers.
    #[must_use]
    pub fn total_response_time(&self) -> Duration {
        self.server.total_response_time()
    }

    /// Sets how long each later answer by rules takes, because real models take time too.
    pub fn thinks(&self, long: Duration) {
        self.shared.change(|state| state.thinks = long);
    }

    /// Returns the reasoner's requests, oldest first.
    #[must_use]
    pub fn list_reasoner_requests(&self) -> Vec<Value> {
        self.requests()
            .into_iter()
            .filter(|request| ModelRole::classify(request) == ModelRole::Reasoner)
            .collect()
    }

    /// Scripts the answer to the next request of the answer's own lane: [`Answer::json`] answers the router, every
    /// other answer the reasoner.
    pub fn will(&self, answer: Answer) {
        self.script(ScriptedAnswer::from(answer));
    }

    /// Scripts the answer to the router's next request, whatever its kind.
    pub fn router_will(&self, answer: Answer) {
        self.script(ScriptedAnswer { lane: ModelRole::Router, ..ScriptedAnswer::from(answer) });
    }

    /// Scripts the answer to the summariser's next request, whatever its kind.
    pub fn summariser_will(&self, answer: Answer) {
        self.script(ScriptedAnswer { lane: ModelRole::Summariser, ..ScriptedAnswer::from(answer) });
    }

    /// Appends an entry to the script. Entries are used in order, lane by lane; an entry whose condition does not hold
    /// is skipped and kept.
    pub fn script(&self, script: ScriptedAnswer) {
        self.shared.change(|state| state.scripts.push_back(script));
    }

    /// Scripts the outcome of the next request for embeddings: an error, a hang or a dropped connection.
    pub fn embeddings_will(&self, answer: Answer) {
        self.shared.change(|state| state.embeddings.scripts.push_back(answer));
    }

    /// Makes the vectors of later answers have this many numbers.
    pub fn set_embedding_dimension(&self, dimension: usize) {
        self.shared.change(|state| state.embeddings.dimension = dimension);
    }

    /// Returns the texts of each valid request for embeddings, in order.
    #[must_use]
    pub fn embedded_texts(&self) -> Vec<Vec<String>> {
        self.shared.state().embeddings.requests.clone()
    }

    /// Returns every valid request, unchanged and in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        let state = self.shared.state();
        state.requests[state.taken..].to_vec()
    }

    /// Returns every valid request since the last call of this, and leaves them out from then on.
    pub fn take_requests(&self) -> Vec<Value> {
        self.shared.change(|state| {
            let since = std::mem::replace(&mut state.taken, state.requests.len());
            state.requests[since..].to_vec()
        })
    }

    /// Returns every valid request, also those that were taken.
    #[must_use]
    pub fn all_requests(&self) -> Vec<Value> {
        self.shared.state().requests.clone()
    }

    /// Returns the requests that neither script nor rules answered.
    #[must_use]
    pub fn list_unexpected(&self) -> Vec<Value> {
        self.shared.state().unexpected.clone()
    }

    /// Returns the violations in requests, and in this fake's own answers.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Returns the script entries that no request used.
    #[must_use]
    pub fn list_unused(&self) -> Vec<String> {
        let state = self.shared.state();
        let embeddings = state.embeddings.scripts.iter().map(|script| format!("embeddings: {script:?}"));
        state.scripts.iter().map(ToString::to_string).chain(embeddings).collect()
    }

    /// Resumes one stream that is paused, now or later.
    pub fn release(&self) {
        self.shared.released.add_permits(1);
    }

    /// Resolves once a stream is paused.
    pub async fn wait_until_paused(&self) {
        let mut resting = self.shared.resting.subscribe();
        // The sender is in `self`, so waiting cannot fail while `self` is borrowed.
        let _ = resting.wait_for(|resting| *resting > 0).await;
    }

    /// Discards the rest of the script.
    pub fn clear(&self) {
        self.shared.change(|state| state.scripts.clear());
    }

    /// Waits until `predicate` holds; returns false if `timeout` expires first.
    pub async fn wait_for(&self, predicate: impl Fn(&Self) -> bool, timeout: Duration) -> bool {
        let mut version = self.shared.version.subscribe();
        let holds = async {
            while !predicate(self) {
                let _ = version.changed().await;
            }
        };
        tokio::time::timeout(timeout, holds).await.is_ok()
    }
}
