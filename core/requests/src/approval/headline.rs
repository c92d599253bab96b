//! The first line of a request's card: the question, and later the outcome, so that nobody has to read further to know
//! it.

use super::{Approval, Status, stopped};
use nod_contract::tool::{ActionLabels, ToolError};

/// Returns "Send this email?", later "Email sent".
pub(super) fn headline(approval: &Approval) -> String {
    let words = &approval.preview.labels;
    match approval.status {
        Status::Pending => match stopped::asked_by(approval) {
            Some(by) => stopped::headline(by),
            None => approval.preview.question.clone(),
        },
        Status::Superseded if !approval.original_done => {
            format!("Replaced: {} {}", words.noun, words.not_done.to_lowercase())
        }
        // The request to repeat it was not needed.
        Status::Superseded => format!("{} again", labelled_outcome(words, &words.not_done)),
        Status::Denied | Status::Expired | Status::Withdrawn | Status::Undone => {
            labelled_outcome(words, &words.not_done)
        }
        Status::Approved => match approval.effect.as_ref().and_then(|effect| effect.outcome.as_ref()) {
            None => format!("{} this {}", words.in_progress_verb(), words.noun),
            Some(Ok(_)) => labelled_outcome(words, &words.done),
            Some(Err(ToolError::UnknownOutcome { .. })) => {
                format!("Not sure this {} was {}", words.noun, words.done.to_lowercase())
            }
            Some(Err(_)) => labelled_outcome(words, &words.not_done),
        },
    }
}

/// Returns "Email sent".
fn labelled_outcome(words: &ActionLabels, became: &str) -> String {
    let mut letters = words.noun.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let thing: String = first.chain(letters).collect();
    format!("{thing} {}", became.to_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::EffectState;
    use super::super::rejection::tests::approval;
    use super::*;
    use nod_contract::tool::{ToolOutput, ToolResult};

    fn finished_approval(outcome: Option<ToolResult>) -> Approval {
        let approved = approval(Status::Approved, None);
        let at = approved.expires_at;
        let id = uuid::Uuid::from_u128(3).into();
        Approval {
            effect: Some(EffectState {
                id,
                at,
                starts_at: at,
                released: true,
                outcome,
                rate_limited_until: None,
            }),
            ..approved
        }
    }

    #[test]
    fn headline_states_the_outcome() {
        let unknown = ToolError::UnknownOutcome { reason: String::new() };
        let first_done = Approval { original_done: true, ..approval(Status::Superseded, None) };
        let table = [
            (approval(Status::Pending, None), ""),
            (approval(Status::Denied, None), "Email not sent"),
            (approval(Status::Expired, None), "Email not sent"),
            (approval(Status::Undone, None), "Email not sent"),
            (approval(Status::Withdrawn, None), "Email not sent"),
            (approval(Status::Superseded, None), "Replaced: email not sent"),
            (first_done, "Email not sent again"),
            (approval(Status::Approved, None), "Sending this email"),
            (finished_approval(None), "Sending this email"),
            (finished_approval(Some(Ok(ToolOutput::trusted(json!({}))))), "Email sent"),
            (finished_approval(Some(Err(unknown))), "Not sure this email was sent"),
            (finished_approval(Some(Err(ToolError::internal("x")))), "Email not sent"),
        ];
        for (approval, wanted) in table {
            assert_eq!(headline(&approval), wanted, "{:?}", approval.status);
        }
    }
}
