//! The job of memory.

use serde::{Deserialize, Serialize};

use nod_contract::ids::RunId;
use nod_store::jobs::Job;

/// A job of this crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum MemoryJob {
    /// Read the new messages of a run's conversation, for its summary and for facts. It has a lane of its own, so no
    /// answer waits for it.
    UpdateMemory { run: RunId },
}

impl Job for MemoryJob {
    const KINDS: &'static [&'static str] = &["update_memory"];
}
