//! The card of a draft, and every sentence that Nod says about drafts.

use serde_json::Value;

use super::KeptEdit;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::hidden_chars::{self, show_hidden_chars};
use nod_contract::ids::DraftId;
use nod_contract::tool::ToolError;
use nod_contract::tool::draft::{CloseReason, Draft};

/// A longer body is cut on this card; it is complete at the provider and on the approval card.
const MAX_BODY_CHARS: usize = 5_000;

/// Renders the newest state of an open draft.
#[must_use]
pub fn open(id: DraftId, draft: &Draft) -> Card {
    let verb = |verb| OnClick::Action(Action::new(verb, id));
    add_draft(draft)
        .with_block(Block::Note("Not sent yet. Tell me what to change, or say “send it”.".to_owned()))
        .with_button("Send…", Style::Primary, verb("send_draft"))
        .with_button("Discard", Style::Danger, verb("discard_draft"))
        .with_button(
            format!("Open in {}", draft.provider_name),
            Style::Plain,
            OnClick::Link(draft.link.clone()),
        )
}

/// Renders an open draft that could not be discarded.
#[must_use]
pub fn discard_failed_card(id: DraftId, draft: &Draft, fault: &ToolError) -> Card {
    let why = match fault {
        ToolError::Conflict { .. } => {
            format!(
                "You changed this in {} after I showed it here, so I haven't discarded it.",
                draft.provider_name
            )
        }
        fault => format!("I couldn't discard it: {fault}."),
    };
    let verb = |verb| OnClick::Action(Action::new(verb, id));
    Card::default()
        .with_title("Draft")
        .with_block(Block::Note(why))
        .with_button("Send…", Style::Primary, verb("send_draft"))
        .with_button("Discard anyway", Style::Danger, verb("discard_draft"))
        .with_button(
            format!("Open in {}", draft.provider_name),
            Style::Plain,
            OnClick::Link(draft.link.clone()),
        )
}

/// Replaces a card when a newer one shows the same draft.
#[must_use]
pub fn outdated_card() -> Card {
    note_card("Older version of this draft.")
}

/// Renders the card of a draft that is no longer open.
#[must_use]
pub fn closed_draft_card(draft: &Draft, how: CloseReason) -> Card {
    match how {
        // The approval card shows what was sent; this card might have shown an older version.
        CloseReason::Sent => note_card("This draft was sent."),
        CloseReason::Discarded => note_card("Draft discarded."),
        CloseReason::DeletedExternally => note_card(&format!(
            "This draft isn't in {} any more: it was sent or discarded there.",
            draft.provider_name
        )),
    }
}

/// Renders the card while the draft is being discarded.
#[must_use]
pub(crate) fn discarding_card() -> Card {
    note_card("Discarding the draft…")
}

fn note_card(words: &str) -> Card {
    Card { body: vec![Block::Note(words.to_owned())], ..Card::default() }
}

fn add_draft(draft: &Draft) -> Card {
    let more = draft.body.chars().count().saturating_sub(MAX_BODY_CHARS);
    let mut body: String = draft.body.chars().take(MAX_BODY_CHARS).collect();
    if more > 0 {
        body.push_str(&format!("… ({more} more characters: read the rest in {})", draft.provider_name));
    }
    let mut card =
        Card::default().with_title("Draft").with_block(Block::Fields(hidden_chars::fields(&draft.fields)));
    if !body.is_empty() {
        card = card.with_block(Block::Literal(show_hidden_chars(&body).into_owned()));
    }
    card
}

/// The line in a thread if the draft itself was shown only to its owner.
#[must_use]
pub fn sent_privately_line(name: &str) -> String {
    format!("Showed {name} a draft privately.")
}

/// The reply to a click on another person's draft.
pub const NOT_YOUR_DRAFT: &str = "This is someone else's draft.";
/// The reply to a click on a draft that is closed.
pub const NOT_OPEN: &str = "This draft is already sent or discarded.";
/// The reply to a click on an unknown draft.
pub const DRAFT_NOT_FOUND: &str = "I can't find that draft any more.";

/// Returns what the user reads if a rule started the call, so that no model reports the result; `None` if they gave a
/// reason or the policy forbids it, which a model must handle. `content` is what a model would read.
#[must_use]
pub fn describe_failed_send(content: &str) -> Option<String> {
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    if content["reason"].is_string() || content["status"] == "never" {
        return None;
    }
    if let Some(error) = content["error"].as_str() {
        // Drops the words that name the kind of error.
        let error = error.strip_prefix("something went wrong: ").unwrap_or(error);
        let error = error.trim_end_matches('.');
        let draft = kept_edit_text(&content).unwrap_or("The draft is still open.");
        return Some(format!("Not sent: {error}. {draft}"));
    }
    let happened = match content["status"].as_str().unwrap_or_default() {
        "denied" => "Not sent.",
        "undone" => "Undone, so nothing was sent.",
        "expired" => "The request expired, so nothing was sent.",
        // The newer request has its own card.
        "superseded" => return Some(String::new()),
        "unknown" => {
            let words = "I can't tell yet whether it was sent. Please check its card and your Sent folder.";
            return Some(words.to_owned());
        }
        _ => return Some("That didn't work, and nothing was sent.".to_owned()),
    };
    let draft = match kept_edit_text(&content) {
        Some(words) => words,
        None if content["status"] == "expired" => "The draft is still open.",
        None => "The draft is still open: tell me what to change, or say “send it”.",
    };
    Some(format!("{happened} {draft}"))
}

/// Says what became of an edit that was not sent; `None` if there was none.
fn kept_edit_text(content: &Value) -> Option<&'static str> {
    Some(match serde_json::from_value(content["edit"].clone()).ok()? {
        KeptEdit::InDraft => "The draft has your edit: tell me what else to change, or say “send it”.",
        KeptEdit::DraftChanged => "You changed the draft itself in the meantime, so that text stays.",
        KeptEdit::DraftGone => "The draft isn't there any more.",
        KeptEdit::Failed => "I couldn't put your edit into the draft, which is still open.",
    })
}
