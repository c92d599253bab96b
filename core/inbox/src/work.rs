//! The catch-up job.

use serde::{Deserialize, Serialize};

use nod_contract::clock::Timestamp;
use nod_store::jobs::Job;

/// The job's payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum CatchUpJob {
    /// Looks up the messages of a workspace that were missed from `since` on. `left` are the channels still to be read,
    /// once they are known; the last of them is read on from the cursor `from`.
    CatchUp {
        platform: String,
        workspace: String,
        since: Timestamp,
        #[serde(alias = "left")]
        channels_left: Option<Vec<String>>,
        #[serde(alias = "from")]
        cursor: Option<String>,
    },
}

impl Job for CatchUpJob {
    const KINDS: &'static [&'static str] = &["catch_up"];
}
