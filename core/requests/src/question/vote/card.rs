//! The voting card in the thread, while others vote and after the vote has ended.

use jiff::Zoned;

use super::sql::BookingState;
use super::{Voter, tally};
use crate::question::sql::Question;
use nod_contract::card::{Action, Block, Card, OnClick, Style, TimeOption};
use nod_contract::clock::Timestamp;
use nod_contract::tool::Choice;
use nod_when::when;

/// How a vote ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteResult {
    /// A time suits everybody.
    Agreed(usize),
    /// The asker chose this time.
    ChosenByAsker(usize),
    /// The asker looks for another time.
    Abandoned,
    /// The vote expired without a decision.
    Late,
    /// The turn was stopped.
    Stopped,
}

/// Renders the voting card. It shows the times, who is asked, and what suits whom; nothing else from any calendar.
pub(super) fn open(question: &Question, voters: &[Voter], now: Timestamp) -> Card {
    let asker = find_asker_name(question, voters);
    let others: Vec<&str> =
        voters.iter().filter(|v| v.person != question.person).map(|v| v.name.as_str()).collect();
    let lines = question.choices.iter().enumerate();
    let mut card = vote_card(question, "When works for you?")
        .with_block(Block::Note(format!(
            "{asker} is asking {}. Pick every time that works.",
            join_names(&others)
        )))
        .with_block(Block::TimeOptions(lines.map(|(at, choice)| line(choice, at, voters, now)).collect()));
    let none = tally::voters_for(voters, question.choices.len());
    if !none.is_empty() {
        card = card.with_block(Block::Note(format!("None of these work: {}", none.join(", "))));
    }
    let vote = |at: usize| Action { argument: u16::try_from(at).ok(), ..Action::new("vote", question.id) };
    for at in 0..question.choices.len() {
        card = card.with_button((at + 1).to_string(), Style::Plain, OnClick::Action(vote(at)));
    }
    card.with_button(
        "None of these",
        Style::Plain,
        OnClick::Action(Action::new("vote_none_of_these", question.id)),
    )
}

/// Renders the card after the vote has ended.
pub(super) fn closed_vote_card(
    question: &Question,
    voters: &[Voter],
    ending: VoteResult,
    became: &BookingState,
    now: Timestamp,
) -> Card {
    let asker = find_asker_name(question, voters);
    let then = match became {
        BookingState { booked: true, .. } => "It's booked and the invitations are out.".to_owned(),
        BookingState { waits: true, .. } => format!("The invitations go out once {asker} approves them."),
        BookingState { .. } => "It wasn't booked.".to_owned(),
    };
    let note = match ending {
        VoteResult::Agreed(_) => format!("This works for everyone. {then}"),
        VoteResult::ChosenByAsker(_) => format!("{asker} picked this one. {then}"),
        VoteResult::Abandoned => format!("{asker} is looking for another time. Nothing was booked."),
        VoteResult::Late => "This expired without a decision. Nothing was booked.".to_owned(),
        VoteResult::Stopped => format!("{asker} stopped this. Nothing was booked."),
    };
    let title = match ending {
        _ if became.booked => "Booked",
        VoteResult::Agreed(_) | VoteResult::ChosenByAsker(_) if became.waits => "Time found",
        _ => "Vote closed",
    };
    let card = vote_card(question, title);
    let chosen = match ending {
        VoteResult::Agreed(at) | VoteResult::ChosenByAsker(at) => {
            question.choices.get(at).map(|choice| (at, choice))
        }
        VoteResult::Abandoned | VoteResult::Late | VoteResult::Stopped => None,
    };
    let Some((at, choice)) = chosen else { return card.with_block(Block::Note(note)) };
    match span(choice).and_then(|chosen| became.rescheduled_to(&chosen)) {
        // No votes are shown, because this time was not voted on.
        Some((from, to)) => {
            let time = build_time_option((at + 1).to_string(), &from, &to, String::new(), now);
            card.with_block(Block::TimeOptions(vec![time]))
                .with_block(Block::Note(format!("{asker} changed the time. {then}")))
        }
        None => card
            .with_block(Block::TimeOptions(vec![line(choice, at, voters, now)]))
            .with_block(Block::Note(note)),
    }
}

fn vote_card(question: &Question, says: &str) -> Card {
    let title = question.vote_proposal.as_ref().map(|vote| vote.title.as_str()).unwrap_or_default();
    Card::default().with_title(format!("{says} · {title}"))
}

pub(super) fn find_asker_name<'a>(question: &Question, voters: &'a [Voter]) -> &'a str {
    let asker = voters.iter().find(|voter| voter.person == question.person);
    asker.map_or("The organiser", |voter| &voter.name)
}

/// Formats a list of names as "Bo, Cho and Dana".
pub(super) fn join_names(names: &[&str]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

fn line(choice: &Choice, at: usize, voters: &[Voter], now: Timestamp) -> TimeOption {
    let who = tally::voters_for(voters, at);
    let below = if who.is_empty() { String::new() } else { format!("✓ {}", who.join(", ")) };
    let label = (at + 1).to_string();
    match span(choice) {
        Some((from, to)) => build_time_option(label, &from, &to, below, now),
        // The value is not a time span from a calendar, so the label is shown unchanged.
        None => TimeOption { label, from: 0, to: 0, text: choice.label.clone(), note: below },
    }
}

fn build_time_option(label: String, from: &Zoned, to: &Zoned, below: String, now: Timestamp) -> TimeOption {
    let (begins, ends) = (from.timestamp().as_second(), to.timestamp().as_second());
    TimeOption { label, from: begins, to: ends, text: span_text(from, to, now), note: below }
}

/// Formats the time in the asker's zone. It omits whose working hours the time is outside of: only the asker sees that.
fn span_text(from: &Zoned, to: &Zoned, now: Timestamp) -> String {
    when::format_span(from, to, from.time_zone(), now)
}

pub(super) fn span(choice: &Choice) -> Option<(Zoned, Zoned)> {
    // A zone's name can contain a slash.
    let (from, to) = choice.value.split_once("]/")?;
    Some((format!("{from}]").parse().ok()?, to.parse().ok()?))
}
