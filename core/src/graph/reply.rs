//! Reply: says the answer to whom it is for. What comes from a mailbox goes to its owner alone, whatever
//! channel it was asked in.

use std::collections::BTreeMap;

use super::{Emit, Next, Node, Step, honesty};
use crate::card::{Block, Card};
use crate::run::AgentState;

/// Mentions that the model repeats become names: nobody is pinged by it, and nobody reads an id.
fn named(text: String, known: &BTreeMap<String, String>) -> String {
    let mentions = known.iter().filter(|(token, _)| token.starts_with("<@"));
    mentions.fold(text, |text, (token, name)| text.replace(token.as_str(), name))
}

pub(super) fn step(state: AgentState) -> Step {
    let text = named(state.reply.clone().unwrap_or_default(), &state.working.extracted_info);
    let mut card = Card::say(if text.trim().is_empty() { "I have nothing to say to that." } else { &text });
    if state.receipts.is_empty() && state.unknown == 0 && honesty::claims_a_deed(&text) {
        // The model's words are not ours: without a receipt of this run, Nod never says "sent".
        card = card.with(Block::Note("For the record: nothing was sent or changed in this turn.".to_owned()));
    }
    let emits = vec![Emit::Say { card, audience: state.audience }];
    Step { state, emits, next: Next::Go(Node::Remember) }
}
