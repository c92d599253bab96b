//! From a payload to the inbox and back: stored first, acknowledged then.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::card::{Card, FieldError, Form, FormFallback};
use nod_contract::chat::{ChannelRef, Event, Inbound, InteractionResponse};
use nod_contract::clock::Clock;
use serde_json::{Value, json};

use crate::ingest::{Accept, IncomingPayload, StoreError, remove_secrets_and_nuls};

use super::adapter::SlackAdapter;
use super::inbound::{Identity, ParseOutcome, PayloadKind, parse_payload};
use super::{form, render};

/// How long storing can take. Slack waits three seconds for its acknowledgement.
const LIMIT: Duration = Duration::from_millis(2_500);

/// The event intake of one workspace.
#[derive(Clone)]
pub struct Ingestor {
    identity: Identity,
    adapter: Arc<SlackAdapter>,
    accept: Accept,
    clock: Arc<dyn Clock>,
}

impl Ingestor {
    pub(super) fn new(
        identity: Identity,
        adapter: Arc<SlackAdapter>,
        accept: Accept,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identity, adapter, accept, clock }
    }

    /// Handles a payload. `Ok` is to be acknowledged, with the payload inside if there is one.
    ///
    /// # Errors
    /// If it could not be stored in time.
    pub async fn handle_payload(
        &self,
        kind: PayloadKind,
        payload: &Value,
    ) -> Result<Option<Value>, StoreError> {
        let inbound = match parse_payload(kind, payload, &self.identity, self.clock.now()) {
            ParseOutcome::Inbound(inbound) => *inbound,
            ParseOutcome::Person(profile) => {
                let workspace = self.identity.team.clone();
                return self
                    .store(IncomingPayload::Person { workspace, profile: *profile })
                    .await
                    .map(|_| None);
            }
            ParseOutcome::Ignored(_) => return Ok(None),
            ParseOutcome::Unreadable(why) => {
                return self.store_unreadable(why, payload.clone()).await.map(|()| None);
            }
        };
        let immediate = self.store(IncomingPayload::Inbound(inbound.clone())).await?;
        Ok(match &inbound.event {
            Event::FormSubmitted { .. } => Some(self.view_response(immediate, &inbound, &payload["view"])),
            _ => self.answer(immediate, &inbound, payload),
        })
    }

    /// Returns the part of the response that the acknowledgement carries; the rest is sent separately.
    fn answer(&self, immediate: InteractionResponse, inbound: &Inbound, payload: &Value) -> Option<Value> {
        match immediate {
            // Slack has no autocomplete.
            InteractionResponse::Ack | InteractionResponse::Autocomplete(_) => None,
            InteractionResponse::Ephemeral(card) | InteractionResponse::FormAccepted(card) => {
                self.ephemeral_acknowledgement(inbound, card)
            }
            InteractionResponse::Replacement(card) => match payload["response_url"].as_str() {
                Some(url) => {
                    tokio::spawn(self.clone().replace_original(url.to_owned(), card, inbound.clone()));
                    None
                }
                None => self.ephemeral_acknowledgement(inbound, card),
            },
            InteractionResponse::FormErrors(errors) => {
                self.ephemeral_acknowledgement(inbound, sentences(&errors))
            }
            InteractionResponse::Form(form) => {
                let trigger = payload["trigger_id"].as_str().unwrap_or_default().to_owned();
                tokio::spawn(self.clone().open_form(trigger, *form, inbound.clone()));
                None
            }
        }
    }

    /// Opens a form while the click is acknowledged: its trigger expires after three seconds.
    async fn open_form(self, trigger: String, form: Form, inbound: Inbound) {
        let Some(place) = event_location(&inbound.event) else { return };
        let Err(error) = self.adapter.open(&trigger, &form, &place).await else { return };
        tracing::warn!(verb = form.verb.kind, channel = %place.channel, %error, "could not open a form");
        let immediate = match form.fallback {
            FormFallback::ShowText(words) => InteractionResponse::Ephemeral(Card::from_markdown(words)),
            FormFallback::Submit => {
                let values = form.fields.into_iter().map(|field| (field.id, field.value)).collect();
                let what = Event::FormSubmitted { place: Some(place.clone()), verb: Some(form.verb), values };
                let key = format!("unopened:{}", inbound.dedup_key);
                let submitted = Inbound { dedup_key: key, event: what, ..inbound.clone() };
                match self.store(IncomingPayload::Inbound(submitted)).await {
                    Ok(immediate) => immediate,
                    Err(error) => {
                        tracing::error!(%error, "could not store the input of a form that did not open");
                        InteractionResponse::Ephemeral(Card::from_markdown(
                            "That didn't work. Please press again.",
                        ))
                    }
                }
            }
        };
        match immediate {
            // A form in response to one that did not open would not open either.
            InteractionResponse::Ack
            | InteractionResponse::Form(_)
            | InteractionResponse::Autocomplete(_) => {}
            InteractionResponse::Ephemeral(card)
            | InteractionResponse::FormAccepted(card)
            | InteractionResponse::Replacement(card) => {
                self.post_ephemeral(&place, &inbound.author.user, &card).await
            }
            InteractionResponse::FormErrors(errors) => {
                self.post_ephemeral(&place, &inbound.author.user, &sentences(&errors)).await;
            }
        }
    }

    /// Stores a payload that cannot be parsed, so that it can be inspected and processed once it can be parsed.
    ///
    /// # Errors
    /// If it could not be stored in time.
    pub async fn store_unreadable(&self, why: &'static str, raw: Value) -> Result<(), StoreError> {
        tracing::warn!(workspace = %self.identity.team, why, "stored an unreadable Slack payload");
        let arrival = IncomingPayload::Unreadable {
            workspace: self.identity.team.clone(),
            raw: remove_secrets_and_nuls(raw),
        };
        self.store(arrival).await.map(|_| ())
    }

    async fn store(&self, arrival: IncomingPayload) -> Result<InteractionResponse, StoreError> {
        match tokio::time::timeout(LIMIT, (self.accept)(arrival)).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError(format!("timeout of {} ms", LIMIT.as_millis()))),
        }
    }

    /// Answers with an ephemeral message: for a command in its acknowledgement, for a click or a message after it.
    fn ephemeral_acknowledgement(&self, inbound: &Inbound, card: Card) -> Option<Value> {
        if matches!(inbound.event, Event::Command { .. }) {
            return Some(ephemeral(&card));
        }
        let (door, place) = (self.clone(), event_location(&inbound.event)?);
        let user = inbound.author.user.clone();
        tokio::spawn(async move { door.post_ephemeral(&place, &user, &card).await });
        None
    }

    /// Replaces the ephemeral message that was clicked. If that fails, its author sees the same below it.
    async fn replace_original(self, url: String, card: Card, inbound: Inbound) {
        let body = json!({
            "replace_original": true, "text": render::fallback(&card), "blocks": render::blocks(&card),
        });
        let Err(error) = self.adapter.web.respond(&url, &body).await else { return };
        tracing::warn!(%error, "could not replace an ephemeral message");
        if let Some(place) = event_location(&inbound.event) {
            self.post_ephemeral(&place, &inbound.author.user, &card).await;
        }
    }

    /// Returns the response to a submitted form. A message is shown at its first field, so that the input is kept; the note
    /// of a form that was accepted follows where it was opened.
    fn view_response(&self, immediate: InteractionResponse, inbound: &Inbound, view: &Value) -> Value {
        match immediate {
            InteractionResponse::Ack | InteractionResponse::Autocomplete(_) => form::clear_response(),
            InteractionResponse::FormAccepted(card) => {
                self.ephemeral_acknowledgement(inbound, card);
                form::clear_response()
            }
            InteractionResponse::FormErrors(errors) => form::errors_response(view, &errors),
            InteractionResponse::Ephemeral(card) | InteractionResponse::Replacement(card) => {
                form::errors_response(view, &[FieldError::new("", render::fallback(&card))])
            }
            InteractionResponse::Form(next) => {
                let place = form::parse_private_metadata(view).1.unwrap_or_else(no_channel);
                json!({"response_action": "update", "view": form::view(&next, &place)})
            }
        }
    }

    async fn post_ephemeral(&self, place: &ChannelRef, user: &str, card: &Card) {
        if let Err(error) = self.adapter.post_ephemeral(place, user, card).await {
            tracing::warn!(channel = %place.channel, %user, %error, "could not post an ephemeral message");
        }
    }
}

/// Returns where the user is notified.
fn event_location(what: &Event) -> Option<ChannelRef> {
    match what {
        Event::Command { place, .. }
        | Event::Autocomplete { place, .. }
        | Event::ButtonClicked { place, .. }
        | Event::Message { place, .. }
        | Event::MessageEdited { place, .. }
        | Event::MessageDeleted { place, .. }
        | Event::AssistantThreadOpened { place, .. } => Some(place.clone()),
        // Nod may not be a member of the message's channel.
        Event::MessageAction { .. } | Event::HomeOpened => Some(no_channel()),
        Event::JoinedChannel { .. } => None,
        Event::FormSubmitted { place, .. } => place.clone(),
    }
}

/// No channel: the message goes to the user's DM.
fn no_channel() -> ChannelRef {
    ChannelRef { channel: String::new(), is_dm: true, thread: None }
}

fn sentences(errors: &[FieldError]) -> Card {
    Card::from_markdown(errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join(" "))
}

fn ephemeral(card: &Card) -> Value {
    json!({"response_type": "ephemeral", "text": render::fallback(card), "blocks": render::blocks(card)})
}
