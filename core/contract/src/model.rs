//! What a language model is to the graph: a prompt in, words or tool calls out.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use crate::scope::Scope;

/// Which model answers; each has its own endpoint, key, temperature, time-out and token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Small, temperature 0: classifies.
    Router,
    /// Thinks and calls tools.
    Reasoner,
    /// Keeps what is worth keeping of a conversation, after its answers.
    Summariser,
}

impl Tier {
    /// The name in rows, configuration and spans.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Reasoner => "reasoner",
            Self::Summariser => "summariser",
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
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// Which model.
    pub tier: Tier,
    /// The static part first, so that a provider can cache the prefix.
    pub system: String,
    /// The conversation, oldest first.
    pub turns: Vec<Turn>,
    /// What it may call; empty for none.
    #[serde(alias = "offers")]
    pub tools: Vec<ToolDefinition>,
    /// A JSON Schema that the answer must satisfy, with its name.
    #[serde(alias = "json")]
    pub response_schema: Option<(String, Value)>,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
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
    /// Whether the model that stands in for the tier's own gave it.
    #[serde(default)]
    #[serde(alias = "stand_in")]
    pub from_fallback: bool,
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
    #[error("no answer after {attempts} attempts in {} s: {reason}", waited.as_secs())]
    #[serde(alias = "silent")]
    Timeout {
        #[serde(alias = "tries")]
        attempts: u32,
        waited: Duration,
        reason: String,
    },
    /// The endpoint refuses the request (wrong key, unknown model, prompt too long): an operator must act.
    #[error("refused with status {status}: {reason}")]
    #[serde(alias = "refused")]
    Rejected { status: u16, reason: String },
    /// The model cannot call tools: an operator must choose another one.
    #[error("{model} cannot call tools")]
    #[serde(alias = "no_tools")]
    ToolsUnsupported { model: String },
    /// Neither the tier's model nor the one that stands in for it.
    #[error("{first}; and its stand-in: {second}")]
    Both { first: Box<ModelError>, second: Box<ModelError> },
    /// Its provider held the answer back: other words may do.
    #[error("the answer was held back by a content filter")]
    Withheld,
    /// It answered with nothing at all, several times.
    #[error("an empty answer, {attempts} times")]
    Empty {
        #[serde(alias = "tries")]
        attempts: u32,
    },
}

/// The words of an answer while they come, for whoever shows them. They are no answer yet: after a break they
/// begin anew, and tool calls may follow them.
#[derive(Debug)]
pub struct TokenSender(watch::Sender<String>);

impl TokenSender {
    /// Words, and the ear that hears them: everything so far, whenever there is more.
    #[must_use]
    pub fn channel() -> (Self, watch::Receiver<String>) {
        let (words, ear) = watch::channel(String::new());
        (Self(words), ear)
    }

    /// Words that nobody waits for.
    #[must_use]
    pub fn disconnected() -> Self {
        Self::channel().0
    }

    /// A few more of them.
    pub fn push(&self, piece: &str) {
        if !piece.is_empty() && !self.0.is_closed() {
            self.0.send_modify(|so_far| so_far.push_str(piece));
        }
    }

    /// What was heard is void: the answer begins anew.
    pub fn reset(&self) {
        self.0.send_if_modified(|so_far| {
            let heard = !so_far.is_empty();
            so_far.clear();
            heard
        });
    }
}

/// An endpoint that answers prompts.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks and waits for the whole answer, with retries inside the tier's deadline. Where the endpoint
    /// streams, `words` hears the answer's text as it comes; constrained JSON comes whole and is not heard.
    async fn complete(
        &self,
        scope: &Scope,
        ask: &CompletionRequest,
        words: &TokenSender,
    ) -> Result<Completion, ModelError>;
}
