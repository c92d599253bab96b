//! What is brought into a prompt of what was said before, within a bound of tokens: facts and goal, the summary, then
//! the newest words as far as there is room. Pure.

use std::collections::BTreeMap;

pub use super::flat::flattened;
use super::{Fact, Kind, Summary, tokens};
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};

/// Tokens of everything that is remembered in one prompt.
pub(crate) const MOST_TOKENS: usize = 2_048;
/// Of these, for goal and facts.
const FACTS: usize = 512;
/// And of one earlier message: one long message does not push everything else out of view.
const ONE_MESSAGE: usize = 512;
/// What a message costs beside its words.
const FRAME: usize = 4;
/// Messages of a conversation from which on they are summarised.
pub const SUMMARISE_FROM: usize = 8;

/// What stands in view.
#[derive(Debug, Default)]
pub struct View {
    /// The newest words, oldest first.
    pub history: Vec<Turn>,
    /// What was said before those, in short, with the sources of outside text in it.
    pub summary: Option<(String, Vec<String>)>,
    pub goal: Option<String>,
    pub facts: BTreeMap<String, String>,
    /// Who may read what is said with it in view.
    pub audience: Option<Audience>,
    pub outside: Vec<String>,
    /// Messages that wait for being summarised.
    pub unfolded: usize,
}

impl View {
    /// Of what was loaded: facts newest first, words oldest first. `direct` where nobody else reads.
    pub fn of(summary: Option<&Summary>, facts: &[Fact], said: &[Said], direct: bool) -> Self {
        let mut view = Self::default();
        let mut room = MOST_TOKENS;
        room -= view.take_facts(facts);
        if let Some(summary) = summary.filter(|summary| !summary.text.is_empty()) {
            let text = tokens::head(&summary.text, room / 2);
            room -= tokens::bound(text);
            view.narrow(summary.only_for.map_or(Audience::Channel, Audience::Person), &summary.outside);
            view.summary = Some((text.to_owned(), summary.outside.clone()));
        }
        for said in said.iter().rev() {
            let (turn, cost) = clipped(&said.turn, said.speaker.as_deref(), room);
            let Some(turn) = turn else { break };
            room -= cost;
            view.narrow(said.audience, &said.outside);
            view.history.push(turn);
        }
        view.history.reverse();
        view.unfolded = said.iter().filter(|said| direct || said.audience == Audience::Channel).count();
        view
    }

    /// What was told to one person alone is in view again: so is whatever is said with it.
    fn narrow(&mut self, audience: Audience, outside: &[String]) {
        let before = self.audience.unwrap_or(Audience::Channel);
        self.audience = Some(before.narrow(audience));
        let more =
            outside.iter().filter(|source| !self.outside.contains(source)).cloned().collect::<Vec<_>>();
        self.outside.extend(more);
    }

    /// Tokens that they take. A person's own goal comes before the channel's.
    fn take_facts(&mut self, facts: &[Fact]) -> usize {
        let mut spent = 0;
        for fact in facts {
            let cost = tokens::bound(&fact.line()) + 1;
            if spent + cost > FACTS {
                break;
            }
            let own = fact.person.is_some();
            match fact.kind {
                Kind::Goal if self.goal.is_none() || own => self.goal = Some(fact.value.clone()),
                Kind::Goal => continue,
                Kind::Fact if own => {
                    self.facts.insert(fact.name.clone(), fact.value.clone());
                }
                Kind::Fact => {
                    self.facts.entry(fact.name.clone()).or_insert_with(|| fact.value.clone());
                }
            }
            spent += cost;
            self.narrow(Audience::Channel, &fact.outside);
        }
        spent
    }

    /// For the state of a run.
    pub fn provenance(&self) -> Provenance {
        Provenance::of(self.outside.iter().map(String::as_str))
    }
}

/// A message as it comes into view, and what it costs; none where there is no room for it.
fn clipped(turn: &Turn, speaker: Option<&str>, room: usize) -> (Option<Turn>, usize) {
    let (text, human) = match turn {
        // Several people talk in a thread: each sentence says whose it is.
        Turn::Human { text } => {
            (speaker.map_or_else(|| text.clone(), |name| format!("{name}: {text}")), true)
        }
        // An earlier answer's tool calls have no results here, so only its words are kept.
        Turn::Ai { text, .. } => (text.clone(), false),
        Turn::System { .. } | Turn::Tool { .. } => return (None, 0),
    };
    let most = ONE_MESSAGE.min(room.saturating_sub(FRAME));
    if most < 16 {
        return (None, 0);
    }
    let whole = tokens::bound(&text);
    let text = match whole > most {
        true => format!("{}… (cut)", tokens::head(&text, most - 8)),
        false => text,
    };
    let cost = FRAME + whole.min(most);
    let turn = if human { Turn::Human { text } } else { Turn::Ai { text, calls: Vec::new() } };
    (Some(turn), cost)
}

/// What was said, with who said it.
pub struct Said {
    pub turn: Turn,
    pub speaker: Option<String>,
    pub outside: Vec<String>,
    pub audience: Audience,
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
