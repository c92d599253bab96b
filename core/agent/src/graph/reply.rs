//! Reply: sends the answer to its audience. What comes from a mailbox goes only to its owner, whatever channel it was
//! asked in.

use std::collections::BTreeMap;

use super::{Next, NodeOutput, Step, claim_check};
use crate::state::{AgentState, Node};
use nod_contract::card::{Block, Card};
use nod_contract::ids::RunId;
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::text;
use nod_store::workflow::StepResult;

/// Replaces mentions that the model repeats by names, so that they notify no user and show no id.
fn replace_mentions(text: String, known: &BTreeMap<String, String>) -> String {
    let mentions = known.iter().filter(|(token, _)| token.starts_with("<@"));
    mentions.fold(text, |text, (token, name)| text.replace(token.as_str(), name))
}

/// Returns what can be shown of an answer that is still being written: whole words, names for mentions, and only the
/// sentences before one that claims an action without a receipt; the finished answer is checked as a whole. If an
/// action was wanted and there is no receipt, nothing is shown.
pub fn streamable_text(text: &str, state: &AgentState) -> Option<String> {
    if state.acts && has_no_receipt(state) {
        return None;
    }
    let whole = text.rfind(char::is_whitespace).map_or("", |end| &text[..end]);
    let words = replace_mentions(whole.trim().to_owned(), &state.recalled.platform_info);
    let proven = if has_no_receipt(state) { text_before_claim(&words) } else { &words };
    (!proven.is_empty()).then(|| proven.to_owned())
}

/// Returns the sentences before the first one that claims an action.
fn text_before_claim(words: &str) -> &str {
    let mut shown = words;
    while claim_check::has_action_claim(shown) {
        let end = shown.trim_end_matches(ENDS).rfind(ENDS);
        shown = end.map_or("", |at| &shown[..=at]);
    }
    shown
}

const ENDS: [char; 4] = ['.', '!', '?', '\n'];

/// Returns what the model said before it called tools, if that was the last event.
pub fn text_before_tool_calls(state: &AgentState) -> Option<Card> {
    // Nobody reads what is not checked.
    if !state.check_parts.is_empty() {
        return None;
    }
    let Some(Turn::Ai { text, calls }) = state.turns.last() else { return None };
    let words = replace_mentions(text.trim().to_owned(), &state.recalled.platform_info);
    let unproven = has_no_receipt(state) && claim_check::has_action_claim(&words);
    (!calls.is_empty() && !words.is_empty() && !unproven).then(|| Card::from_markdown(words))
}

fn has_no_receipt(state: &AgentState) -> bool {
    state.changes_made == 0 && state.unknown_outcomes == 0
}

pub(super) fn step(state: AgentState, run: RunId) -> Step {
    if state.goal.is_some() {
        return end_step(state);
    }
    if state.is_answered_by_results() {
        return reply_verbatim(state);
    }
    let text = replace_mentions(state.reply.clone().unwrap_or_default(), &state.recalled.platform_info);
    let mut card = Card::from_markdown(if text.trim().is_empty() {
        "I don't have an answer to that. Could you put it another way?"
    } else {
        &text
    });
    let ours = state.routed_via.as_deref().is_some_and(|via| via.starts_with("rule:"));
    let waits = state.pending_calls.iter().any(|call| call.waiting_for.is_some());
    // If an action was wanted and there is no receipt of it, the note corrects a claim in any language. If none was
    // wanted, the word list of `claim_check` is the second check.
    if !ours && has_no_receipt(&state) && ((state.acts && !waits) || claim_check::has_action_claim(&text)) {
        card = card.with_block(Block::Note("To be clear, nothing was sent or changed just now.".to_owned()));
    }
    let mut card = with_notes(card, &state);
    // What Nod says itself is not rated.
    card.feedback = (state.is_written_by_model && !text.trim().is_empty()).then_some(run);
    let (card, state) = with_items(card, state, run);
    let emits = vec![NodeOutput::Message { card, audience: state.audience }];
    Step { state, outputs: emits, next: Next::Go(Node::Remember) }
}

