//! What a run recalled when it began. It is stored once, in a row of its own, and does not change while the run goes on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use nod_contract::model::Turn;

/// What a run recalled when it began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recalled {
    /// The messages of the thread before Nod was mentioned there, fenced, if they were read; then the earlier messages of
    /// the conversation that the person is allowed to read, oldest first; bounded.
    pub(crate) turns: Vec<Turn>,
    /// Whether the first turn is the messages of the thread.
    pub(crate) has_thread_context: bool,
    /// What is known about the people here and what they talked about before, as prompts say it.
    pub remembered: String,
    /// One line for each approval that already waits for this person here.
    pub pending_approvals: Vec<String>,
    /// What the platform reports: the people behind mentions, the channel that the person is viewing.
    pub platform_info: BTreeMap<String, String>,
    /// The number of messages before this run that are in no summary yet.
    pub unsummarised: usize,
}

impl Recalled {
    /// Returns all its turns, in the order of the prompt.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the earlier messages of the conversation.
    #[must_use]
    pub fn history(&self) -> &[Turn] {
        &self.turns[usize::from(self.has_thread_context)..]
    }

    /// Returns the messages of the thread before Nod was mentioned there.
    #[must_use]
    pub fn thread_context(&self) -> Option<&str> {
        match self.turns.first() {
            Some(Turn::Human { text }) if self.has_thread_context => Some(text),
            _ => None,
        }
    }

    /// Adds earlier messages.
    pub fn add_history(&mut self, turns: impl IntoIterator<Item = Turn>) {
        self.turns.extend(turns);
    }

    /// Sets the messages of the thread before Nod was mentioned there, once.
    pub fn set_thread_context(&mut self, fenced: String) {
        self.turns.insert(0, Turn::Human { text: fenced });
        self.has_thread_context = true;
    }
}
