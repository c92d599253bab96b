//! A model behind the OpenAI protocol that says what a script tells it, or what simple rules find.
//!
//! Owns the endpoint and the record of what was asked. It never makes anything up: a request that neither a
//! script nor a rule answers is refused and remembered.

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
pub use script::{Answer, Lane, ModelScript, ToolCall};
use strict::Strictness;

/// The model's name where the rules answer.
pub const RULES_MODEL: &str = "sandbox-rules";

/// How the fake is set up.
#[derive(Debug, Clone, Default)]
pub struct ModelConfig {
    /// Answer by rules when no script is left.
    pub rules: bool,
    /// The only key that is accepted; any key, if not said.
    pub api_key: Option<String>,
    /// The folder with `openai/openai.strict.schema.json`; without it only the rules written here hold.
    pub specs_dir: Option<PathBuf>,
    /// How long a stream rests between two chunks.
    pub pace: Option<Duration>,
}

/// The running fake; clones are the same one. The port closes with the last of them.
#[derive(Debug, Clone)]
pub struct Model {
    shared: Arc<Shared>,
    server: Arc<Server>,
}

#[derive(Debug, Default)]
struct State {
    /// How long an answer by rules takes.
    thinks: Duration,
    scripts: VecDeque<ModelScript>,
    requests: Vec<Value>,
    unexpected: Vec<Value>,
    violations: Vec<String>,
    answers: u64,
}

#[derive(Debug)]
struct Shared {
    config: ModelConfig,
    strictness: Strictness,
    state: Mutex<State>,
    version: watch::Sender<u64>,
    /// How many streams rest, or may go on.
    resting: watch::Sender<usize>,
    released: tokio::sync::Semaphore,
}

impl Shared {
    /// Rests until somebody releases it.
    async fn held(&self) {
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
    /// When no port can be bound, or the specification in `specs_dir` cannot be used.
    pub async fn start(config: ModelConfig) -> std::io::Result<Self> {
        let strictness = Strictness::read(config.specs_dir.as_deref())?;
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

    /// `http://127.0.0.1:port`; clients want [`Model::base_url`].
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The url with `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// How long answers have been in the making, all together.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.server.spent()
    }

    /// From now on an answer by rules takes this long, as real models do.
    pub fn thinks(&self, long: Duration) {
        self.shared.change(|state| state.thinks = long);
    }

    /// What the reasoner was asked, oldest first.
    #[must_use]
    pub fn reasoned(&self) -> Vec<Value> {
        self.requests().into_iter().filter(|request| Lane::of(request) == Lane::Reasoner).collect()
    }

    /// The next request of the answer's own lane gets this: [`Answer::json`] answers the router, every
    /// other answer the reasoner.
    pub fn will(&self, answer: Answer) {
        self.script(ModelScript::from(answer));
    }

    /// The router's next request gets this, whatever it is.
    pub fn router_will(&self, answer: Answer) {
        self.script(ModelScript { lane: Lane::Router, ..ModelScript::from(answer) });
    }

    /// The summariser's next request gets this, whatever it is.
    pub fn summariser_will(&self, answer: Answer) {
        self.script(ModelScript { lane: Lane::Summariser, ..ModelScript::from(answer) });
    }

    /// One more line of the script. Lines are used in order, lane by lane; a line whose condition does
    /// not hold is passed over and kept.
    pub fn script(&self, script: ModelScript) {
        self.shared.change(|state| state.scripts.push_back(script));
    }

    /// Every request that was acceptable, in order, as it came.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.state().requests.clone()
    }

    /// Requests to which nobody had an answer.
    #[must_use]
    pub fn unexpected(&self) -> Vec<Value> {
        self.shared.state().unexpected.clone()
    }

    /// Requests, and answers of our own, that broke the rules.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Lines of the script that nobody asked for.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.shared.state().scripts.iter().map(ToString::to_string).collect()
    }

    /// Lets one stream that rests (or will) go on.
    pub fn release(&self) {
        self.shared.released.add_permits(1);
    }

    /// Resolves once a stream rests.
    pub async fn rests(&self) {
        let mut resting = self.shared.resting.subscribe();
        // The sender lives in `self`, so waiting cannot fail while we are borrowed.
        let _ = resting.wait_for(|resting| *resting > 0).await;
    }

    /// Forgets the rest of the script.
    pub fn clear(&self) {
        self.shared.change(|state| state.scripts.clear());
    }

    /// Waits until `predicate` holds; false when `timeout` is over first.
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