/// Ends a step of a workflow, which hears what came out of it; nobody else does.
fn end_step(mut state: AgentState) -> Step {
    let said = state.reply.take().unwrap_or_default();
    let is_answer = state.is_written_by_model && !said.trim().is_empty();
    if let Some(goal) = state.goal.as_mut().filter(|goal| goal.result.is_none()) {
        goal.result = Some(if is_answer { StepResult::Said(said) } else { StepResult::Failed(said) });
    }
    Step { state, outputs: Vec::new(), next: Next::Done }
}

/// Shows what was listed, as lines with buttons, to the person alone. The history has their text, so that "the second
/// one" can be understood.
fn with_items(card: Card, mut state: AgentState, run: RunId) -> (Card, AgentState) {
    let items = std::mem::take(&mut state.items);
    if items.is_empty() || state.audience != Audience::Person(state.principal.person) {
        return (card, state);
    }
    let lines = items.iter().enumerate().map(|(at, item)| format!("{}. {}", at + 1, item.text));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let lines = match &state.provenance {
        Provenance::Trusted => lines,
        // Random, so no text in it can know it.
        Provenance::Untrusted(sources) => text::fence_untrusted(&lines, sources, &run.to_string()),
    };
    let text = format!("Shown below it:\n{lines}");
    state.turns.push(Turn::Ai { text, calls: Vec::new() });
    let rows = items.into_iter().map(|item| Block::Row(item.into_row()));
    (rows.fold(card, Card::with_block), state)
}

/// Adds Nod's own notes and the answer's buttons, whatever the model writes.
fn with_notes(card: Card, state: &AgentState) -> Card {
    let mut card = state.notes.iter().fold(card, |card, line| card.with_block(Block::Note(line.clone())));
    card.buttons.extend(state.buttons.iter().cloned());
    card
}

/// Answers with the tools' verbatim outputs, but does not repeat what a card shows already. The posted part is a turn
/// of its own, so that it can be shared without the rest.
fn reply_verbatim(mut state: AgentState) -> Step {
    let results = std::mem::take(&mut state.results.verbatim);
    let joined = |shown: bool| {
        let words = results.iter().filter(|one| one.is_on_card == shown).map(|one| one.words.as_str());
        words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    let said = joined(false);
    for text in [joined(true), said.clone()].into_iter().filter(|text| !text.is_empty()) {
        state.turns.push(Turn::Ai { text, calls: Vec::new() });
    }
    let audience = state.audience;
    let card = if said.is_empty() { Card::default() } else { Card::from_markdown(said.as_str()) };
    let card = with_notes(card, &state);
    let mut emits = if card.is_empty() { Vec::new() } else { vec![NodeOutput::Message { card, audience }] };
    emits.extend(state.taken_action.clone().filter(|taken| taken.is_done).map(NodeOutput::ActionTaken));
    state.reply = Some(said);
    Step { state, outputs: emits, next: Next::Go(Node::Remember) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nod_contract::tool::Principal;

    #[test]
    fn partial_answer_shows_whole_words_without_claims() {
        let principal = Principal {
            person: uuid::Uuid::nil().into(),
            name: "Ana".to_owned(),
            email: None,
            zone: "UTC".to_owned(),
        };
        let mut state = AgentState::new(principal, true, "hello");
        std::sync::Arc::make_mut(&mut state.recalled)
            .platform_info
            .insert("<@U1>".to_owned(), "Bo Lind".to_owned());
        let shown = |text: &str, state: &AgentState| streamable_text(text, state);
        assert_eq!(shown("Hel", &state), None);
        assert_eq!(shown("Hello <@U", &state).as_deref(), Some("Hello"));
        assert_eq!(shown("Hello <@U1> and [the ba", &state).as_deref(), Some("Hello Bo Lind and [the"));
        assert_eq!(shown("I have sent it to", &state), None);
        assert_eq!(shown("All is well! I have sent it to", &state).as_deref(), Some("All is well!"));
        state.acts = true;
        assert_eq!(shown("Gesendet. All is well!", &state), None);
        state.changes_made += 1;
        assert_eq!(shown("I have sent it to", &state).as_deref(), Some("I have sent it"));
    }
}
