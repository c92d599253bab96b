//! Selects the messages that the summariser reads: which are folded into the summary, and which are new to it. Pure.

use super::view::SUMMARISE_FROM;
use super::{Summary, asks_to_forget, asks_to_remember};
use nod_contract::ids::{MessageId, PersonId};

/// The number of newest messages that stay in prompts verbatim.
pub(super) const VERBATIM: usize = 4;

/// A message as the summariser reads it.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) id: MessageId,
    pub(super) seq: i64,
    /// The author; `None` for Nod's own messages.
    pub(super) person: Option<PersonId>,
    pub(super) speaker: String,
    pub(super) text: String,
    pub(super) only_for: Option<PersonId>,
    pub(super) outside: Vec<String>,
}

/// The input of one summariser call; messages are numbered from 1 in the order of their seq.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) heard: Vec<Heard>,
    /// The number of first messages that are folded into the summary.
    pub(super) fold: usize,
    /// The number of first messages that were read for facts before.
    pub(super) old: usize,
    /// Whether the current summary contains untrusted content.
    pub(super) outside: bool,
}

impl Batch {
    /// Creates a batch of the messages after those that the summary covers, oldest first; `None` if it has no work.
    pub(super) fn of(heard: Vec<Heard>, summary: &Summary) -> Option<Self> {
        let fold = match heard.len() {
            many if many >= SUMMARISE_FROM => many - VERBATIM,
            _ => 0,
        };
        let old = heard.iter().take_while(|heard| heard.seq <= summary.read).count();
        let batch = Self { heard, fold, old, outside: !summary.outside.is_empty() };
        (fold > 0 || batch.wish().is_some()).then_some(batch)
    }

    /// Returns the message with that number, if it can be a source of facts: new, and written by a person.
    pub(super) fn source(&self, number: usize) -> Option<&Heard> {
        let at = number.checked_sub(1).filter(|at| *at >= self.old)?;
        self.heard.get(at).filter(|heard| heard.person.is_some())
    }

    /// Returns what people wrote since the last reading.
    fn fresh(&self) -> impl Iterator<Item = &Heard> {
        self.heard.iter().skip(self.old).filter(|heard| heard.person.is_some())
    }

    /// Returns a request to forget or to remember in the new messages; forgetting takes precedence.
    pub(super) fn wish(&self) -> Option<Wish> {
        let forget = self.fresh().filter(|heard| asks_to_forget(&heard.text)).last();
        let remember = self.fresh().filter(|heard| asks_to_remember(&heard.text)).last();
        match (forget.and_then(|heard| heard.person), remember) {
            (Some(by), _) => Some(Wish::Forget(by)),
            (None, Some(_)) => Some(Wish::Remember),
            (None, None) => None,
        }
    }

    /// Whether untrusted content is among the messages or in the summary.
    pub(super) fn has_outside(&self) -> bool {
        self.outside || self.heard.iter().any(|heard| !heard.outside.is_empty())
    }

    /// Returns the last message's seq.
    pub(super) fn last(&self) -> i64 {
        self.heard.last().map_or(0, |heard| heard.seq)
    }

    /// Returns the messages that go into the summary.
    pub(super) fn folded(&self) -> &[Heard] {
        self.heard.get(..self.fold).unwrap_or_default()
    }
}

/// A memory request in a person's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Remember,
    Forget(PersonId),
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn talk(texts: &[&str]) -> Vec<Heard> {
        let one = |(at, text): (usize, &&str)| Heard {
            id: MessageId(Uuid::from_u128(at as u128)),
            seq: i64::try_from(at).unwrap_or_default() + 11,
            person: (at % 2 == 0).then_some(PersonId(Uuid::from_u128(5))),
            speaker: if at % 2 == 0 { "Ana" } else { "Nod" }.to_owned(),
            text: (*text).to_owned(),
            only_for: None,
            outside: Vec::new(),
        };
        texts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn from_eight_messages_on_all_but_the_last_four_are_folded() {
        let summary = Summary { covered: 10, read: 10, ..Summary::default() };
        assert!(Batch::of(talk(&["hi"; 7]), &summary).is_none());
        let batch = Batch::of(talk(&["hi"; 8]), &summary).unwrap_or_else(|| panic!("nothing to do"));
        assert_eq!((batch.fold, batch.old, batch.last()), (4, 0, 18));
        assert_eq!(Batch::of(talk(&["hi"; 11]), &summary).map(|batch| batch.fold), Some(7));
    }

    #[test]
    fn a_wish_is_read_at_once_and_only_once() {
        let summary = Summary { covered: 10, read: 10, ..Summary::default() };
        let said = ["remember that lunch is at one", "Noted."];
        let batch = Batch::of(talk(&said), &summary).unwrap_or_else(|| panic!("nothing to do"));
        assert_eq!((batch.fold, batch.wish()), (0, Some(Wish::Remember)));
        assert!(batch.source(1).is_some() && batch.source(2).is_none() && batch.source(3).is_none());
        let read = Summary { read: 12, ..summary };
        assert!(Batch::of(talk(&said), &read).is_none());
        let eight = Batch::of(talk(&["remember that lunch is at one"; 8]), &read).unwrap_or_else(|| panic!());
        assert!(eight.source(1).is_none() && eight.source(3).is_some(), "what was read gives no fact again");
    }
}
