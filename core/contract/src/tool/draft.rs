//! How a tool describes a draft that it keeps in a person's account.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A draft in its current form at the provider. Tools create it; the core stores it and passes it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The provider's id of the draft, the same through all edits.
    pub id: String,
    /// Changes with every edit, by any client.
    pub version: String,
    /// The tool's own exact representation of the content. The core does not read it.
    #[serde(alias = "letter")]
    pub content: Value,
    /// Every field that is not the body, in reading order; one without a value is not shown.
    pub fields: Vec<(String, String)>,
    /// The full body.
    pub body: String,
    /// For the middle of a sentence: "“Running late” to bo@acme.test".
    pub label: String,
    /// The link where the person finds it.
    pub link: String,
    /// The name of that place: "Gmail".
    #[serde(alias = "place")]
    pub provider_name: String,
    /// The tools that work on it.
    pub tools: DraftTools,
}

impl Draft {
    /// Returns the payload with which the tool discards it. A click on [Discard] plans that effect at once, without a
    /// call or a preview, so this is the one payload whose form the core and such tools agree on; the core treats all
    /// others as opaque.
    #[must_use]
    pub fn payload(&self) -> Value {
        json!({ "draft": self })
    }

    /// Reads a draft from that payload, or from the arguments of a tool whose draft argument is named `draft`.
    ///
    /// # Errors
    /// If it contains no draft.
    pub fn from_payload(payload: &Value) -> serde_json::Result<Self> {
        Self::deserialize(&payload["draft"])
    }
}

/// The names of the tools that work on a draft. Each takes it in an argument of format `draft`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftTools {
    /// Reads its current form.
    pub read: String,
    /// Changes it.
    pub update: String,
    /// Sends it.
    pub send: String,
    /// Discards it: its payload is [`Draft::payload`].
    pub discard: String,
}

/// Why a draft was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// It was sent.
    Sent,
    /// The person discarded it.
    Discarded,
    /// It no longer exists: it was sent or deleted outside Nod.
    #[serde(alias = "gone")]
    DeletedExternally,
}

impl CloseReason {
    /// Returns the name stored in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Discarded => "discarded",
            Self::DeletedExternally => "deleted_externally",
        }
    }
}
