//! The job of memory.

use serde::{Deserialize, Serialize};

use nod_contract::ids::RunId;
use nod_store::jobs::Job;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum MemoryJob {
    /// Read what was said in the conversation of a run, for its summary and for facts; in a lane of its own, so that no
    /// answer waits for it.
    Remember { run: RunId },
}

impl Job for MemoryJob {
    const KINDS: &'static [&'static str] = &["remember"];
}
