//! Decides what is stored of the summariser's answer: a model proposes, and these rules decide. Pure.

use serde::Deserialize;
use uuid::Uuid;

use super::batch::{Batch, Heard, Wish};
use super::prompt::MOST_FACTS;
use super::{Fact, Kind, tokens};
use nod_contract::ids::{MessageId, PersonId};

/// The longest summary, in tokens.
const LONGEST_SUMMARY: usize = 600;
/// The longest name, and the longest value or goal, in characters.
const LONGEST_NAME: usize = 60;
const LONGEST_VALUE: usize = 300;

/// The answer as the model writes it.
#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    goal: Option<Aim>,
    #[serde(default)]
    facts: Vec<Told>,
    #[serde(default)]
    forget: Vec<usize>,
}

#[derive(Debug, Deserialize)]
struct Aim {
    text: String,
    message: usize,
}

#[derive(Debug, Deserialize)]
struct Told {
    name: String,
    value: String,
    #[serde(default)]
    about: String,
    message: usize,
}

/// What is stored of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The complete new summary; `None` if nothing was folded.
    pub(super) summary: Option<String>,
    pub(super) facts: Vec<New>,
    /// Whether the stored goal is reached or given up.
    pub(super) goal_over: bool,
    /// The known facts to forget, by index.
    pub(super) forget: Vec<usize>,
}

/// A fact or goal to store.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct New {
    pub(super) person: Option<PersonId>,
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) message: MessageId,
    pub(super) outside: Vec<String>,
}

/// The owner of the facts from a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A channel.
    Channel(Uuid),
    /// A person who talks to Nod in a DM.
    Person(PersonId),
}

impl Owner {
    /// Returns the key in rows.
    pub(super) fn id(self) -> Uuid {
        match self {
            Self::Channel(id) => id,
            Self::Person(id) => id.0,
        }
    }
}

/// Parses the answer; returns `None` if it is not valid.
pub(super) fn taken(answer: &str, batch: &Batch, noted: &[Fact], owner: Owner) -> Option<Taken> {
    let bare = answer.trim().trim_start_matches("```json").trim_matches('`').trim();
    let written: Written = serde_json::from_str(bare).ok()?;
    let summary = line_less(&written.summary);
    if batch.fold > 0 && summary.is_empty() {
        return None;
    }
    let goal = written.goal.and_then(|aim| {
        let source = batch.source(aim.message)?;
        Some((one_line(&aim.text, LONGEST_VALUE), source))
    });
    let mut facts: Vec<New> = Vec::new();
    for told in written.facts.iter().take(MOST_FACTS) {
        facts.extend(fact(told, batch, owner).filter(|new| !noted.iter().any(|old| same(old, new))));
    }
    let goal_over = goal.as_ref().is_some_and(|(text, _)| text.is_empty());
    if let Some((text, source)) =
        goal.filter(|(text, source)| !text.is_empty() && grounded(text, source, batch))
    {
        let person = owner_person(owner);
        facts.push(new(Kind::Goal, "Goal".to_owned(), text, person, source));
    }
    let forget = match batch.wish() {
        Some(Wish::Forget(by)) => may_forget(&written.forget, noted, by),
        _ => Vec::new(),
    };
    Some(Taken {
        summary: (batch.fold > 0).then(|| tokens::head(&summary, LONGEST_SUMMARY).to_owned()),
        facts,
        goal_over,
        forget,
    })
}

/// Returns the facts that `by` can remove: no user can remove what another person said about themselves.
fn may_forget(numbers: &[usize], noted: &[Fact], by: PersonId) -> Vec<usize> {
    let mut places: Vec<usize> = numbers.iter().filter_map(|number| number.checked_sub(1)).collect();
    places.retain(|at| {
        noted.get(*at).is_some_and(|fact| fact.kind == Kind::Fact && fact.person.is_none_or(|p| p == by))
    });
    places.sort_unstable();
    places.dedup();
    places
}

fn owner_person(owner: Owner) -> Option<PersonId> {
    match owner {
        Owner::Channel(_) => None,
        Owner::Person(person) => Some(person),
    }
}

fn fact(told: &Told, batch: &Batch, owner: Owner) -> Option<New> {
    let source = batch.source(told.message)?;
    let name = one_line(told.name.trim_start_matches(['-', '*', ' ']).trim_end_matches(':'), LONGEST_NAME);
    let value = one_line(&told.value, LONGEST_VALUE);
    let named = name.starts_with(char::is_alphanumeric) && !name.contains(':');
    if !named || value.is_empty() || !grounded(&format!("{name} {value}"), source, batch) {
        return None;
    }
    let person = match owner {
        Owner::Channel(_) => source.person.filter(|_| told.about == "speaker"),
        Owner::Person(person) => Some(person),
    };
    Some(new(Kind::Fact, name, value, person, source))
}

fn new(kind: Kind, name: String, value: String, person: Option<PersonId>, source: &Heard) -> New {
    New { person, kind, name, value, message: source.id, outside: source.outside.clone() }
}

/// Whether the source message supports a fact. If untrusted content is in view, it must contain every word: an email
/// with "remember that …" must not become a fact.
fn grounded(claim: &str, source: &Heard, batch: &Batch) -> bool {
    if !batch.has_outside() {
        return true;
    }
    let words = |text: &str| -> Vec<String> {
        let lower = text.to_lowercase();
        lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let said = words(&source.text);
    let claimed = words(claim);
    !claimed.is_empty() && claimed.iter().all(|word| said.contains(word))
}

/// Whether this value is stored already.
fn same(old: &Fact, new: &New) -> bool {
    old.kind == new.kind
        && old.person == new.person
        && old.name.to_lowercase() == new.name.to_lowercase()
        && old.value.to_lowercase() == new.value.to_lowercase()
}

/// Returns the text in one line: it is one line of a prompt and must not create another.
fn one_line(text: &str, longest: usize) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(longest).collect()
}

/// Returns a summary without control characters; it can have several paragraphs.
fn line_less(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect::<String>().trim().to_owned()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
