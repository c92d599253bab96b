//! Selects the messages that the summariser reads: which are folded into the summary, and which are new to it. Pure.

use super::prompt_context::SUMMARISE_FROM;
use super::{ConversationSummary, is_correction, is_forget_request, is_remember_request};
use nod_contract::ids::{MessageId, PersonId};

/// The number of newest messages that stay in prompts verbatim.
pub(super) const VERBATIM_MESSAGES: usize = 4;

/// A message as the summariser reads it.
#[derive(Debug, Clone)]
pub(super) struct BatchMessage {
    pub(super) id: MessageId,
    pub(super) seq: i64,
    /// The author; `None` for Nod's own messages.
    pub(super) person: Option<PersonId>,
    pub(super) speaker: String,
    pub(super) text: String,
    pub(super) only_for: Option<PersonId>,
    pub(super) untrusted_sources: Vec<String>,
}

/// The input of one summariser call; messages are numbered from 1 in the order of their seq.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) messages: Vec<BatchMessage>,
    /// The number of first messages that are folded into the summary.
    pub(super) to_summarise: usize,
    /// The number of first messages that were read for facts before.
    pub(super) old: usize,
    /// Whether the current summary contains untrusted content.
    pub(super) is_summary_untrusted: bool,
}

impl Batch {
    /// Creates a batch of the messages after those that the summary covers, oldest first; `None` if it has no work.
    pub(super) fn from_messages(heard: Vec<BatchMessage>, summary: &ConversationSummary) -> Option<Self> {
        let fold = match heard.len() {
            many if many >= SUMMARISE_FROM => many - VERBATIM_MESSAGES,
            _ => 0,
        };
        let old = heard.iter().take_while(|heard| heard.seq <= summary.read_seq).count();
        let batch = Self {
            messages: heard,
            to_summarise: fold,
            old,
            is_summary_untrusted: !summary.untrusted_sources.is_empty(),
        };
        (fold > 0 || batch.memory_request().is_some()).then_some(batch)
    }

    /// Returns the message with that number, if it can be a source of facts: new, and written by a person.
    pub(super) fn source(&self, number: usize) -> Option<&BatchMessage> {
        let at = number.checked_sub(1).filter(|at| *at >= self.old)?;
        self.messages.get(at).filter(|heard| heard.person.is_some())
    }

    /// Returns what people wrote since the last reading.
    fn new_messages(&self) -> impl Iterator<Item = &BatchMessage> {
        self.messages.iter().skip(self.old).filter(|heard| heard.person.is_some())
    }

    /// Returns a request to forget or to remember in the new messages, or a correction; the first takes precedence.
    pub(super) fn memory_request(&self) -> Option<MemoryRequest> {
        let forget = self.new_messages().filter(|heard| is_forget_request(&heard.text)).last();
        let remember = self.new_messages().filter(|heard| is_remember_request(&heard.text)).last();
        let corrects = || self.new_messages().any(|heard| is_correction(&heard.text));
        match (forget.and_then(|heard| heard.person), remember) {
            (Some(by), _) => Some(MemoryRequest::Forget(by)),
            (None, Some(_)) => Some(MemoryRequest::Remember),
            (None, None) => corrects().then_some(MemoryRequest::Correct),
        }
    }

    /// Whether untrusted content is among the messages or in the summary.
    pub(super) fn has_untrusted_content(&self) -> bool {
        self.is_summary_untrusted || self.messages.iter().any(|heard| !heard.untrusted_sources.is_empty())
    }

    /// Returns the last message's seq.
    pub(super) fn last_seq(&self) -> i64 {
        self.messages.last().map_or(0, |heard| heard.seq)
    }

    /// Returns the messages that go into the summary.
    pub(super) fn messages_to_summarise(&self) -> &[BatchMessage] {
        self.messages.get(..self.to_summarise).unwrap_or_default()
    }
}

/// A memory request in a person's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryRequest {
    Remember,
    /// Whoever corrects does not ask for it to be kept, and is not told if nothing was.
    Correct,
    Forget(PersonId),
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn messages(texts: &[&str]) -> Vec<BatchMessage> {
        let one = |(at, text): (usize, &&str)| BatchMessage {
            id: MessageId(Uuid::from_u128(at as u128)),
            seq: i64::try_from(at).unwrap_or_default() + 11,
            person: (at % 2 == 0).then_some(PersonId(Uuid::from_u128(5))),
            speaker: if at % 2 == 0 { "Ana" } else { "Nod" }.to_owned(),
            text: (*text).to_owned(),
            only_for: None,
            untrusted_sources: Vec::new(),
        };
        texts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn from_eight_messages_all_but_the_last_four_are_summarised() {
        let summary = ConversationSummary { covered_seq: 10, read_seq: 10, ..ConversationSummary::default() };
        assert!(Batch::from_messages(messages(&["hi"; 7]), &summary).is_none());
        let batch =
            Batch::from_messages(messages(&["hi"; 8]), &summary).unwrap_or_else(|| panic!("nothing to do"));
        assert_eq!((batch.to_summarise, batch.old, batch.last_seq()), (4, 0, 18));
        assert_eq!(
            Batch::from_messages(messages(&["hi"; 11]), &summary).map(|batch| batch.to_summarise),
            Some(7)
        );
    }

    #[test]
    fn memory_request_triggers_one_reading() {
        let summary = ConversationSummary { covered_seq: 10, read_seq: 10, ..ConversationSummary::default() };
        let said = ["remember that lunch is at one", "Noted."];
        let batch =
            Batch::from_messages(messages(&said), &summary).unwrap_or_else(|| panic!("nothing to do"));
        assert_eq!((batch.to_summarise, batch.memory_request()), (0, Some(MemoryRequest::Remember)));
        assert!(batch.source(1).is_some() && batch.source(2).is_none() && batch.source(3).is_none());
        let read = ConversationSummary { read_seq: 12, ..summary };
        assert!(Batch::from_messages(messages(&said), &read).is_none());
        let eight = Batch::from_messages(messages(&["remember that lunch is at one"; 8]), &read)
            .unwrap_or_else(|| panic!());
        assert!(eight.source(1).is_none() && eight.source(3).is_some(), "what was read gives no fact again");
    }
}
