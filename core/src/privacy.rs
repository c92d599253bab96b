//! Who may read a piece of content, and where it came from. Both travel with it from the tool to the
//! prompt, the memory and the reply.

use serde::{Deserialize, Serialize};

use crate::ids::PersonId;

/// Who may read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "person", rename_all = "snake_case")]
pub enum Audience {
    /// One person alone: what comes from their mailbox or calendar.
    Person(PersonId),
    /// Everybody in the channel where it was said.
    Channel,
}

impl Audience {
    /// The audience of two contents put together: the narrower one.
    ///
    /// Content of two different persons never meets, since a run belongs to one person; should it
    /// happen, the first keeps it.
    #[must_use]
    pub fn narrow(self, other: Self) -> Self {
        match (self, other) {
            (Self::Person(person), _) | (Self::Channel, Self::Person(person)) => Self::Person(person),
            (Self::Channel, Self::Channel) => Self::Channel,
        }
    }
}

/// Where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "sources", rename_all = "snake_case")]
pub enum Provenance {
    /// Said by the person or made by Nod.
    Ours,
    /// Written by somebody outside: mail, documents, the web. It may try to give orders.
    Outside(Vec<String>),
}

impl Provenance {
    /// Outside from one named source.
    #[must_use]
    pub fn outside(source: impl Into<String>) -> Self {
        Self::Outside(vec![source.into()])
    }

    /// The provenance of two contents put together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ours, any) | (any, Self::Ours) => any,
            (Self::Outside(mut all), Self::Outside(more)) => {
                for source in more {
                    if !all.contains(&source) {
                        all.push(source);
                    }
                }
                Self::Outside(all)
            }
        }
    }

    /// Whether outside text is in it.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Outside(_))
    }
}
