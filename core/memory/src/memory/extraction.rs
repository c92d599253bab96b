//! Decides what is stored of the summariser's answer: a model proposes, and these rules decide. Pure.

use serde::Deserialize;
use uuid::Uuid;

use super::batch::{Batch, BatchMessage, MemoryRequest};
use super::prompt::MAX_FACTS;
use super::{Fact, FactKind, tokens};
use nod_contract::ids::{MessageId, PersonId};

/// The longest summary, in tokens.
const MAX_SUMMARY_TOKENS: usize = 600;
/// The longest name, and the longest value or goal, in characters.
const MAX_NAME_CHARS: usize = 60;
const MAX_VALUE_CHARS: usize = 300;

/// The answer as the model writes it.
#[derive(Debug, Deserialize)]
struct SummariserOutput {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    goal: Option<ExtractedGoal>,
    #[serde(default)]
    facts: Vec<ExtractedFact>,
    #[serde(default)]
    forget: Vec<usize>,
}

#[derive(Debug, Deserialize)]
struct ExtractedGoal {
    text: String,
    message: usize,
}

#[derive(Debug, Deserialize)]
struct ExtractedFact {
    name: String,
    value: String,
    #[serde(default)]
    #[serde(rename = "about")]
    subject: String,
    message: usize,
}

/// What is stored of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryUpdate {
    /// The complete new summary; `None` if nothing was folded.
    pub(super) summary: Option<String>,
    pub(super) facts: Vec<NewFact>,
    /// Whether the stored goal is reached or given up.
    pub(super) goal_ended: bool,
    /// The known facts to forget, by index.
    pub(super) forget: Vec<usize>,
}

/// A fact or goal to store.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewFact {
    pub(super) person: Option<PersonId>,
    pub(super) kind: FactKind,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) message: MessageId,
    pub(super) untrusted_sources: Vec<String>,
}

/// The owner of the facts from a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryOwner {
    /// A channel.
    Channel(Uuid),
    /// A person who talks to Nod in a DM.
    Person(PersonId),
}

impl MemoryOwner {
    /// Returns the key in rows.
    pub(super) fn id(self) -> Uuid {
        match self {
            Self::Channel(id) => id,
            Self::Person(id) => id.0,
        }
    }
}

/// Parses the answer; returns `None` if it is not valid.
pub(super) fn validate_output(
    answer: &str,
    batch: &Batch,
    noted: &[Fact],
    owner: MemoryOwner,
) -> Option<MemoryUpdate> {
    let bare = answer.trim().trim_start_matches("```json").trim_matches('`').trim();
    let written: SummariserOutput = serde_json::from_str(bare).ok()?;
    let summary = strip_control_chars(&written.summary);
    if batch.to_summarise > 0 && summary.is_empty() {
        return None;
    }
    let goal = written.goal.and_then(|aim| {
        let source = batch.source(aim.message)?;
        Some((one_line(&aim.text, MAX_VALUE_CHARS), source))
    });
    let mut facts: Vec<NewFact> = Vec::new();
    for told in written.facts.iter().take(MAX_FACTS) {
        facts.extend(fact(told, batch, owner).filter(|new| !noted.iter().any(|old| is_same_fact(old, new))));
    }
    let goal_over = goal.as_ref().is_some_and(|(text, _)| text.is_empty());
    if let Some((text, source)) =
        goal.filter(|(text, source)| !text.is_empty() && is_grounded(text, source, batch))
    {
        let person = owner_person(owner);
        facts.push(new(FactKind::Goal, "Goal".to_owned(), text, person, source));
    }
    let forget = match batch.memory_request() {
        Some(MemoryRequest::Forget(by)) => filter_forgettable(&written.forget, noted, by),
        _ => Vec::new(),
    };
    Some(MemoryUpdate {
        summary: (batch.to_summarise > 0)
            .then(|| tokens::truncate_to_tokens(&summary, MAX_SUMMARY_TOKENS).to_owned()),
        facts,
        goal_ended: goal_over,
        forget,
    })
}

/// Returns the facts that `by` can remove: no user can remove what another person said about themselves.
fn filter_forgettable(numbers: &[usize], noted: &[Fact], by: PersonId) -> Vec<usize> {
    let mut places: Vec<usize> = numbers.iter().filter_map(|number| number.checked_sub(1)).collect();
    places.retain(|at| {
        noted.get(*at).is_some_and(|fact| fact.kind == FactKind::Fact && fact.person.is_none_or(|p| p == by))
    });
    places.sort_unstable();
    places.dedup();
    places
}

fn owner_person(owner: MemoryOwner) -> Option<PersonId> {
    match owner {
        MemoryOwner::Channel(_) => None,
        MemoryOwner::Person(person) => Some(person),
    }
}

fn fact(told: &ExtractedFact, batch: &Batch, owner: MemoryOwner) -> Option<NewFact> {
    let source = batch.source(told.message)?;
    let name = one_line(told.name.trim_start_matches(['-', '*', ' ']).trim_end_matches(':'), MAX_NAME_CHARS);
    let value = one_line(&told.value, MAX_VALUE_CHARS);
    let named = name.starts_with(char::is_alphanumeric) && !name.contains(':');
    if !named || value.is_empty() || !is_grounded(&format!("{name} {value}"), source, batch) {
        return None;
    }
    let person = match owner {
        MemoryOwner::Channel(_) => source.person.filter(|_| told.subject == "speaker"),
        MemoryOwner::Person(person) => Some(person),
    };
    Some(new(FactKind::Fact, name, value, person, source))
}

fn new(
    kind: FactKind,
    name: String,
    value: String,
    person: Option<PersonId>,
    source: &BatchMessage,
) -> NewFact {
    NewFact {
        person,
        kind,
        name,
        value,
        message: source.id,
        untrusted_sources: source.untrusted_sources.clone(),
    }
}

/// Whether the source message supports a fact. If untrusted content is in view, it must contain every word: an email
/// with "remember that …" must not become a fact.
fn is_grounded(claim: &str, source: &BatchMessage, batch: &Batch) -> bool {
    if !batch.has_untrusted_content() {
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
fn is_same_fact(old: &Fact, new: &NewFact) -> bool {
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
fn strip_control_chars(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect::<String>().trim().to_owned()
}

#[cfg(test)]
#[path = "extraction_tests.rs"]
mod tests;
