//! What Nod remembers: of a thread its last words and a summary of the rest, of a channel its goal and what people said
//! that is worth keeping, of a person what they said to Nod alone.
//!
//! Nothing here is in the way of an answer: a job of its own reads what was said, after the reply. What one channel
//! knows is used in that channel; what a person said directly, in their direct line. Words that were for one person
//! alone are never summarised where others read, and never become a fact there; outside text never becomes a fact.
//! Messages themselves stay: forgetting takes facts and summaries away, and the audit keeps that it happened.

mod answer;
mod batch;
mod card;
mod command;
mod flat;
mod forget;
mod job;
mod prompt;
mod sql;
pub mod tokens;
pub mod view;

pub use command::{choices, command, press};
pub use job::remember;
pub use sql::recalled;

use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{FactId, MessageId, PersonId};

/// What an earlier part of a conversation was about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Empty where there is none.
    pub text: String,
    /// Messages up to this one no longer stand in prompts word for word.
    pub covered: i64,
    /// Messages up to this one have been read for facts.
    pub read: i64,
    pub only_for: Option<PersonId>,
    pub outside: Vec<String>,
}

/// Something to keep in mind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub id: FactId,
    /// The channel, or the person who said it to Nod alone.
    pub owner: Uuid,
    /// Whom it is about; none where it is about what the channel does.
    pub person: Option<PersonId>,
    pub kind: Kind,
    pub name: String,
    pub value: String,
    /// The message that says it.
    pub message: MessageId,
    pub outside: Vec<String>,
}

/// What kind of thing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What is aimed at; one at a time.
    Goal,
    /// Anything else, by its name.
    Fact,
}

impl Kind {
    /// The name in rows.
    fn as_str(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Fact => "fact",
        }
    }

    fn named(name: &str) -> Self {
        if name == "goal" { Self::Goal } else { Self::Fact }
    }
}

impl Fact {
    /// "Launch day: Friday"
    fn line(&self) -> String {
        format!("{}: {}", self.name, self.value)
    }
}

/// A fact with where it came from, as people are shown it.
#[derive(Debug, Clone)]
pub(crate) struct Sourced {
    pub fact: Fact,
    /// Who said it, as they are called.
    pub speaker: String,
    pub at: Timestamp,
    /// Where: the platform's channel, thread and message, as far as it was a message.
    pub platform: String,
    pub channel: String,
    pub direct: bool,
    pub thread: Option<String>,
    pub message_ref: Option<String>,
}

/// Whether a person asks for something to be remembered.
pub fn asks_to_remember(said: &str) -> bool {
    begins(
        said,
        &["remember", "note", "note down", "keep in mind", "don't forget", "do not forget", "for the record"],
    )
}

/// Whether a person asks for something to be forgotten.
pub fn asks_to_forget(said: &str) -> bool {
    begins(said, &["forget"])
}

/// Whether one of the sentences begins with one of these, after words of politeness.
fn begins(said: &str, starts: &[&str]) -> bool {
    const POLITE: [&str; 8] = ["please", "and", "nod", "can you", "could you", "hey", "also", "ok"];
    let said = said.to_lowercase().replace('’', "'");
    said.split(['.', '!', '?', '\n', ';']).any(|sentence| {
        let mut rest = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
        while let Some(after) = POLITE.iter().find_map(|word| after_word(rest, word)) {
            rest = after;
        }
        starts.iter().any(|start| after_word(rest, start).is_some())
    })
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '\'');
    ends.then(|| rest.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_about_memory_are_heard() {
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
            assert_eq!((asks_to_remember(said), asks_to_forget(said)), (remember, forget), "{said}");
        }
    }
}
