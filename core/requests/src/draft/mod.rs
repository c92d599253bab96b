//! Drafts that stay open: one row per draft, with its owner, the conversation where it can be changed or sent, and its
//! last known state. The provider's text is the truth, so manual edits there count.

pub mod card;
mod settle;
pub mod sql;

use serde::{Deserialize, Serialize};

pub use settle::{Discarded, close, discard, settled};

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
    pub seen: bool,
    /// Whether the last exchange here was about it.
    pub latest: bool,
    /// Whether Nod made it in this conversation; otherwise it is the person's own work.
    #[serde(default)]
    pub made: bool,
}

/// The drafts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drafts {
    /// The open ones, the newest first.
    pub open: Vec<OpenDraft>,
    /// The one whose button was clicked.
    pub chosen: Option<String>,
    /// Changes since the last commit that are yet to be stored.
    pub changes: Vec<Change>,
}

/// A change to a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was made or changed.
    Written(String),
    /// It is no longer open.
    Closed(String, CloseReason),
}

impl Drafts {
    /// Returns the open draft with that id.
    #[must_use]
    pub fn named(&self, id: &str) -> Option<&OpenDraft> {
        self.open.iter().find(|open| open.draft.id == id)
    }

    /// Sets the current state of a draft, in view of the model; it becomes the newest.
    pub fn put(&mut self, draft: Draft, audience: Audience, provenance: Provenance, made: bool) {
        self.open.retain(|open| open.draft.id != draft.id);
        self.open.insert(0, OpenDraft { draft, audience, provenance, seen: true, latest: true, made });
    }

    /// Removes a draft from the open ones and records the change.
    pub fn close(&mut self, id: &str, how: CloseReason) {
        self.open.retain(|open| open.draft.id != id);
        self.changes.push(Change::Closed(id.to_owned(), how));
    }
}
