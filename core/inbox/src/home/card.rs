//! The text of a person's home page.

use super::HomeContent;
use nod_agent::rows::{RunListItem, run_summary::run_summary};
use nod_contract::card::{Block, Card, truncate};
use nod_contract::chat::CommandSyntax;
use nod_contract::provider::Provider;
use nod_requests::approval::{self, Approval, Status};
use nod_when::when::local_time;

/// Longest part of a question that is shown, in characters.
const MAX_QUESTION_CHARS: usize = 100;

/// Returns the page as one card per section.
pub(super) fn page(seen: &HomeContent, zone: &str, typing: CommandSyntax<'_>) -> Vec<Card> {
    let (waiting, decided): (Vec<_>, Vec<_>) =
        seen.approvals.iter().partition(|approval| approval.status == Status::Pending);
    let mut page = Vec::new();
    if !waiting.is_empty() {
        page.push(Card::default().with_title("Waiting for your nod"));
    } else if seen.sections.is_empty() {
        page.push(Card::from_markdown("Nothing is waiting for your nod."));
    }
    // Each approval has its own card here, even if several share a card in the chat.
    let card = |one: &Approval| approval::card_for(one, seen.person);
    page.extend(waiting.into_iter().map(card));
    page.extend(seen.sections.iter().cloned());
    if !decided.is_empty() {
        page.push(Card::default().with_title("Recently decided"));
        page.extend(decided.into_iter().map(card));
    }
    page.push(accounts(&seen.accounts, seen.delegated_access.as_deref(), typing));
    page.push(recent_runs_card(&seen.runs, zone));
    page
}

fn accounts(all: &[(String, String, bool)], lent: Option<&str>, typing: CommandSyntax<'_>) -> Card {
    let card = Card::default().with_title("Connected accounts");
    if all.is_empty() {
        let lent = lent.map_or_else(String::new, |lent| format!(" I'm using {lent}."));
        let connects = format_connect_command(typing, Provider::DEFAULT_SCOPES.as_str());
        return card.with_block(Block::Note(format!("None yet.{lent} Type {connects} to connect yours.")));
    }
    let line = |(provider, account, works): &(String, String, bool)| {
        let title = Provider::from_name(provider)
            .map_or_else(|| provider.clone(), |known| known.display_name().to_owned());
        let again = || format!(": please reconnect with {}", format_connect_command(typing, provider));
        let state = if *works { String::new() } else { again() };
        (title, format!("{account}{state}"))
    };
    card.with_block(Block::Fields(all.iter().map(line).collect()))
}

fn format_connect_command(typing: CommandSyntax<'_>, provider: &str) -> String {
    typing.format_with_option("connect", "account", provider)
}

fn recent_runs_card(runs: &[RunListItem], zone: &str) -> Card {
    let card = Card::default().with_title("What you asked recently");
    if runs.is_empty() {
        return card.with_block(Block::Note(
            "Nothing yet. Mention me in a channel, or send me a direct message.".to_owned(),
        ));
    }
    let line = |run: &RunListItem| {
        let became = run_summary(&run.status, &run.requests);
        (local_time(run.at, zone), format!("{} → {became}", truncate(&run.question, MAX_QUESTION_CHARS)))
    };
    card.with_block(Block::Fields(runs.iter().map(line).collect()))
}
