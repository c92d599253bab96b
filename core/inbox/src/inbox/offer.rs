//! Presses on what a tool listed, such as [Archive] beside an email. A press begins a run that makes the stored call.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgConnection;

use super::{InboundContext, message};
use nod_agent::rows;
use nod_agent::state::TakenOffer;
use nod_contract::card::{Action, Card, Field, FieldError, Form, FormFallback};
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_contract::ids::{DeliveryId, PersonId};
use nod_contract::offer::{Offer, TypedArgument};
use nod_people::delivery;

const GONE: &str = "That was done or changed meanwhile. Nothing was done now.";
const NOT_YOURS: &str = "Only the person I answered can do that.";

/// Handles a press: asks for what has to be typed, or begins.
pub(super) async fn handle_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: &ChannelRef,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (card, offer) = match load(arrival, conn, verb, person).await? {
        Ok(found) => found,
        Err(why) => return Ok(InteractionResponse::ephemeral(why)),
    };
    match &offer.typed {
        Some(typed) => Ok(InteractionResponse::Form(Box::new(form(typed, verb)))),
        None => begin(arrival, conn, (card, offer), verb, Some(place), person).await,
    }
}

/// Handles what was typed.
pub(super) async fn submit(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: Option<&ChannelRef>,
    values: &BTreeMap<String, String>,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (card, mut offer) = match load(arrival, conn, verb, person).await? {
        Ok(found) => found,
        Err(why) => return Ok(InteractionResponse::ephemeral(why)),
    };
    let Some(typed) = offer.typed.take() else { return Ok(InteractionResponse::ephemeral(GONE)) };
    let text = values.get(&typed.name).map(|text| text.trim()).unwrap_or_default();
    if text.is_empty() {
        return Ok(InteractionResponse::FormErrors(vec![FieldError::new(
            &typed.name,
            "Please write something.",
        )]));
    }
    offer.words = format!("{} {text}", offer.words);
    offer.arguments[&typed.name] = json!(text);
    begin(arrival, conn, (card, offer), verb, place, person).await
}

/// Returns the message's card and the offer in it, or why there is none for this person.
async fn load(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<Result<(Card, Offer), &'static str>> {
    let message = DeliveryId(verb.subject);
    let Some((shown, _)) = delivery::sql::load(conn, arrival.tenant, message).await? else {
        return Ok(Err(GONE));
    };
    if shown.only_for != Some(person) {
        return Ok(Err(NOT_YOURS));
    }
    // Of two presses at once, the second sees what the first began.
    delivery::lock(conn, arrival.tenant, message).await?;
    let Some((shown, _)) = delivery::sql::load(conn, arrival.tenant, message).await? else {
        return Ok(Err(GONE));
    };
    let offer = shown.card.offers().find(|offer| Some(offer.number) == verb.argument).cloned();
    Ok(offer.map(|offer| (shown.card, offer)).ok_or(GONE))
}

async fn begin(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    (mut card, offer): (Card, Offer),
    verb: &Action,
    place: Option<&ChannelRef>,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (tenant, message) = (arrival.tenant, DeliveryId(verb.subject));
    // What has to be typed can be wanted twice.
    if let Some(run) = offer.taken_by.filter(|_| offer.becomes.is_some())
        && rows::load(conn, tenant, run).await?.is_some_and(|run| run.is_active())
    {
        return Ok(InteractionResponse::ephemeral("I'm already on it."));
    }
    let conversation = match place {
        Some(place) => {
            message::find_or_create_conversation(arrival, conn, place, place.is_dm.then_some(""), person)
                .await?
        }
        None => delivery::sql::load_delivery_target(conn, tenant, message).await?.0,
    };
    let words = message::RunRequest {
        person,
        conversation,
        text: &offer.words,
        message: None,
        is_shared: place.is_none_or(|place| !place.is_dm),
        quoted_message: None,
        is_first_in_thread: false,
        prepared_answer: None,
    };
    let number = offer.number;
    let taken = TakenOffer { message, offer: offer.clone(), is_done: false };
    let run = message::start_run_with(arrival, conn, &words, |state| state.taken_offer = Some(taken)).await?;
    card.offers_mut().filter(|one| one.number == number).for_each(|one| one.taken_by = Some(run));
    // Nothing that is seen changes, so nothing is posted.
    delivery::sql::update_card(conn, tenant, message, &card).await?;
    Ok(InteractionResponse::Ack)
}

fn form(typed: &TypedArgument, verb: &Action) -> Form {
    let field = Field {
        id: typed.name.clone(),
        label: typed.label.clone(),
        value: String::new(),
        multiline: true,
        max_chars: typed.max_chars,
        optional: false,
        accepts_recipients: false,
    };
    Form {
        title: typed.title.clone(),
        verb: verb.clone(),
        body: Vec::new(),
        fields: vec![field],
        submit: typed.submit.clone(),
        fallback: FormFallback::ShowText("The form didn't open. Please press again.".to_owned()),
    }
}
