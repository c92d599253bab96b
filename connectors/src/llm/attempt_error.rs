//! Why one attempt at an answer failed, and whether to retry or to notify an administrator.

use std::time::Duration;

use async_openai::error::OpenAIError;
use nod_contract::model::ModelError;

/// An attempt without a usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AttemptError {
    /// No answer, a broken one, or an overloaded endpoint. `after` is how long it asks to wait, if it does.
    #[error("{reason}")]
    Unavailable { reason: String, after: Option<Duration> },
    /// The endpoint rejects the request.
    #[error("{status}: {reason}")]
    Rejected { status: u16, reason: String },
    /// The credit is used up: the request is valid, and another endpoint might accept it.
    #[error("{status}: {reason}")]
    QuotaExhausted { status: u16, reason: String },
    /// The model cannot call tools.
    #[error("{model} can't use tools")]
    ToolsUnsupported { model: String },
    /// A content filter withheld the answer.
    #[error("held back by a content filter")]
    Withheld,
    /// A complete answer without content.
    #[error("an empty answer")]
    Empty,
}

impl AttemptError {
    pub(super) fn lost(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), after: None }
    }

    pub(super) fn timeout(patience: Duration) -> Self {
        Self::lost(format!("no answer for {:.0} s", patience.as_secs_f32().max(1.0)))
    }

    /// Maps an error of the client library. Its messages quote whole bodies, so none of them is kept.
    pub(super) fn from_client(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(boxed) => match boxed.downcast::<Self>() {
                Ok(miss) => *miss,
                Err(_) => Self::lost("the connection failed"),
            },
            OpenAIError::Reqwest(error) => Self::lost(super::transport::describe_transport_error(&error)),
            OpenAIError::JSONDeserialize(..) => Self::lost("the answer is not JSON"),
            OpenAIError::StreamError(_) => Self::lost("the stream broke off"),
            OpenAIError::ApiError(error) => {
                Self::Rejected { status: error.status_code.as_u16(), reason: "no reason given".into() }
            }
            _ => Self::lost("the client failed"),
        }
    }

    pub(super) fn reason(&self) -> String {
        self.to_string()
    }

    /// Returns the kind for the log, which gets no text of the endpoint.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "lost",
            Self::Rejected { .. } => "refused",
            Self::QuotaExhausted { .. } => "spent",
            Self::ToolsUnsupported { .. } => "no tools",
            Self::Withheld => "withheld",
            Self::Empty => "empty",
        }
    }

    pub(super) fn worth_another(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Empty)
    }

    /// Returns whether another endpoint might answer: not if the request is at fault.
    pub(super) fn allows_fallback(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::QuotaExhausted { .. })
    }

    /// Returns how long to wait before the next attempt: the time that the endpoint asked for, otherwise doubled each
    /// time, plus up to half of it at random (`jitter` is in 0..1), so that many callers do not retry at once.
    pub(super) fn backoff(&self, tries: u32, jitter: f64) -> Duration {
        let base = Duration::from_millis(300) * 2u32.saturating_pow(tries.saturating_sub(1));
        match self {
            Self::Unavailable { after: Some(after), .. } => *after,
            Self::Empty => Duration::ZERO,
            _ => base.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 2.0),
        }
    }

    pub(super) fn into_error(self, tries: u32, waited: Duration) -> ModelError {
        match self {
            Self::Unavailable { reason, .. } => ModelError::Timeout { attempts: tries, waited, reason },
            Self::Rejected { status, reason } | Self::QuotaExhausted { status, reason } => {
                ModelError::Rejected { status, reason }
            }
            Self::ToolsUnsupported { model } => ModelError::ToolsUnsupported { model },
            Self::Withheld => ModelError::Withheld,
            Self::Empty => ModelError::Empty { attempts: tries },
        }
    }
}
