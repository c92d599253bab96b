//! The message of which a task was made.

use serde::{Deserialize, Serialize};

use nod_contract::model::Turn;
use nod_contract::privacy::Provenance;
use nod_contract::text::fence_untrusted;

/// A message that a task is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) text: String,
    pub(crate) provenance: Provenance,
}

impl About {
    /// Returns the message for a model.
    pub(crate) fn to_turn(&self, marker: &str) -> Turn {
        Turn::System { text: fence_untrusted(&self.text, &self.provenance.sources(), marker) }
    }
}
