//! The scripted answers of the model, good and bad, and their order.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

/// The use of the model that a request belongs to: a `response_format` with a schema means the router, with a schema
/// called `memory` the summariser, with `task_plan` or `task_result` whoever plans a task or writes its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    Router,
    Reasoner,
    Summariser,
    Planner,
    Finaliser,
}

impl ModelRole {
    pub(super) fn classify(request: &Value) -> Self {
        let format = &request["response_format"];
        match (format["type"].as_str(), format["json_schema"]["name"].as_str()) {
            (Some("json_schema"), Some("memory")) => Self::Summariser,
            (Some("json_schema"), Some("task_plan")) => Self::Planner,
            (Some("json_schema"), Some("task_result")) => Self::Finaliser,
            (Some("json_schema"), _) => Self::Router,
            _ => Self::Reasoner,
        }
    }
}

/// A tool call: its name, and its arguments as the text sent over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone)]
pub(super) enum AnswerKind {
    Message { text: Option<String>, calls: Vec<ToolCall> },
    Error { status: u16, retry_after: Option<u64>, code: Value, message: String },
    Hang,
    Drop,
}

/// An answer, created by one of the constructors and modified by the methods.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) kind: AnswerKind,
    pub(super) lane: ModelRole,
    pub(super) delay: Duration,
    pub(super) cut_after: Option<usize>,
    pub(super) pause_after: Option<usize>,
    pub(super) finish_reason: Option<String>,
}

impl Answer {
    fn new(kind: AnswerKind) -> Self {
        Self {
            kind,
            lane: ModelRole::Reasoner,
            delay: Duration::ZERO,
            cut_after: None,
            pause_after: None,
            finish_reason: None,
        }
    }

    /// A text answer.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(AnswerKind::Message { text: Some(text.into()), calls: Vec::new() })
    }

    /// JSON as text, for the router.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { lane: ModelRole::Router, ..Self::text(value.to_string()) }
    }

    /// One tool call.
    #[must_use]
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::tools(vec![(name, arguments)])
    }

    /// Several tool calls in one answer.
    #[must_use]
    pub fn tools(calls: Vec<(&str, Value)>) -> Self {
        let call = |(name, arguments): (&str, Value)| ToolCall {
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        Self::new(AnswerKind::Message { text: None, calls: calls.into_iter().map(call).collect() })
    }

    /// A tool call whose arguments are not JSON.
    #[must_use]
    pub fn malformed_arguments(name: &str, arguments: &str) -> Self {
        let call = ToolCall { name: name.to_owned(), arguments: arguments.to_owned() };
        Self::new(AnswerKind::Message { text: None, calls: vec![call] })
    }

    /// Neither text nor calls.
    #[must_use]
    pub fn empty() -> Self {
        Self::text("")
    }

    /// An error with this status; `retry_after` is in seconds.
    #[must_use]
    pub fn status(status: u16, retry_after: Option<u64>) -> Self {
        let code = if status == 429 { json!("rate_limit_exceeded") } else { Value::Null };
        let message = format!("The sandbox was told to answer {status}.");
        Self::new(AnswerKind::Error { status, retry_after, code, message })
    }

    /// An error whose `code` is a number, as some compatible servers send it.
    #[must_use]
    pub fn integer_code(status: u16, message: &str) -> Self {
        let code = json!(status);
        Self::new(AnswerKind::Error { status, retry_after: None, code, message: message.to_owned() })
    }

    /// No answer until the client gives up.
    #[must_use]
    pub fn hang() -> Self {
        Self::new(AnswerKind::Hang)
    }

    /// The connection is closed without an answer.
    #[must_use]
    pub fn drop_connection() -> Self {
        Self::new(AnswerKind::Drop)
    }

    /// Makes it the answer to another use of the model.
    #[must_use]
    pub fn for_role(self, lane: ModelRole) -> Self {
        Self { lane, ..self }
    }

    /// Delays the answer.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Ends the stream after this many chunks, without finish reason or `[DONE]`. An answer that is not streamed is cut
    /// by closing the connection.
    #[must_use]
    pub fn with_cut_after(self, chunks: usize) -> Self {
        Self { cut_after: Some(chunks), ..self }
    }

    /// Adds a tool call after the text.
    #[must_use]
    pub fn with_tool_call(mut self, name: &str, arguments: &Value) -> Self {
        if let AnswerKind::Message { calls, .. } = &mut self.kind {
            calls.push(ToolCall { name: name.to_owned(), arguments: arguments.to_string() });
        }
        self
    }

    /// Pauses the stream after this many chunks until [`super::Model::release`].
    #[must_use]
    pub fn with_pause_after(self, chunks: usize) -> Self {
        Self { pause_after: Some(chunks), ..self }
    }

    /// Sets the finish reason: `length`, or one that OpenAI does not have.
    #[must_use]
    pub fn finish_reason(self, reason: &str) -> Self {
        Self { finish_reason: Some(reason.to_owned()), ..self }
    }
}

type Condition = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// An entry of the script.
#[derive(Clone)]
pub struct ScriptedAnswer {
    pub lane: ModelRole,
    pub answer: Answer,
    pub(super) condition: Option<Condition>,
}

impl From<Answer> for ScriptedAnswer {
    fn from(answer: Answer) -> Self {
        Self { lane: answer.lane, answer, condition: None }
    }
}

impl ScriptedAnswer {
    /// Limits the entry to requests for which this holds.
    #[must_use]
    pub fn with_condition(self, condition: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        Self { condition: Some(Arc::new(condition)), ..self }
    }

    pub(super) fn matches(&self, request: &Value) -> bool {
        self.lane == ModelRole::classify(request) && self.condition.as_ref().is_none_or(|when| when(request))
    }
}

impl fmt::Display for ScriptedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.lane, self.answer.kind)
    }
}

impl fmt::Debug for ScriptedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
