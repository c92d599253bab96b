//! The jobs of a turn's record.

use serde::{Deserialize, Serialize};

use nod_contract::ids::RunId;
use nod_store::jobs::Job;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RecordJob {
    /// Take what a run read of others' talk out of its record.
    Forget { run: RunId },
}

impl Job for RecordJob {
    const KINDS: &'static [&'static str] = &["forget"];
}
