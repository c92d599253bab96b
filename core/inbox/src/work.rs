//! The catch-up job.

use serde::{Deserialize, Serialize};

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
