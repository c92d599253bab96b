//! A person's working hours in `/nod settings`: shown only to them, and changed in a form.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgConnection;

use super::InboundContext;
use nod_contract::card::{Action, Block, Card, Form, FormFallback, OnClick, Style};
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::PersonId;
use nod_people::people::working_hours::{self, WorkingHours};
use nod_store::audit;

/// The action of the button, and of the form that it opens.
pub(super) const EDIT_HOURS_ACTION: &str = "edit_working_hours";

const NOT_YOUR_HOURS: &str = "Those are someone else's hours.";

/// Appends the person's hours to a card, with the button that changes them.
pub(super) async fn add_working_hours(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    card: Card,
    person: PersonId,
) -> sqlx::Result<Card> {
    let (settings, told) = working_hours::load(conn, arrival.tenant, person).await?;
    Ok(card
        .with_block(Block::Markdown(hours_sentence(&settings, told.as_deref())))
        .with_block(Block::Note(
            "Only you can see your hours. Others just see your local time, and “outside their working hours”."
                .to_owned(),
        ))
        .with_button("Edit my hours", Style::Plain, OnClick::Action(Action::new(EDIT_HOURS_ACTION, person))))
}

/// Handles a click on [Change my hours].
pub(super) async fn open(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    whose: PersonId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    if whose != person {
        return Ok(InteractionResponse::ephemeral(NOT_YOUR_HOURS));
    }
    let (settings, _) = working_hours::load(conn, arrival.tenant, person).await?;
    Ok(InteractionResponse::Form(Box::new(Form {
        fields: working_hours::form_fields(&settings),
        submit: "Save".to_owned(),
        ..form(person, Vec::new())
    })))
}

/// Saves the submitted form.
pub(super) async fn save(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    whose: PersonId,
    values: &BTreeMap<String, String>,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    if whose != person {
        return Ok(InteractionResponse::ephemeral(NOT_YOUR_HOURS));
    }
    let (tenant, now) = (arrival.tenant, arrival.now);
    let settings = match working_hours::parse(|id| values.get(id).cloned().unwrap_or_default()) {
        Ok(settings) => settings,
        Err(errors) => return Ok(InteractionResponse::FormErrors(errors)),
    };
    working_hours::save(conn, tenant, person, &settings, now).await?;
    audit::insert_entry(
        conn,
        tenant,
        Some(person),
        "person.working_hours_changed",
        person.0,
        None,
        &json!({}),
        now,
    )
    .await?;
    let (settings, told) = working_hours::load(conn, tenant, person).await?;
    let saved = format!("Saved. {}", hours_sentence(&settings, told.as_deref()));
    Ok(InteractionResponse::Form(Box::new(form(person, vec![Block::Markdown(saved)]))))
}

fn form(person: PersonId, body: Vec<Block>) -> Form {
    Form {
        title: "Your hours".to_owned(),
        verb: Action::new(EDIT_HOURS_ACTION, person),
        body,
        fields: Vec::new(),
        submit: String::new(),
        fallback: FormFallback::ShowText(
            "The form didn't open. Please press Edit my hours again.".to_owned(),
        ),
    }
}

/// Returns "Your hours: Mon–Fri 09:00–17:00, Europe/Lisbon." `told` is the time zone from the platform's profile.
fn hours_sentence(settings: &WorkingHours, told: Option<&str>) -> String {
    let zone = match (&settings.zone, told) {
        (Some(set), _) => format!("{set}."),
        (None, Some(told)) => format!("{told} (from your chat profile)."),
        (None, None) => "in UTC: I don't know your time zone yet. Please set it.".to_owned(),
    };
    let minutes = |minutes: i32, what: &str| match minutes {
        0 => String::new(),
        1 => format!(" 1 minute {what}."),
        many => format!(" {many} minutes {what}."),
    };
    format!(
        "Your hours: **{}**, {zone}{}{}",
        settings.week(),
        minutes(settings.buffer, "free before and after meetings"),
        minutes(settings.notice, "notice for a meeting")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_sentence_names_the_source_of_the_zone() {
        let usual = WorkingHours::default();
        let week = "Your hours: **Mon–Fri 09:00–17:00**, ";
        assert_eq!(
            hours_sentence(&usual, Some("Europe/Lisbon")),
            format!("{week}Europe/Lisbon (from your chat profile).")
        );
        assert_eq!(
            hours_sentence(&usual, None),
            format!("{week}in UTC: I don't know your time zone yet. Please set it.")
        );
        let set = WorkingHours { zone: Some("Asia/Tokyo".into()), buffer: 1, notice: 60, ..usual };
        assert_eq!(
            hours_sentence(&set, Some("Europe/Lisbon")),
            format!(
                "{week}Asia/Tokyo. 1 minute free before and after meetings. 60 minutes notice for a meeting."
            )
        );
    }
}
