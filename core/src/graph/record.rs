//! What each step did, with its time and tokens: one record a node, tool call and model call.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::clock::Timestamp;
use crate::ids::InvocationId;
use crate::model::Usage;

/// One thing that a run did.
#[derive(Debug, Clone, Serialize)]
pub struct StepRecord {
    /// This call.
    pub invocation: InvocationId,
    /// `node`, `tool` or `model`.
    pub kind: &'static str,
    /// The node's, tool's or model tier's name.
    pub name: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took, in microseconds.
    pub duration_us: i64,
    /// Tokens read by a model.
    pub prompt_tokens: Option<u32>,
    /// Tokens written by a model.
    pub completion_tokens: Option<u32>,
    /// The prompt or the arguments.
    pub input: Option<Value>,
    /// The answer or the result.
    pub output: Option<Value>,
    /// Why it failed.
    pub error: Option<String>,
}

impl StepRecord {
    /// A record of something that took from `started_at` to `ended_at`.
    pub(crate) fn new(
        kind: &'static str,
        name: &str,
        invocation: InvocationId,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Self {
        Self {
            invocation,
            kind,
            name: name.to_owned(),
            started_at,
            duration_us: (ended_at - started_at).num_microseconds().unwrap_or_default(),
            prompt_tokens: None,
            completion_tokens: None,
            input: None,
            output: None,
            error: None,
        }
    }

    pub(crate) fn tokens(mut self, usage: Option<Usage>) -> Self {
        self.prompt_tokens = usage.map(|u| u.prompt);
        self.completion_tokens = usage.map(|u| u.completion);
        self
    }
}

/// Collects the records of a step until its commit.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<Vec<StepRecord>>);

impl Records {
    pub(crate) fn push(&self, record: StepRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    pub(crate) fn take(&self) -> Vec<StepRecord> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
