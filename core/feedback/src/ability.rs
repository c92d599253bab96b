//! Feedback as an ability: the buttons and the form.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::card::{self, WHY, WHY_FORM};
use crate::{MAX_WHY_CHARS, sql};
use nod_contract::card::{Action, feedback};
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::RunId;
use nod_people::ability::Plug;
use nod_store::ability::{Ability, Asker, Buttons, Forms, Submission};

/// Plugs in the buttons below an answer.
#[must_use]
pub fn plug() -> Plug {
    Box::new(|_| Ability {
        buttons: vec![Arc::new(Rating)],
        forms: vec![Arc::new(Explaining)],
        ..Ability::with_name("feedback")
    })
}

/// The two buttons.
struct Rating;

#[async_trait]
impl Buttons for Rating {
    fn action_kinds(&self) -> &'static [&'static str] {
        &[feedback::UP, feedback::DOWN]
    }

    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse> {
        let rating = sql::NewRating {
            run: RunId(verb.subject),
            person: asker.person,
            is_up: verb.kind == feedback::UP,
            why: None,
        };
        Ok(match sql::upsert(conn, asker.tenant, &rating, asker.now).await? {
            None => InteractionResponse::ephemeral(card::UNKNOWN_ANSWER),
            Some(_) if rating.is_up => InteractionResponse::Ephemeral(card::thanks()),
            Some(why) => InteractionResponse::Form(Box::new(card::why_form(rating.run, why))),
        })
    }
}

/// The form behind the second.
struct Explaining;

#[async_trait]
impl Forms for Explaining {
    fn form_kinds(&self) -> &'static [&'static str] {
        &[WHY_FORM]
    }

    async fn handle_submission(
        &self,
        conn: &mut PgConnection,
        submission: &Submission<'_>,
    ) -> sqlx::Result<InteractionResponse> {
        let why = readable(submission.values.get(WHY).map_or("", String::as_str));
        let rating = sql::NewRating {
            run: RunId(submission.verb.subject),
            person: submission.person,
            is_up: false,
            why: Some(&why),
        };
        Ok(match sql::upsert(conn, submission.tenant, &rating, submission.now).await? {
            None => InteractionResponse::ephemeral(card::UNKNOWN_ANSWER),
            Some(_) => InteractionResponse::FormAccepted(card::thanks()),
        })
    }
}

/// Returns as much of what was typed as is kept. The form has the same limit, which only a forged one exceeds.
fn readable(typed: &str) -> String {
    // Postgres does not store NUL.
    let typed: String = typed.trim().chars().filter(|c| *c != '\0').take(MAX_WHY_CHARS).collect();
    typed.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrong_is_cut_between_characters() {
        let long = "é👎".repeat(2_500);
        assert_eq!(readable(&long), "é👎".repeat(500));
        assert_eq!(readable("  Too\0 long. \n"), "Too long.");
        assert_eq!(readable(" \n"), "");
    }
}
