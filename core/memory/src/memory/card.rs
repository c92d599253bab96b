//! The texts and cards of memory.

use std::fmt::Write;

use super::batch::Wish;
use super::{Kind, Sourced};
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::CommandSyntax;
use nod_contract::clock::Timestamp;
use nod_contract::ids::ChannelId;
use nod_when::when::local_time;

/// The most facts that are shown with a button each.
const MOST_SHOWN: usize = 15;

/// Creates a card of notes.
pub(super) fn small(lines: Vec<String>) -> Card {
    Card { body: lines.into_iter().map(Block::Note).collect(), ..Card::default() }
}

pub(super) fn noted(name: &str, value: &str) -> String {
    format!("Noted: {name}: {value}")
}

pub(super) fn replaced(name: &str, old: &str, new: &str) -> String {
    format!("I had noted {name}: {old}; now: {new}")
}

pub(super) fn forgotten(line: &str) -> String {
    format!("Forgotten: {line}")
}

/// Describes a request that had no result.
pub(super) fn nothing(wish: Wish, typing: CommandSyntax<'_>) -> String {
    let happened = match wish {
        Wish::Remember => "There was nothing new in that to note.",
        Wish::Forget(_) => "I have noted nothing like that.",
    };
    format!("{happened} {} shows what I remember.", typing.format_command("memory"))
}

/// Describes a request that failed because the model did not answer.
pub(super) fn failed(wish: Wish, typing: CommandSyntax<'_>) -> String {
    match wish {
        Wish::Remember => {
            "I could not note that: the model did not answer. Please say it again later.".to_owned()
        }
        Wish::Forget(_) => format!(
            "I could not tell what to forget: the model did not answer. {} forgets by buttons.",
            typing.format_command("memory")
        ),
    }
}

/// A fact with its source, ready to be shown.
pub(super) struct Shown<'a> {
    pub(super) sourced: &'a Sourced,
    /// The permalink of its message.
    pub(super) link: Option<String>,
}

/// What is remembered about a channel and about the reader.
pub(super) struct Remembered<'a> {
    pub(super) channel: ChannelId,
    /// Whether the channel is the reader's own DM with Nod.
    pub(super) direct: bool,
    pub(super) about_channel: Vec<Shown<'a>>,
    pub(super) about_reader: Vec<Shown<'a>>,
    pub(super) summaries: &'a [(Timestamp, String)],
    pub(super) zone: &'a str,
    pub(super) typing: CommandSyntax<'a>,
}

/// Creates the list, with a button for each fact. `before` is shown above it.
pub(super) fn list(all: &Remembered<'_>, before: Option<String>) -> Card {
    let mut card = Card::default().with_title("What I remember");
    card.body.extend(before.map(Block::Note));
    let count = all.about_channel.len() + all.about_reader.len();
    if count == 0 && all.summaries.is_empty() {
        return card.with_block(Block::Markdown(
            "Nothing yet, neither about this channel nor about you. Tell me: “remember that the launch is on Friday”."
                .to_owned(),
        ));
    }
    let mut number = 0;
    for (title, facts) in [("About this channel", &all.about_channel), ("About you", &all.about_reader)] {
        let mut lines = String::new();
        for shown in facts {
            number += 1;
            if number > MOST_SHOWN {
                break;
            }
            // Writing to a String cannot fail.
            let _ = write!(lines, "\n\n**{number}** · {}", line(shown, all.zone));
            let verb = Action::new("forget", shown.sourced.fact.id);
            card = card.with_button(format!("Forget {number}"), Style::Plain, OnClick::Action(verb));
        }
        if !lines.is_empty() {
            card = card.with_block(Block::Markdown(format!("**{title}**{lines}")));
        }
    }
    if count > MOST_SHOWN {
        card = card
            .with_block(Block::Note(format!("… and {} more: the file has them all.", count - MOST_SHOWN)));
    }
    card = match all.summaries.len() {
        0 => card,
        1 => card.with_block(Block::Note("And a summary of one conversation here.".to_owned())),
        n => card.with_block(Block::Note(format!("And summaries of {n} conversations here."))),
    };
    let export = all.typing.format_with_option("memory", "what", "export");
    card.with_block(Block::Note(format!("{export} sends you all of it as a file."))).with_button(
        "Forget all",
        Style::Danger,
        OnClick::Action(Action::new("forget_all", all.channel)),
    )
}

fn line(shown: &Shown<'_>, zone: &str) -> String {
    let Sourced { fact, .. } = shown.sourced;
    let said = source(shown.sourced, zone);
    let link = shown.link.as_ref().map_or_else(String::new, |link| format!(" · [message]({link})"));
    format!("{}: {} — {said}{link}", literal(&fact.name), literal(&fact.value))
}

/// "Ana Silva, Fri 6 Mar 2026, 09:30 WET"
fn source(sourced: &Sourced, zone: &str) -> String {
    let mut said = format!("{}, {}", literal(&sourced.speaker), local_time(sourced.at, zone));
    if !sourced.fact.outside.is_empty() {
        let _ = write!(said, ", with {} in view", literal(&sourced.fact.outside.join("; ")));
    }
    said
}

/// Escapes Markdown in people's text.
fn literal(text: &str) -> String {
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
pub(super) fn sure(all: &Remembered<'_>) -> Card {
    let things = |n: usize| match n {
        0 => "nothing".to_owned(),
        1 => "one thing".to_owned(),
        n => format!("{n} things"),
    };
    let (channel, reader) = (all.about_channel.len(), all.about_reader.len());
    let what = match (all.direct, channel) {
        (true, _) => format!("{} about you, and everything we said here so far", things(reader)),
        (false, _) => format!(
            "{} about this channel, {} about you, and everything that was said to me here so far. It is \
             forgotten for everybody here",
            things(channel),
            things(reader)
        ),
    };
    Card::from_markdown(format!(
        "Forget all of it? That is {what}. This cannot be undone; nothing has been forgotten yet."
    ))
    .with_button(
        "Yes, forget all",
        Style::Danger,
        OnClick::Action(Action::new("forget_yes", all.channel)),
    )
}

/// Creates the exported file.
pub(super) fn export(all: &Remembered<'_>, now: Timestamp) -> String {
    let mut text = format!("# What Nod remembers\n\n{}\n", local_time(now, all.zone));
    let parts = [("About this channel", &all.about_channel), ("About you", &all.about_reader)];
    for (title, facts) in
        parts.into_iter().filter(|(title, _)| !(all.direct && *title == "About this channel"))
    {
        let _ = write!(text, "\n## {title}\n\n");
        for shown in facts {
            let Sourced { fact, .. } = shown.sourced;
            let kind = if fact.kind == Kind::Goal { " (what is aimed at)" } else { "" };
            let _ = writeln!(text, "- {}: {}{kind}", fact.name, fact.value);
            let _ = writeln!(text, "  - said by {}", source(shown.sourced, all.zone));
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
