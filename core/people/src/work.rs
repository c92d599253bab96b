//! The jobs of people and their messages.

use serde::{Deserialize, Serialize};

use nod_contract::ids::{ConversationId, DeliveryId};
use nod_store::jobs::Job;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum PeopleJob {
    /// Post or replace an outgoing message; in the lane of its channel or person.
    DeliverMessage { delivery: DeliveryId },
    /// Set the title or the prompts of an assistant thread; in a lane of its own.
    UpdateAssistantThread { conversation: ConversationId, title: Option<String> },
    /// Read the people of a workspace.
    SyncDirectory { platform: String, workspace: String },
}

impl Job for PeopleJob {
    const KINDS: &'static [&'static str] = &["deliver_message", "update_assistant_thread", "sync_directory"];
}
