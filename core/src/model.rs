//! What a language model is to the graph: a prompt in, words or tool calls out.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scope::Scope;

/// Which model answers; each has its own endpoint, key, temperature, time-out and token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Small, temperature 0: classifies.
    Router,
    /// Thinks and calls tools.
    Reasoner,
}

impl Tier {
    /// The name in rows, configuration and spans.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Reasoner => "reasoner",
        }
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Turn {
    /// What Nod itself has to say to the model in the middle of a conversation.
    System { text: String },
    /// A person.
    Human { text: String },
    /// The model.
    Ai { text: String, calls: Vec<ToolCall> },
    /// What a tool gave back.
    Tool { call_id: String, name: String, content: String },
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to the call.
    pub id: String,
    /// May name a tool that does not exist.
    pub name: String,
    /// Raw JSON text; may be malformed.
    pub arguments: String,
}

/// A tool as the model is offered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Which model.
    pub tier: Tier,
    /// The static part first, so that a provider can cache the prefix.
    pub system: String,
    /// The conversation, oldest first.
    pub turns: Vec<Turn>,
    /// What it may call; empty for none.
    pub offers: Vec<Offer>,
    /// A JSON Schema that the answer must satisfy, with its name.
    pub json: Option<(String, Value)>,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Words; empty where it only calls tools.
    pub text: String,
    /// Tool calls, in order.
    pub calls: Vec<ToolCall>,
    /// Tokens, where the endpoint counts them.
    pub usage: Option<Usage>,
    /// The model that answered, as it names itself.
    pub model: String,
    /// Whether the token limit cut the answer short.
    pub truncated: bool,
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read.
    pub prompt: u32,
    /// Written.
    pub completion: u32,
}

/// Why a model did not answer. Retries are over when one of these comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ModelError {
    /// Nothing usable came within the deadline: time-outs, dropped connections, cut streams, 429, 5xx.
    #[error("no answer after {tries} tries in {} s: {reason}", waited.as_secs())]
    Silent { tries: u32, waited: Duration, reason: String },
    /// The endpoint refuses the request (wrong key, unknown model, prompt too long): an operator must act.
    #[error("refused with status {status}: {reason}")]
    Refused { status: u16, reason: String },
    /// It answered with nothing at all, several times.
    #[error("an empty answer, {tries} times")]
    Empty { tries: u32 },
}

/// An endpoint that answers prompts.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks and waits for the whole answer, with retries inside the tier's deadline.
    async fn answer(&self, scope: &Scope, ask: &Ask) -> Result<Answer, ModelError>;
}
