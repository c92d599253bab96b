//! Drafts that stay open: a row per draft, which says whose it is, in which conversation it can be changed or
//! sent, and how it was seen last. The text is the provider's: what somebody writes there by hand counts.

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
    /// As it was seen last.
    pub draft: Draft,
    /// Who may read it.
    pub audience: Audience,
    /// Whether outside text is in it.
    pub provenance: Provenance,
    /// Whether the model has its text in view.
    pub seen: bool,
    /// Whether the last exchange here was about it.
    pub latest: bool,
    /// Whether Nod made it, in this conversation; else it is the person's own work.
    #[serde(default)]
    pub made: bool,
}

/// The drafts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drafts {
    /// Those that are open, the newest first.
    pub open: Vec<OpenDraft>,
    /// The one whose button was pressed.
    pub chosen: Option<String>,
    /// What became of some of them since the last commit: to be written down.
    pub changes: Vec<Change>,
}

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was made or changed.
    Written(String),
    /// It is open no more.
    Closed(String, CloseReason),
}

impl Drafts {
    /// The open draft of that id.
    #[must_use]
    pub fn named(&self, id: &str) -> Option<&OpenDraft> {
        self.open.iter().find(|open| open.draft.id == id)
    }

    /// As it is now, in view of the model; it becomes the newest.
    pub fn put(&mut self, draft: Draft, audience: Audience, provenance: Provenance, made: bool) {
        self.open.retain(|open| open.draft.id != draft.id);
        self.open.insert(0, OpenDraft { draft, audience, provenance, seen: true, latest: true, made });
    }

    /// It is open no more.
    pub fn close(&mut self, id: &str, how: CloseReason) {
        self.open.retain(|open| open.draft.id != id);
        self.changes.push(Change::Closed(id.to_owned(), how));
    }
}
