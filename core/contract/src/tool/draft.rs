//! What a tool tells of a draft that it keeps in somebody's account.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A draft as it stands at its provider. Tools tell it, the core keeps it and hands it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The provider's id of it, the same through all edits.
    pub id: String,
    /// Another one after every edit, whoever made it.
    pub version: String,
    /// The tool's own exact form of what is written. The core does not look into it.
    #[serde(alias = "letter")]
    pub content: Value,
    /// Every field that is not the body, in reading order; an empty value shows as "—".
    pub fields: Vec<(String, String)>,
    /// The body, whole.
    pub body: String,
    /// In the middle of a sentence: "“Running late” to bo@acme.test".
    pub label: String,
    /// Where the person finds it.
    pub link: String,
    /// What they call that place: "Gmail".
    #[serde(alias = "place")]
    pub provider_name: String,
    /// The tools that work on it.
    pub tools: DraftTools,
}

impl Draft {
    /// What the tool performs that throws it away. A press on [Discard] plans that at once, with no call and no preview before
    /// it, so this one payload has a form on which the core and such tools agree; the core keeps all others as they are.
    #[must_use]
    pub fn payload(&self) -> Value {
        json!({ "draft": self })
    }

    /// From that payload, and from the arguments of a tool that calls its own one `draft`.
    ///
    /// # Errors
    /// When there is none in it.
    pub fn handed(payload: &Value) -> serde_json::Result<Self> {
        Self::deserialize(&payload["draft"])
    }
}

/// Names of the tools that work on a draft. Each takes it in an argument of format `draft`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftTools {
    /// Reads it as it stands.
    pub read: String,
    /// Changes it.
    pub update: String,
    /// Sends it.
    pub send: String,
    /// Throws it away: its payload is [`Draft::payload`].
    pub discard: String,
}

/// How a draft came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// It was sent.
    Sent,
    /// The person threw it away.
    Discarded,
    /// It is not there any more: sent or thrown away by hand.
    #[serde(alias = "gone")]
    DeletedExternally,
}

impl CloseReason {
    /// The name in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Discarded => "discarded",
            Self::DeletedExternally => "gone",
        }
    }
}
