//! Drafts that stay open: one row per draft, with its owner, the conversation where it can be changed or sent, and its
//! last known state. The provider's text is the truth, so manual edits there count.

pub mod card;
mod close;
pub mod sql;

use serde::{Deserialize, Serialize};

pub use close::{DiscardResult, close, close_after_effect, discard};

use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::draft::{CloseReason, Draft};

/// A draft that is open for a run's person where the run takes place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenDraft {
    /// Its last known state.
    pub draft: Draft,
    /// Who may read it.
    pub audience: Audience,
    /// Whether it contains text from outside.
    pub provenance: Provenance,
    /// Whether the model has its text in view.
    #[serde(alias = "seen")]
    pub is_text_in_view: bool,
    /// Whether the last exchange here was about it.
    #[serde(alias = "latest")]
    pub is_most_recent: bool,
    /// Whether Nod made it in this conversation; otherwise it is the person's own work.
    #[serde(default)]
    #[serde(alias = "made")]
    pub made_by_nod: bool,
}

/// The drafts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drafts {
    /// The open ones, the newest first.
    pub open: Vec<OpenDraft>,
    /// The one whose button was clicked.
    pub chosen: Option<String>,
    /// Changes since the last commit that are yet to be stored.
    pub changes: Vec<DraftChange>,
}

/// A change to a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftChange {
    /// It was made or changed.
    #[serde(alias = "written")]
    Updated(String),
    /// It is no longer open.
    Closed(String, CloseReason),
}

/// What became of an edit on the card of a request that did not send the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptEdit {
    /// The draft has it.
    InDraft,
    /// The draft was changed at the provider meanwhile; that text stays.
    DraftChanged,
    /// The draft is gone.
    DraftGone,
    /// The draft does not have it.
    Failed,
}

impl Drafts {
    /// Returns the open draft with that id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&OpenDraft> {
        self.open.iter().find(|open| open.draft.id == id)
    }

    /// Sets the current state of a draft, in view of the model; it becomes the newest.
    pub fn upsert(&mut self, draft: Draft, audience: Audience, provenance: Provenance, made: bool) {
        self.open.retain(|open| open.draft.id != draft.id);
        self.open.insert(
            0,
            OpenDraft {
                draft,
                audience,
                provenance,
                is_text_in_view: true,
                is_most_recent: true,
                made_by_nod: made,
            },
        );
    }

    /// Removes a draft from the open ones and records the change.
    pub fn record_closed(&mut self, id: &str, how: CloseReason) {
        self.open.retain(|open| open.draft.id != id);
        self.changes.push(DraftChange::Closed(id.to_owned(), how));
    }
}
