//! Presses on what a tool listed, such as [Archive] beside an email. A press begins a run that makes the stored call.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgConnection;

use super::{InboundContext, message};
use nod_agent::rows;
use nod_agent::state::TakenAction;
use nod_contract::card::quick_action::{QuickAction, TypedArgument};
use nod_contract::card::{Action, Field, FieldError, Form, FormFallback};
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_contract::ids::{DeliveryId, PersonId};
use nod_people::delivery;
use nod_store::jobs::sql as jobs;

const GONE: &str = "That's already been done or changed, so I did nothing.";
const NOT_YOURS: &str = "Only the person I answered can do that.";
/// What is typed there is for its reader alone, and what comes of it must be.
const ONLY_IN_DM: &str = "That only works in our direct messages. Nothing was done.";

/// Handles a press: asks for what has to be typed, or begins.
pub(super) async fn handle_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: &ChannelRef,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let action = match find(arrival, conn, verb, Some(place), person).await? {
        Ok(action) => action,
        Err(why) => return Ok(InteractionResponse::ephemeral(why)),
    };
    match &action.typed {
        Some(typed) => Ok(InteractionResponse::Form(Box::new(form(typed, verb)))),
        None => begin(arrival, conn, action, verb, place, person).await,
    }
}

/// Handles what was typed. If it comes too late, the form keeps it.
pub(super) async fn submit(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: Option<&ChannelRef>,
    values: &BTreeMap<String, String>,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let refused = |why: &str| Ok(InteractionResponse::FormErrors(vec![FieldError::new("", why)]));
    let mut action = match find(arrival, conn, verb, place, person).await? {
        Ok(action) => action,
        Err(why) => return refused(why),
    };
    let (Some(typed), Some(place)) = (action.typed.take(), place) else { return refused(GONE) };
    let text = values.get(&typed.name).map(|text| text.trim()).unwrap_or_default();
    if text.is_empty() {
        return refused("Please write something.");
    }
    action.arguments[&typed.name] = json!(text);
    begin(arrival, conn, action, verb, place, person).await
}

/// Returns the action that the button stands for, or why there is none for this person here.
async fn find(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: Option<&ChannelRef>,
    person: PersonId,
) -> sqlx::Result<Result<QuickAction, &'static str>> {
    let message = DeliveryId(verb.subject);
    let Some((shown, _)) = delivery::sql::load(conn, arrival.tenant, message).await? else {
        return Ok(Err(GONE));
    };
    if shown.only_for != Some(person) {
        return Ok(Err(NOT_YOURS));
    }
    if !place.is_some_and(|place| place.is_dm) {
        return Ok(Err(ONLY_IN_DM));
    }
    Ok(shown.card.quick_actions().find(|action| Some(action.number) == verb.argument).cloned().ok_or(GONE))
}

async fn begin(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    action: QuickAction,
    verb: &Action,
    place: &ChannelRef,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (tenant, message) = (arrival.tenant, DeliveryId(verb.subject));
    let thread = place.thread.as_deref().unwrap_or_default();
    let conversation =
        message::find_or_create_conversation(arrival, conn, place, Some(thread), person).await?;
    // The run's lane is locked before the message's row, as by its commits. Of two presses at once, the second waits here
    // and sees what the first began.
    jobs::lock_lane(conn, tenant, conversation.lane()).await?;
    let card = delivery::sql::lock_card(conn, tenant, message).await?;
    let found = card.as_ref().and_then(|card| card.quick_actions().find(|one| one.number == action.number));
    let Some(before) = found.map(|found| found.taken_by) else {
        return Ok(InteractionResponse::ephemeral(GONE));
    };
    // What has to be typed can be wanted twice.
    if let Some(before) = before.filter(|_| action.becomes.is_some())
        && rows::load(conn, tenant, before).await?.is_some_and(|run| run.is_active())
    {
        return Ok(InteractionResponse::ephemeral("I'm already on it."));
    }
    // What was typed is in the call alone: it is for somebody else, and says nothing to Nod.
    let words = message::RunRequest {
        person,
        conversation,
        text: &action.words,
        message: None,
        is_shared: false,
        quoted_message: None,
        is_first_in_thread: false,
        prepared_answer: None,
    };
    let number = action.number;
    let taken = TakenAction { message, action: action.clone(), is_done: false };
    let run =
        message::start_run_with(arrival, conn, &words, |state| state.taken_action = Some(taken)).await?;
    if let Some(mut card) = card {
        card.quick_actions_mut().filter(|one| one.number == number).for_each(|one| one.taken_by = Some(run));
        // Nothing that is seen changes, so nothing is posted.
        delivery::sql::update_card(conn, tenant, message, &card).await?;
    }
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
