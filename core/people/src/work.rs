//! The jobs of people and their messages.

use serde::{Deserialize, Serialize};

use nod_contract::ids::{ConversationId, DeliveryId};
use nod_store::jobs::Job;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum PeopleJob {
    /// Post or replace an outgoing message; in the lane of its channel or person.
    Deliver { delivery: DeliveryId },
    /// Set the title or the prompts of an assistant thread; in a lane of its own.
    DressPane { conversation: ConversationId, title: Option<String> },
    /// Read the people of a workspace.
    ReadDirectory { platform: String, workspace: String },
}

impl Job for PeopleJob {
    const KINDS: &'static [&'static str] = &["deliver", "dress_pane", "read_directory"];
}
