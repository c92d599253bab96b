//! The nodes of the graph.

use serde::{Deserialize, Serialize};

/// A node of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Brings the history of the conversation into view.
    Recall,
    /// Finds the intent: rules, then the router model.
    Route,
    /// Makes one model call without tools.
    Converse,
    /// The reasoner, with the offered tools.
    Think,
    /// Decides for each call whether it can run, needs an approval or is refused.
    Gate,
    /// Runs the read calls.
    Act,
    /// Holds the answer against what abilities keep for their checks.
    Check,
    /// Sends the answer to its audience.
    Reply,
    /// Requests a memory update if the conversation is worth one.
    Remember,
}

impl Node {
    /// Every node, in the order of the diagram.
    pub const ALL: [Self; 9] = [
        Self::Recall,
        Self::Route,
        Self::Converse,
        Self::Think,
        Self::Gate,
        Self::Act,
        Self::Check,
        Self::Reply,
        Self::Remember,
    ];

    /// Returns the name stored in rows and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Route => "route",
            Self::Converse => "converse",
            Self::Think => "think",
            Self::Gate => "gate",
            Self::Act => "act",
            Self::Check => "check",
            Self::Reply => "reply",
            Self::Remember => "remember",
        }
    }

    /// Returns the nodes that can follow. The runner refuses any other, and the diagram in the docs is drawn from this
    /// list.
    #[must_use]
    pub fn successors(self) -> &'static [Self] {
        match self {
            Self::Recall => &[Self::Route],
            Self::Route => &[Self::Converse, Self::Think, Self::Gate, Self::Reply],
            Self::Converse => &[Self::Reply, Self::Think],
            Self::Think => &[Self::Gate, Self::Check, Self::Reply],
            Self::Gate => &[Self::Act, Self::Think, Self::Gate, Self::Reply],
            Self::Act => &[Self::Gate, Self::Think, Self::Reply],
            Self::Check => &[Self::Think, Self::Reply],
            Self::Reply => &[Self::Remember],
            Self::Remember => &[],
        }
    }
}
