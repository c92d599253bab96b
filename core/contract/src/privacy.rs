//! Who may read a piece of content, and where it came from. Both travel with the content from the tool to the prompt,
//! the memory and the reply.

use serde::{Deserialize, Serialize};

use crate::ids::PersonId;
use crate::outside::{SOURCES, Source};

/// Who may read a piece of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "person", rename_all = "snake_case")]
pub enum Audience {
    /// Only one person: content from their mailbox or calendar.
    Person(PersonId),
    /// All members of the channel where it was said.
    Channel,
}

impl Audience {
    /// Returns the audience of two combined contents: the narrower one.
    ///
    /// Content of two different persons is never combined, because a run belongs to one person. If it were, the first
    /// person would remain the audience.
    #[must_use]
    pub fn narrow(self, other: Self) -> Self {
        match (self, other) {
            (Self::Person(person), _) | (Self::Channel, Self::Person(person)) => Self::Person(person),
            (Self::Channel, Self::Channel) => Self::Channel,
        }
    }
}

/// Where a piece of content came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "sources", rename_all = "snake_case")]
pub enum Provenance {
    /// Said by the person or made by Nod.
    #[serde(alias = "ours")]
    Trusted,
    /// Written by an outsider: mail, documents, the web. It might contain instructions. The source whose text came
    /// last is the last element.
    #[serde(alias = "outside")]
    Untrusted(Vec<Source>),
}

impl Provenance {
    /// Creates untrusted provenance from one named source.
    #[must_use]
    pub fn untrusted(source: impl Into<Source>) -> Self {
        Self::Untrusted(vec![source.into()])
    }

    /// Creates provenance from these sources, in the order in which their texts came; trusted if there are none.
    #[must_use]
    pub fn from_sources<S: Into<Source>>(sources: impl IntoIterator<Item = S>) -> Self {
        let each = sources.into_iter().map(|source| Self::untrusted(source.into()));
        each.fold(Self::Trusted, Self::merge)
    }

    /// Returns the names of the sources, as stored in rows.
    #[must_use]
    pub fn sources(&self) -> Vec<String> {
        match self {
            Self::Trusted => Vec::new(),
            Self::Untrusted(sources) => sources.iter().cloned().map(String::from).collect(),
        }
    }

    /// Returns the provenance of two combined contents, the later one second: a source that occurs again moves to the
    /// end.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Trusted, any) | (any, Self::Trusted) => any,
            (Self::Untrusted(mut all), Self::Untrusted(more)) => {
                all.retain(|source| !more.contains(source));
                all.extend(more);
                let left_out = all.len().saturating_sub(SOURCES);
                all.drain(..left_out);
                Self::Untrusted(all)
            }
        }
    }

    /// Returns whether it contains untrusted text.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_whose_text_came_last_stands_last() {
        let read = Provenance::from_sources(["mail from eve@x.test", "mail from lena@y.test"]);
        let again = read.merge(Provenance::untrusted("mail from eve@x.test"));
        assert_eq!(again.sources(), ["mail from lena@y.test", "mail from eve@x.test"]);
        assert_eq!(Provenance::Trusted.merge(again.clone()), again);
        assert_eq!(Provenance::from_sources::<&str>([]), Provenance::Trusted);
    }

    #[test]
    fn of_very_many_sources_the_newest_are_kept() {
        let many = Provenance::from_sources((0..60).map(|n| format!("mail from {n}@x.test")));
        let kept = many.sources();
        assert_eq!((kept.len(), kept[0].as_str()), (50, "mail from 10@x.test"));
    }
}
