//! The texts and cards of memory.

use std::fmt::Write;

use super::batch::MemoryRequest;
use super::{FactKind, FactWithSource};
use nod_contract::card::{Action, Block, Button, Card, OnClick, Row, Style};
use nod_contract::chat::CommandSyntax;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, FactId};
use nod_when::when::local_time;

/// The most facts that are shown with a button each.
const MAX_LISTED: usize = 15;

/// A line that says what became of a fact, with the fact that [Undo] forgets.
pub(super) struct ReportLine {
    pub(super) text: String,
    pub(super) kept: Option<FactId>,
}

impl ReportLine {
    pub(super) fn new(text: String) -> Self {
        Self { text, kept: None }
    }
}

const REPLACED: &str = "Updated ";

/// The kind of the action behind [Undo]; its subject is the fact.
pub(super) const UNDO: &str = "undo_fact";

/// Creates a card of these lines.
pub(super) fn report_card(lines: Vec<ReportLine>) -> Card {
    let block = |ReportLine { text, kept }| match kept {
        None => Block::Note(text),
        Some(fact) => {
            let on_click = OnClick::Action(Action::new(UNDO, fact));
            // What it took the place of does not come back.
            let label = if text.starts_with(REPLACED) { "Forget" } else { "Undo" };
            let undo = Button { label: label.to_owned(), style: Style::Plain, on_click };
            Block::Row(Row::new(text, vec![undo]))
        }
    };
    Card { body: lines.into_iter().map(block).collect(), ..Card::default() }
}

pub(super) fn fact_saved_line(name: &str, value: &str) -> String {
    format!("Noted: {name}: {value}")
}

pub(super) fn fact_replaced_line(name: &str, old: &str, new: &str) -> String {
    format!("{REPLACED}{name}: {old} → {new}")
}

pub(super) fn fact_deleted_line(line: &str) -> String {
    format!("Forgotten: {line}")
}

/// Describes a request that had no result; `None` if nothing was asked for.
pub(super) fn no_change_text(wish: MemoryRequest, typing: CommandSyntax<'_>) -> Option<String> {
    let happened = match wish {
        MemoryRequest::Remember => "There was nothing new to note there.",
        MemoryRequest::Correct => return None,
        MemoryRequest::Forget(_) => "I had nothing like that noted.",
    };
    Some(format!("{happened} Type {} to see what I remember.", typing.format_command("memory")))
}

/// Describes a request that failed because the model did not answer; `None` if nothing was asked for.
pub(super) fn request_failed_text(wish: MemoryRequest, typing: CommandSyntax<'_>) -> Option<String> {
    match wish {
        MemoryRequest::Remember => Some(
            "I couldn't note that because the model didn't answer. Please tell me again later.".to_owned(),
        ),
        MemoryRequest::Correct => None,
        MemoryRequest::Forget(_) => Some(format!(
            "I couldn't tell what to forget because the model didn't answer. Type {} to pick it.",
            typing.format_command("memory")
        )),
    }
}

/// A fact with its source, ready to be shown.
pub(super) struct ListedFact<'a> {
    pub(super) fact: &'a FactWithSource,
    /// The permalink of its message.
    pub(super) link: Option<String>,
}

/// What is remembered about a channel and about the reader.
pub(super) struct MemoryList<'a> {
    pub(super) channel: ChannelId,
    /// Whether the channel is the reader's own DM with Nod.
    pub(super) is_dm: bool,
    pub(super) about_channel: Vec<ListedFact<'a>>,
    pub(super) about_reader: Vec<ListedFact<'a>>,
    pub(super) summaries: &'a [(Timestamp, String)],
    pub(super) zone: &'a str,
    pub(super) command_syntax: CommandSyntax<'a>,
}

