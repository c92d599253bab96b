//! The jobs of this crate: catching up and tidying up.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use nod_contract::clock::Timestamp;
use nod_store::jobs::Job;

/// The job's payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum CatchUpJob {
    /// Looks up the messages of a workspace that were missed from `since` on. The channels that are still to be read are
    /// rows, once they are listed.
    CatchUp {
        platform: String,
        workspace: String,
        since: Timestamp,
        /// Jobs of before list their channels again.
        #[serde(default)]
        listed: bool,
    },
}

impl Job for CatchUpJob {
    const KINDS: &'static [&'static str] = &["catch_up"];
}

/// A table that is tidied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Table {
    Inbound,
    StepRecords,
    OldRunSteps,
    RecalledContexts,
    DeadJobs,
    RateLimits,
}

/// Where a batch begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) table: Table,
    /// The table's key; null at its beginning.
    pub(crate) from: Value,
}

impl Position {
    pub(crate) fn begin(table: Table) -> Self {
        Self { table, from: Value::Null }
    }
}

/// The payload of the job that tidies up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum TidyJob {
    /// Deletes rows that are older than they are kept, from there on.
    Tidy { position: Position },
}

impl Job for TidyJob {
    const KINDS: &'static [&'static str] = &["tidy"];
}
