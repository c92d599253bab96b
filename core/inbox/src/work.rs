//! The job of catching up.

use serde::{Deserialize, Serialize};

use nod_contract::clock::Timestamp;
use nod_store::jobs::Job;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum CatchUpJob {
    /// Look up what was said in a workspace since then, while nothing of it arrived. `left` are the channels that are
    /// still to be read, once they are known; the last of them is read `from` where it was left.
    CatchUp {
        platform: String,
        workspace: String,
        since: Timestamp,
        left: Option<Vec<String>>,
        from: Option<String>,
    },
}

impl Job for CatchUpJob {
    const KINDS: &'static [&'static str] = &["catch_up"];
}
