//! The jobs on a run's record.

use serde::{Deserialize, Serialize};

use nod_contract::ids::RunId;
use nod_store::jobs::Job;

/// A job of this crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RecordJob {
    /// Deletes what a run read of other people's messages from its record.
    PurgeRunHistory { run: RunId },
}

impl Job for RecordJob {
    const KINDS: &'static [&'static str] = &["purge_run_history"];
}
