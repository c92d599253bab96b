//! The card of an approval: before the press what would happen, after it the receipt, in the same place.

use super::{Approval, EffectEnd, Status};
use crate::card::{Block, Card, Press, Style, Verb};
use crate::clock::Timestamp;
use crate::graph::local_time;
use crate::tool::{Fault, ToolOutput};

/// The card as it should stand now.
#[must_use]
pub(crate) fn card(approval: &Approval) -> Card {
    let preview = &approval.preview;
    let mut card = Card::default().titled(format!(
        "{} · rev {} · {}",
        preview.question,
        approval.revision,
        &approval.digest[..6]
    ));
    card = card.with(Block::Fields(preview.fields.clone()));
    if let Some(body) = &preview.body {
        card = card.with(Block::Literal(body.clone()));
    }
    if approval.status == Status::Pending {
        return waiting(card, approval);
    }
    receipt(card, approval)
}

fn waiting(mut card: Card, approval: &Approval) -> Card {
    if !approval.risks.is_empty() {
        card = card.with(Block::Risks(approval.risks.clone()));
    }
    let by = format!(
        "Only {} can decide. Expires {}.",
        approval.decider_name,
        local_time(approval.expires_at, &approval.zone)
    );
    let verb = |verb| Press::Verb(Verb::new(verb, approval.id));
    card.with(Block::Note(by))
        .button(&approval.preview.words.approve, Style::Primary, verb("approve"))
        .button("Deny", Style::Danger, verb("deny"))
}

fn receipt(card: Card, approval: &Approval) -> Card {
    let words = &approval.preview.words;
    let at = |at: Option<Timestamp>| at.map_or_else(String::new, |at| clock(at, &approval.zone));
    let who = escape(&approval.decider_name);
    let decided = at(approval.decided_at);
    match (approval.status, &approval.effect) {
        (Status::Denied, _) => {
            card.with(Block::Markdown(format!("Denied by {who} {decided}. **{}**.", words.not_done)))
        }
        (Status::Expired, _) => card
            .with(Block::Markdown(format!("Nobody answered in time. **{}**.", words.not_done)))
            .with(Block::Note("Ask again and I will prepare it anew.".to_owned())),
        (Status::Superseded, _) => {
            card.with(Block::Markdown(format!("A newer request took its place. **{}**.", words.not_done)))
        }
        (_, effect) => outcome(card, approval, &format!("Approved by {who} {decided}"), effect.as_ref()),
    }
}

fn outcome(card: Card, approval: &Approval, approved: &str, effect: Option<&EffectEnd>) -> Card {
    let words = &approval.preview.words;
    let Some(EffectEnd { at, outcome: Some(outcome) }) = effect else {
        return card.with(Block::Markdown(format!("{approved} → {}", words.doing)));
    };
    let at = clock(*at, &approval.zone);
    match outcome {
        Ok(output) => receipt_of(card, &format!("{approved} → **{}** {at}", words.done), output),
        Err(Fault::Unknown { reason }) => {
            card.with(Block::Markdown(format!(
                "{approved} → **Unknown** {at}. Nobody can tell yet whether this {} went out.",
                words.thing
            )))
            .with(Block::Note(format!("What was looked at: {reason}. Please check before sending it again.")))
        }
        Err(fault) => card
            .with(Block::Markdown(format!("{approved} → **{}** {at}", words.not_done)))
            .with(Block::Note(format!("{}. Nothing went out; ask again once that is mended.", why(fault)))),
    }
}

fn receipt_of(card: Card, line: &str, output: &ToolOutput) -> Card {
    let text = |key: &str| output.content[key].as_str().map(str::to_owned);
    let ids: Vec<String> = [("Message-ID", text("message_id")), ("id", text("id"))]
        .into_iter()
        .filter_map(|(name, id)| id.map(|id| format!("{name} {id}")))
        .collect();
    let mut card = card.with(Block::Markdown(line.to_owned()));
    if !ids.is_empty() {
        card = card.with(Block::Note(ids.join(" · ")));
    }
    match text("link") {
        Some(link) => card.button("Open in Gmail", Style::Plain, Press::Link(link)),
        None => card,
    }
}

/// Why it was not done, without the words by which we sort faults.
fn why(fault: &Fault) -> String {
    match fault {
        Fault::Invalid { reason }
        | Fault::Forbidden { reason }
        | Fault::Unknown { reason }
        | Fault::Broken { reason } => sentence(reason).to_owned(),
        Fault::NotFound { what } => format!("Not found: {}", sentence(what)),
        Fault::NeedsConnect { provider, .. } => {
            format!(
                "{0} no longer lets Nod into the account (/nod connect {1})",
                provider.title(),
                provider.as_str()
            )
        }
        Fault::Ambiguous { .. } | Fault::Busy { .. } => fault.to_string(),
    }
}

/// Without the full stop that the card adds.
fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

/// One line for a list or a prompt.
#[must_use]
pub(crate) fn waiting_line(approval: &Approval) -> String {
    let subject = approval.preview.fields.iter().find(|(name, _)| name == "Subject");
    let subject = subject.map_or_else(String::new, |(_, text)| format!(" “{text}”"));
    format!(
        "{} to {}{subject}, digest {}, expires {}",
        approval.preview.words.thing,
        approval.preview.recipients.join(", "),
        &approval.digest[..6],
        local_time(approval.expires_at, &approval.zone)
    )
}

/// "10:32 CET".
fn clock(at: Timestamp, zone: &str) -> String {
    local_time(at, zone).split(", ").nth(1).unwrap_or_default().to_owned()
}

/// A name inside Markdown stays a name.
fn escape(name: &str) -> String {
    name.chars().flat_map(|c| if "*_`[]()<>\\~#|".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}
