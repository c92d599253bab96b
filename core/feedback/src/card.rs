//! The texts and the form of feedback.

use super::MAX_WHY_CHARS;
use nod_contract::card::{Action, Block, Card, Field, Form, FormFallback};
use nod_contract::ids::RunId;

/// The kind of the form's action.
pub(crate) const WHY_FORM: &str = "feedback_why";
/// The id of its field.
pub(crate) const WHY: &str = "why";

pub(crate) fn thanks() -> Card {
    Card::from_markdown("Thank you.")
}

/// Said of an answer that this person does not read, or that is gone.
pub(crate) const UNKNOWN_ANSWER: &str = "I can't find that answer any more.";

/// Asks what was wrong. The rating is stored already, so that closing the form keeps it; `before` is what they said of
/// it earlier.
pub(crate) fn why_form(run: RunId, before: Option<String>) -> Form {
    Form {
        title: "Your feedback".to_owned(),
        verb: Action::new(WHY_FORM, run),
        body: vec![Block::Note("The people who run Nod here can read this.".to_owned())],
        fields: vec![Field {
            id: WHY.to_owned(),
            label: "What was wrong?".to_owned(),
            value: before.unwrap_or_default(),
            multiline: true,
            max_chars: MAX_WHY_CHARS,
            optional: true,
            accepts_recipients: false,
        }],
        submit: "Send".to_owned(),
        fallback: FormFallback::Submit,
    }
}
