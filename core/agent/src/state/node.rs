//! The places of the graph.

use serde::{Deserialize, Serialize};

/// A place in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Brings what was said before into view.
    Recall,
    /// Finds the intent: rules, then the router model.
    Route,
    /// One model call, no tools.
    Converse,
    /// The reasoner, with the offered tools.
    Think,
    /// May each call run, must it ask, is it refused?
    Gate,
    /// Runs the reading calls.
    Act,
    /// Says the answer to whom it is for.
    Reply,
    /// Keeps what is worth keeping.
    Remember,
}

impl Node {
    /// Every node, in the order of the picture.
    pub const ALL: [Self; 8] = [
        Self::Recall,
        Self::Route,
        Self::Converse,
        Self::Think,
        Self::Gate,
        Self::Act,
        Self::Reply,
        Self::Remember,
    ];

    /// The name in rows and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Route => "route",
            Self::Converse => "converse",
            Self::Think => "think",
            Self::Gate => "gate",
            Self::Act => "act",
            Self::Reply => "reply",
            Self::Remember => "remember",
        }
    }

    /// Where each node may lead; the runner refuses anything else, and the picture in the docs is drawn
    /// from it.
    #[must_use]
    pub fn successors(self) -> &'static [Self] {
        match self {
            Self::Recall => &[Self::Route],
            Self::Route => &[Self::Converse, Self::Think, Self::Gate, Self::Reply],
            Self::Converse => &[Self::Reply, Self::Think],
            Self::Think => &[Self::Gate, Self::Reply],
            Self::Gate => &[Self::Act, Self::Think, Self::Gate, Self::Reply],
            Self::Act => &[Self::Gate, Self::Think, Self::Reply],
            Self::Reply => &[Self::Remember],
            Self::Remember => &[],
        }
    }
}