/// Creates the list, with a button for each fact. `before` is shown above it.
pub(super) fn list_card(all: &MemoryList<'_>, before: Option<String>) -> Card {
    let mut card = Card::default().with_title("What I remember");
    card.body.extend(before.map(Block::Note));
    let count = all.about_channel.len() + all.about_reader.len();
    if count == 0 && all.summaries.is_empty() {
        return card.with_block(Block::Markdown(
            "Nothing yet. Try “remember that the launch is on Friday”.".to_owned(),
        ));
    }
    let mut number = 0;
    for (title, facts) in [("About this channel", &all.about_channel), ("About you", &all.about_reader)] {
        let mut lines = String::new();
        for shown in facts {
            number += 1;
            if number > MAX_LISTED {
                break;
            }
            // Writing to a String cannot fail.
            let _ = write!(lines, "\n\n**{number}** · {}", line(shown, all.zone));
            let verb = Action::new("forget_fact", shown.fact.fact.id);
            card = card.with_button(format!("Forget {number}"), Style::Plain, OnClick::Action(verb));
        }
        if !lines.is_empty() {
            card = card.with_block(Block::Markdown(format!("**{title}**{lines}")));
        }
    }
    if count > MAX_LISTED {
        card = card
            .with_block(Block::Note(format!("… and {} more. The file has them all.", count - MAX_LISTED)));
    }
    card = match all.summaries.len() {
        0 => card,
        1 => card.with_block(Block::Note("Plus a summary of one conversation here.".to_owned())),
        n => card.with_block(Block::Note(format!("Plus summaries of {n} conversations here."))),
    };
    let export = all.command_syntax.format_with_option("memory", "what", "export");
    card.with_block(Block::Note(format!("Type {export} to get all of it as a file."))).with_button(
        "Forget all",
        Style::Danger,
        OnClick::Action(Action::new("ask_forget_all", all.channel)),
    )
}

fn line(shown: &ListedFact<'_>, zone: &str) -> String {
    let FactWithSource { fact, .. } = shown.fact;
    let said = source(shown.fact, zone);
    let link = shown.link.as_ref().map_or_else(String::new, |link| format!(" · [message]({link})"));
    format!("{}: {} — {said}{link}", escape_markdown(&fact.name), escape_markdown(&fact.value))
}

/// "Ana Silva, Fri 6 Mar 2026, 09:30 WET"
fn source(sourced: &FactWithSource, zone: &str) -> String {
    let mut said = format!("{}, {}", escape_markdown(&sourced.speaker), local_time(sourced.at, zone));
    if !sourced.fact.untrusted_sources.is_empty() {
        let _ =
            write!(said, ", after reading {}", escape_markdown(&sourced.fact.untrusted_sources.join("; ")));
    }
    said
}

/// Escapes Markdown in people's text.
fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\`*_{}[]()<>#+!|~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Asks for confirmation.
pub(super) fn confirm_forget_all_card(all: &MemoryList<'_>) -> Card {
    let things = |n: usize| match n {
        0 => "nothing".to_owned(),
        1 => "one thing".to_owned(),
        n => format!("{n} things"),
    };
    let (channel, reader) = (all.about_channel.len(), all.about_reader.len());
    let what = match (all.is_dm, channel) {
        (true, _) => format!("{} about you, and everything we've said here so far", things(reader)),
        (false, _) => format!(
            "{} about this channel, {} about you, and everything said to me here so far. It goes for \
             everyone here",
            things(channel),
            things(reader)
        ),
    };
    Card::from_markdown(format!(
        "Forget everything? That's {what}. You can't undo this. Nothing has been forgotten yet."
    ))
    .with_button(
        "Forget everything",
        Style::Danger,
        OnClick::Action(Action::new("confirm_forget_all", all.channel)),
    )
}

/// Creates the exported file.
pub(super) fn export(all: &MemoryList<'_>, now: Timestamp) -> String {
    let mut text = format!("# What Nod remembers\n\n{}\n", local_time(now, all.zone));
    let parts = [("About this channel", &all.about_channel), ("About you", &all.about_reader)];
    for (title, facts) in
        parts.into_iter().filter(|(title, _)| !(all.is_dm && *title == "About this channel"))
    {
        let _ = write!(text, "\n## {title}\n\n");
        for shown in facts {
            let FactWithSource { fact, .. } = shown.fact;
            let kind = if fact.kind == FactKind::Goal { " (goal)" } else { "" };
            let _ = writeln!(text, "- {}: {}{kind}", fact.name, fact.value);
            let _ = writeln!(text, "  - said by {}", source(shown.fact, all.zone));
            if let Some(link) = &shown.link {
                let _ = writeln!(text, "  - <{link}>");
            }
        }
        if facts.is_empty() {
            text.push_str("Nothing.\n");
        }
    }
    if !all.summaries.is_empty() {
        text.push_str("\n## Summaries of conversations here\n");
        for (at, summary) in all.summaries {
            let _ = write!(text, "\n{}:\n{summary}\n", local_time(*at, all.zone));
        }
    }
    text
}
