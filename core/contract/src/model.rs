//! The contract with a language model, as the graph uses it: a prompt in, text or tool calls out.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::prompt::{PromptText, SystemPrompt};
use crate::scope::Scope;

/// Which model answers. Each tier has its own endpoint, key, temperature, timeout and token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Small, temperature 0: classifies messages.
    Router,
    /// Reasons and calls tools.
    Reasoner,
    /// Summarises what is worth remembering of a conversation, after its answers.
    Summariser,
}

impl Tier {
    /// Returns the name in rows, configuration and spans.
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
    /// What Nod itself tells the model in the middle of a conversation.
    System { text: String },
    /// A person.
    Human { text: String },
    /// The model.
    Ai { text: String, calls: Vec<ToolCall> },
    /// The result of a tool call.
    Tool { call_id: String, name: String, content: String },
}

/// The argument of a tool that reaches others, by which a model says whether something is left to do or say afterwards.
pub const MORE_ARGUMENT: &str = "more";

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

impl ToolCall {
    /// Whether the model wrote that nothing is left to do or say once the call has succeeded.
    #[must_use]
    pub fn is_last(&self) -> bool {
        let arguments = serde_json::from_str::<Value>(&self.arguments);
        arguments.is_ok_and(|arguments| arguments[MORE_ARGUMENT] == Value::Bool(false))
    }
}

/// A tool as it is offered to the model.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, as text: it is written into every prompt.
    pub parameters: Box<RawValue>,
    /// All of it, as records name it.
    text: Arc<PromptText>,
}

impl ToolDefinition {
    /// Defines a tool by its name, its description and the JSON Schema of its arguments.
    #[must_use]
    pub fn new(name: &str, description: &str, parameters: &Value) -> Self {
        let whole = json!({ "name": name, "description": description, "parameters": parameters });
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            // A schema is JSON, so it can be written as JSON.
            parameters: to_raw_value(parameters).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            text: PromptText::from_json(&whole),
        }
    }

    /// Returns the definition as a text that is stored once.
    #[must_use]
    pub fn text(&self) -> &Arc<PromptText> {
        &self.text
    }
}

/// A prompt.
#[derive(Debug, Clone)]
pub struct CompletionRequest {
    /// Which model.
    pub tier: Tier,
    /// What the model is told first.
    pub system: SystemPrompt,
    /// The conversation, oldest first.
    pub turns: Vec<Turn>,
    /// The tools that it can call; empty for none.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// A JSON Schema that the answer must satisfy, with its name. It is a text of the program: no person's words.
    pub response_schema: Option<(String, Value)>,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text; empty if the model only calls tools.
    pub text: String,
    /// Tool calls, in order.
    pub calls: Vec<ToolCall>,
    /// Token counts, if the endpoint reports them.
    pub usage: Option<Usage>,
    /// The model that answered, as it names itself.
    pub model: String,
    /// Whether the token limit cut the answer short.
    pub truncated: bool,
    /// Whether the tier's fallback model gave the answer.
    #[serde(default)]
    #[serde(alias = "stand_in")]
    pub from_fallback: bool,
}

/// Token counts of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub prompt: u32,
    /// Tokens written.
    pub completion: u32,
}

fn count_attempts(attempts: u32) -> String {
    format!("{attempts} {}", if attempts == 1 { "attempt" } else { "attempts" })
}

/// Why a model did not answer. No retry follows when one of these is returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ModelError {
    /// Nothing usable arrived within the deadline: timeouts, dropped connections, cut streams, 429, 5xx.
    #[error("no answer after {} in {} s: {reason}", count_attempts(*attempts), waited.as_secs())]
    #[serde(alias = "silent")]
    Timeout {
        #[serde(alias = "tries")]
        attempts: u32,
        waited: Duration,
        reason: String,
    },
    /// The endpoint rejects the request (wrong key, unknown model, prompt too long): an operator must act.
    #[error("refused (status {status}): {reason}")]
    #[serde(alias = "refused")]
    Rejected { status: u16, reason: String },
    /// The model cannot call tools: an operator must choose another one.
    #[error("{model} can't use tools")]
    #[serde(alias = "no_tools")]
    ToolsUnsupported { model: String },
    /// Neither the tier's model nor its fallback answered.
    #[error("{first}; the backup model: {second}")]
    Both { first: Box<ModelError>, second: Box<ModelError> },
    /// The provider withheld the answer. A differently worded request might succeed.
    #[error("the answer was held back by a content filter")]
    Withheld,
    /// The model returned an empty answer, several times.
    #[error("an empty answer, {attempts} times")]
    Empty {
        #[serde(alias = "tries")]
        attempts: u32,
    },
}

impl ModelError {
    /// Describes the failure for the person. What the endpoint wrote is for operators only.
    #[must_use]
    pub fn to_sentence(&self) -> String {
        self.sentence_about("The model")
    }

    fn sentence_about(&self, who: &str) -> String {
        match self {
            Self::Timeout { attempts: tries, waited, .. } => {
                let tries = if *tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
                let seconds = waited.as_secs_f64().round().max(1.0);
                format!("{who} didn't answer ({tries}, {seconds} s).")
            }
            Self::Rejected { status, .. } => {
                format!(
                    "{who} refused the request (status {status}). The person who runs Nod needs to look at it."
                )
            }
            Self::ToolsUnsupported { model } => format!(
                "{who} ({model}) can't use tools, and I need one that can. The person who runs Nod needs to \
                 choose another."
            ),
            Self::Both { first, second } => {
                format!("{} {}", first.sentence_about(who), second.sentence_about("The backup model"))
            }
            Self::Withheld => {
                format!("{who}'s provider held its answer back (content filter). Please ask in other words.")
            }
            Self::Empty { attempts: tries } => format!("{who} gave an empty answer {tries} times."),
        }
    }
}

/// The text of an answer while it is streamed, for showing it early. It is not final: after a dropped stream it
/// starts again, and tool calls might follow it.
#[derive(Debug)]
pub struct TokenSender(watch::Sender<String>);

impl TokenSender {
    /// Creates a sender and its receiver, which reads the whole text so far whenever it has changed.
    #[must_use]
    pub fn channel() -> (Self, watch::Receiver<String>) {
        let (words, ear) = watch::channel(String::new());
        (Self(words), ear)
    }

    /// Creates a sender without a receiver.
    #[must_use]
    pub fn disconnected() -> Self {
        Self::channel().0
    }

    /// Appends a piece of text.
    pub fn push(&self, piece: &str) {
        if !piece.is_empty() && !self.0.is_closed() {
            self.0.send_modify(|so_far| so_far.push_str(piece));
        }
    }

    /// Discards the text so far, because the answer starts again.
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
    /// Sends a request and waits for the complete answer, with retries inside the tier's deadline. If the endpoint
    /// streams, `words` receives the answer's text as it arrives; constrained JSON is not streamed.
    async fn complete(
        &self,
        scope: &Scope,
        ask: &CompletionRequest,
        words: &TokenSender,
    ) -> Result<Completion, ModelError>;
}
