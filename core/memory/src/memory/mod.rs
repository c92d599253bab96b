//! What Nod remembers: of a thread its last messages and a summary of the rest, of a channel its goal and the facts
//! that people stated, of a person what they told Nod in a DM.
//!
//! No answer waits for it: a job of its own reads the messages after the reply. A channel's facts are used in that
//! channel; a person's facts from a DM, in that DM. Messages that only one person can read are never summarised in a
//! shared place and never become a fact there; untrusted content never becomes a fact. Messages themselves stay:
//! forgetting deletes facts and summaries, and the audit records that it happened.

mod batch;
mod card;
mod command;
mod extraction;
mod fact_lines;
mod forget;
mod job;
mod prompt;
pub mod prompt_context;
mod sql;
pub mod tokens;

pub use command::{choices, handle_click, handle_command};
pub use job::update_memory;
pub use sql::{MAX_FACTS, MemoryRows};

use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{FactId, MessageId, PersonId};

/// The summary of an earlier part of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationSummary {
    /// Empty if there is none.
    pub text: String,
    /// Messages up to this seq are no longer in prompts verbatim.
    pub covered_seq: i64,
    /// Messages up to this seq have been read for facts.
    pub read_seq: i64,
    pub only_for: Option<PersonId>,
    pub untrusted_sources: Vec<String>,
}

/// A fact or a goal that is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub id: FactId,
    /// The channel, or the person who told Nod in a DM.
    pub owner: Uuid,
    /// The person whom it is about; `None` if it is about the channel.
    pub person: Option<PersonId>,
    pub kind: FactKind,
    pub name: String,
    pub value: String,
    /// The message that it comes from.
    pub message: MessageId,
    pub untrusted_sources: Vec<String>,
}

/// The kind of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    /// The current goal; one at a time.
    Goal,
    /// Any other fact, identified by its name.
    Fact,
}

impl FactKind {
    /// Returns the name stored in rows.
    fn as_str(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Fact => "fact",
        }
    }

    fn from_name(name: &str) -> Self {
        if name == "goal" { Self::Goal } else { Self::Fact }
    }
}

impl Fact {
    /// "Launch day: Friday"
    fn line(&self) -> String {
        format!("{}: {}", self.name, self.value)
    }
}

/// A fact with its source, as shown to people.
#[derive(Debug, Clone)]
pub(crate) struct FactWithSource {
    pub fact: Fact,
    /// The name of the person who said it.
    pub speaker: String,
    pub at: Timestamp,
    /// The platform's channel, thread and message; the message is `None` if there was none.
    pub platform: String,
    pub channel: String,
    pub is_dm: bool,
    pub thread: Option<String>,
    pub message_ref: Option<String>,
}

/// Whether a person asks Nod to remember something.
pub fn is_remember_request(said: &str) -> bool {
    starts_with_any(
        said,
        &["remember", "note", "note down", "keep in mind", "don't forget", "do not forget", "for the record"],
    )
}

/// Whether a person corrects what was said, or says how it is from now on. "No, thanks" says nothing that lasts.
pub fn is_correction(said: &str) -> bool {
    const FEWEST_WORDS: usize = 3;
    let said = said.trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = said.get(..2).filter(|start| start.eq_ignore_ascii_case("no")).map(|_| &said[2..]);
    let corrects = rest.and_then(|rest| rest.strip_prefix([',', ':', '.', ';']));
    corrects.is_some_and(|rest| rest.split_whitespace().count() >= FEWEST_WORDS)
        || starts_with_any(said, &["from now on", "from today on"])
}

/// Whether a person asks Nod to forget something.
pub fn is_forget_request(said: &str) -> bool {
    starts_with_any(said, &["forget"])
}

/// Whether a sentence begins with one of `starts`, after words of politeness.
fn starts_with_any(said: &str, starts: &[&str]) -> bool {
    const POLITE: [&str; 8] = ["please", "and", "nod", "can you", "could you", "hey", "also", "ok"];
    let said = said.to_lowercase().replace('’', "'");
    said.split(['.', '!', '?', '\n', ';']).any(|sentence| {
        let mut rest = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
        while let Some(after) = POLITE.iter().find_map(|word| strip_word(rest, word)) {
            rest = after;
        }
        starts.iter().any(|start| strip_word(rest, start).is_some())
    })
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '\'');
    ends.then(|| rest.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_recognised() {
        for (said, is) in [
            ("no, the launch is on Monday", true),
            ("No: it is the other Bo", true),
            ("From now on, answer in German", true),
            ("Thanks. And from now on write to Kim first", true),
            ("no, thanks", false),
            ("no", false),
            ("no more than three of them, please", false),
            ("nothing, it is on Monday", false),
            ("is it from now on?", false),
            ("não, é na segunda", false),
        ] {
            assert_eq!(is_correction(said), is, "{said}");
        }
    }

    #[test]
    fn memory_requests_are_recognised() {
        for (said, remember, forget) in [
            ("remember that the launch is on Friday", true, false),
            ("Please remember: the launch is on Friday", true, false),
            ("Thanks! And don’t forget the cake", true, false),
            ("note that Bo is away", true, false),
            ("<@U1> remember that", false, false),
            ("do you remember the launch?", false, false),
            ("notes from yesterday", false, false),
            ("forget that", false, true),
            ("ok, please forget what I said about the launch", false, true),
            ("I forget where it was", false, false),
            ("forgetting is easy", false, false),
        ] {
            assert_eq!((is_remember_request(said), is_forget_request(said)), (remember, forget), "{said}");
        }
    }
}
