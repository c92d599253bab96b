//! What a prompt contains of earlier messages, within a token limit: facts and goal, the summary, then the newest
//! messages as far as there is room. Pure.

use std::collections::BTreeMap;

pub use super::fact_lines::fact_lines;
use super::{ConversationSummary, Fact, FactKind, tokens};
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};

/// The token limit of all memory in one prompt.
pub(crate) const MAX_TOKENS: usize = 2_048;
/// The part of it for goal and facts.
const FACTS: usize = 512;
/// The limit of one earlier message, so that one long message does not displace everything else.
const ONE_MESSAGE: usize = 512;
/// The tokens of a message in addition to its text.
const FRAME: usize = 4;
/// The number of messages from which a conversation is summarised.
pub const SUMMARISE_FROM: usize = 8;

/// The memory in one prompt.
#[derive(Debug, Default)]
pub struct MemoryContext {
    /// The newest messages, oldest first.
    pub history: Vec<Turn>,
    /// A summary of the messages before those, with the sources of untrusted content in it.
    pub summary: Option<(String, Vec<String>)>,
    pub goal: Option<String>,
    pub facts: BTreeMap<String, String>,
    /// Who may read an answer with this in view.
    pub audience: Option<Audience>,
    pub untrusted_sources: Vec<String>,
    /// The number of messages that are not summarised yet.
    pub unsummarised: usize,
}

impl MemoryContext {
    /// Creates the view from facts, newest first, and messages, oldest first. `direct` if no one else reads them.
    pub fn build(
        summary: Option<&ConversationSummary>,
        facts: &[Fact],
        said: &[AttributedTurn],
        direct: bool,
    ) -> Self {
        let mut view = Self::default();
        let mut room = MAX_TOKENS;
        room -= view.add_facts(facts);
        if let Some(summary) = summary.filter(|summary| !summary.text.is_empty()) {
            let text = tokens::truncate_to_tokens(&summary.text, room / 2);
            room -= tokens::bound(text);
            view.restrict_to(
                summary.only_for.map_or(Audience::Channel, Audience::Person),
                &summary.untrusted_sources,
            );
            view.summary = Some((text.to_owned(), summary.untrusted_sources.clone()));
        }
        for said in said.iter().rev() {
            let (turn, cost) = clip_message(&said.turn, said.speaker.as_deref(), room);
            let Some(turn) = turn else { break };
            room -= cost;
            view.restrict_to(said.audience, &said.outside);
            view.history.push(turn);
        }
        view.history.reverse();
        view.unsummarised = said.iter().filter(|said| direct || said.audience == Audience::Channel).count();
        view
    }

    /// Narrows the audience: an earlier private message in view makes the new answer private too.
    fn restrict_to(&mut self, audience: Audience, outside: &[String]) {
        let before = self.audience.unwrap_or(Audience::Channel);
        self.audience = Some(before.narrow(audience));
        let more = outside
            .iter()
            .filter(|source| !self.untrusted_sources.contains(source))
            .cloned()
            .collect::<Vec<_>>();
        self.untrusted_sources.extend(more);
    }

    /// Takes facts and returns their tokens. A person's own goal takes precedence over the channel's.
    fn add_facts(&mut self, facts: &[Fact]) -> usize {
        let mut spent = 0;
        for fact in facts {
            let cost = tokens::bound(&fact.line()) + 1;
            if spent + cost > FACTS {
                break;
            }
            let own = fact.person.is_some();
            match fact.kind {
                FactKind::Goal if self.goal.is_none() || own => self.goal = Some(fact.value.clone()),
                FactKind::Goal => continue,
                FactKind::Fact if own => {
                    self.facts.insert(fact.name.clone(), fact.value.clone());
                }
                FactKind::Fact => {
                    self.facts.entry(fact.name.clone()).or_insert_with(|| fact.value.clone());
                }
            }
            spent += cost;
            self.restrict_to(Audience::Channel, &fact.untrusted_sources);
        }
        spent
    }

    /// Returns the provenance for the state of a run.
    pub fn provenance(&self) -> Provenance {
        Provenance::from_sources(self.untrusted_sources.iter().map(String::as_str))
    }
}

/// Returns a message as it comes into view, and its cost in tokens; no message if there is no room for it.
fn clip_message(turn: &Turn, speaker: Option<&str>, room: usize) -> (Option<Turn>, usize) {
    let (text, human) = match turn {
        // A thread can have several participants, so each message begins with its author's name.
        Turn::Human { text } => {
            (speaker.map_or_else(|| text.clone(), |name| format!("{name}: {text}")), true)
        }
        // An earlier answer's tool calls have no results here, so only its text is kept.
        Turn::Ai { text, .. } => (text.clone(), false),
        Turn::System { .. } | Turn::Tool { .. } => return (None, 0),
    };
    let most = ONE_MESSAGE.min(room.saturating_sub(FRAME));
    if most < 16 {
        return (None, 0);
    }
    let whole = tokens::bound(&text);
    let text = match whole > most {
        true => format!("{}… (cut)", tokens::truncate_to_tokens(&text, most - 8)),
        false => text,
    };
    let cost = FRAME + whole.min(most);
    let turn = if human { Turn::Human { text } } else { Turn::Ai { text, calls: Vec::new() } };
    (Some(turn), cost)
}

/// A message with its author's name.
pub struct AttributedTurn {
    pub turn: Turn,
    pub speaker: Option<String>,
    pub outside: Vec<String>,
    pub audience: Audience,
}

#[cfg(test)]
#[path = "prompt_context_tests.rs"]
mod tests;
