//! The card of a draft, and every sentence that Nod says about drafts.

use serde_json::Value;

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
        .with_block(Block::Note("It was not sent. Tell me what to change, or say “send it”.".to_owned()))
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
                "It was changed in {} since it was shown here, so I did not throw it away.",
                draft.provider_name
            )
        }
        fault => format!("I could not throw it away: {fault}."),
    };
    let verb = |verb| OnClick::Action(Action::new(verb, id));
    Card::default()
        .with_title("Draft")
        .with_block(Block::Note(why))
        .with_button("Send…", Style::Primary, verb("send_draft"))
        .with_button("Discard all the same", Style::Danger, verb("discard_draft"))
        .with_button(
            format!("Open in {}", draft.provider_name),
            Style::Plain,
            OnClick::Link(draft.link.clone()),
        )
}

/// Replaces a card when a newer one shows the same draft.
#[must_use]
pub fn outdated_card() -> Card {
    note_card("An earlier version of this draft.")
}

/// Renders the card of a draft that is no longer open.
#[must_use]
pub fn closed_draft_card(draft: &Draft, how: CloseReason) -> Card {
    match how {
        // The approval card shows what was sent; this card might have shown an older version.
        CloseReason::Sent => note_card("This draft was sent."),
        CloseReason::Discarded => note_card("The draft was thrown away. It was not sent."),
        CloseReason::DeletedExternally => note_card(&format!(
            "This draft is not in {} any more: it was sent or thrown away there.",
            draft.provider_name
        )),
    }
}

/// Renders the card while the draft is being discarded.
#[must_use]
pub(crate) fn discarding_card() -> Card {
    note_card("Throwing the draft away…")
}

fn note_card(words: &str) -> Card {
    Card { body: vec![Block::Note(words.to_owned())], ..Card::default() }
}

fn add_draft(draft: &Draft) -> Card {
    let more = draft.body.chars().count().saturating_sub(MAX_BODY_CHARS);
    let mut body: String = draft.body.chars().take(MAX_BODY_CHARS).collect();
    if more > 0 {
        body.push_str(&format!("… ({more} more characters, whole in {})", draft.provider_name));
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
    format!("Showed {name} the draft privately.")
}

/// The reply to a click on another person's draft.
pub const NOT_YOUR_DRAFT: &str = "This is somebody else's draft. Nothing was done.";
/// The reply to a click on a draft that is closed.
pub const NOT_OPEN: &str = "This draft is not open any more. Nothing was done.";
/// The reply to a click on an unknown draft.
pub const DRAFT_NOT_FOUND: &str = "I know of no such draft. Nothing was done.";

/// Returns what the user reads if a rule started the call, so that no model reports the result; `None` if they gave a
/// reason or the policy forbids it, which a model must handle. `content` is what a model would read.
#[must_use]
pub fn describe_failed_send(content: &str) -> Option<String> {
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    if content["reason"].is_string() || content["status"] == "never" {
        return None;
    }
    if let Some(error) = content["error"].as_str() {
        // Drops the prefix that names the kind of error.
        let sorted = ["invalid arguments: ", "not allowed: ", "broken: "];
        let error = sorted.iter().find_map(|sort| error.strip_prefix(sort)).unwrap_or(error);
        let error = error.trim_end_matches('.');
        return Some(format!("Not sent: {error}. The draft stays open."));
    }
    let words = match content["status"].as_str().unwrap_or_default() {
        "denied" => "Not sent. The draft stays open: tell me what to change, or say “send it”.",
        "expired" => "Nobody answered, so nothing was sent. The draft stays open.",
        // The newer request has its own card.
        "superseded" => "",
        "unknown" => {
            "Nobody can tell yet whether it was sent: please look at its card, and among your sent mail."
        }
        _ => "That did not work. Nothing was sent.",
    };
    Some(words.to_owned())
}
