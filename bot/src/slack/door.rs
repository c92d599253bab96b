//! From a payload to the inbox and back: stored first, acknowledged then.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::card::{Card, FieldError, Form, Unopened};
use nod_contract::chat::{Immediate, Inbound, Place, What};
use nod_contract::clock::Clock;
use serde_json::{Value, json};

use crate::accept::{Accept, Arrival, NotStored, storable};

use super::adapter::SlackAdapter;
use super::inbound::{Heard, Identity, Kind, heard};
use super::{form, render};

/// How long storing may take. Slack waits three seconds for its acknowledgement.
const LIMIT: Duration = Duration::from_millis(2_500);

/// The door of one workspace.
#[derive(Clone)]
pub struct Door {
    identity: Identity,
    adapter: Arc<SlackAdapter>,
    accept: Accept,
    clock: Arc<dyn Clock>,
}

impl Door {
    pub(super) fn new(
        identity: Identity,
        adapter: Arc<SlackAdapter>,
        accept: Accept,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identity, adapter, accept, clock }
    }

    /// Takes a payload; `Ok` is to be acknowledged, with the payload inside where there is one.
    ///
    /// # Errors
    /// When it could not be stored in time.
    pub async fn take(&self, kind: Kind, payload: &Value) -> Result<Option<Value>, NotStored> {
        let inbound = match heard(kind, payload, &self.identity, self.clock.now()) {
            Heard::Inbound(inbound) => *inbound,
            Heard::Person(profile) => {
                let workspace = self.identity.team.clone();
                return self.store(Arrival::Person { workspace, profile: *profile }).await.map(|_| None);
            }
            Heard::Ignored(_) => return Ok(None),
            Heard::Unreadable(why) => return self.keep(why, payload.clone()).await.map(|()| None),
        };
        let immediate = self.store(Arrival::Inbound(inbound.clone())).await?;
        Ok(match &inbound.what {
            What::Submitted { .. } => Some(answer_to_form(immediate, &payload["view"])),
            _ => self.answer(immediate, &inbound, payload),
        })
    }

    /// What rides on the acknowledgement; everything else goes beside it.
    fn answer(&self, immediate: Immediate, inbound: &Inbound, payload: &Value) -> Option<Value> {
        match immediate {
            // Slack completes nothing.
            Immediate::Nothing | Immediate::Choices(_) => None,
            Immediate::Whisper(card) => self.whispered(inbound, card),
            Immediate::Errors(errors) => self.whispered(inbound, sentences(&errors)),
            Immediate::Form(form) => {
                let trigger = payload["trigger_id"].as_str().unwrap_or_default().to_owned();
                tokio::spawn(self.clone().open(trigger, *form, inbound.clone()));
                None
            }
        }
    }

    /// Opens a form while the press is acknowledged: its trigger lives for three seconds.
    async fn open(self, trigger: String, form: Form, inbound: Inbound) {
        let Some(place) = place_of(&inbound.what) else { return };
        let Err(error) = self.adapter.open(&trigger, &form, &place).await else { return };
        tracing::warn!(verb = form.verb.verb, channel = %place.channel, %error, "a form was not opened");
        let immediate = match form.unopened {
            Unopened::Say(words) => Immediate::Whisper(Card::say(words)),
            Unopened::Submit => {
                let values = form.fields.into_iter().map(|field| (field.id, field.value)).collect();
                let what = What::Submitted { place: Some(place.clone()), verb: Some(form.verb), values };
                let key = format!("unopened:{}", inbound.key);
                let submitted = Inbound { key, what, ..inbound.clone() };
                match self.store(Arrival::Inbound(submitted)).await {
                    Ok(immediate) => immediate,
                    Err(error) => {
                        tracing::error!(%error, "what stood in a form that did not open is lost");
                        Immediate::Whisper(Card::say(
                            "That did not work. Nothing was done; please press again.",
                        ))
                    }
                }
            }
        };
        match immediate {
            // A form in answer to one that did not open would not open either.
            Immediate::Nothing | Immediate::Form(_) | Immediate::Choices(_) => {}
            Immediate::Whisper(card) => self.whisper(&place, &inbound.author.user, &card).await,
            Immediate::Errors(errors) => {
                self.whisper(&place, &inbound.author.user, &sentences(&errors)).await;
            }
        }
    }

    /// Keeps what nobody can read, so that it can be looked at and, once it can be read, taken.
    ///
    /// # Errors
    /// When it could not be stored in time.
    pub async fn keep(&self, why: &'static str, raw: Value) -> Result<(), NotStored> {
        tracing::warn!(workspace = %self.identity.team, why, "kept a Slack payload that cannot be read");
        let arrival = Arrival::Unreadable { workspace: self.identity.team.clone(), raw: storable(raw) };
        self.store(arrival).await.map(|_| ())
    }

    async fn store(&self, arrival: Arrival) -> Result<Immediate, NotStored> {
        match tokio::time::timeout(LIMIT, (self.accept)(arrival)).await {
            Ok(answer) => answer,
            Err(_) => Err(NotStored(format!("nothing for {} ms", LIMIT.as_millis()))),
        }
    }

    /// A command's whisper rides on its acknowledgement; a press's or a message's goes after it.
    fn whispered(&self, inbound: &Inbound, card: Card) -> Option<Value> {
        if matches!(inbound.what, What::Command { .. }) {
            return Some(ephemeral(&card));
        }
        let (door, place) = (self.clone(), place_of(&inbound.what)?);
        let user = inbound.author.user.clone();
        tokio::spawn(async move { door.whisper(&place, &user, &card).await });
        None
    }

    async fn whisper(&self, place: &Place, user: &str, card: &Card) {
        if let Err(error) = self.adapter.whisper(place, user, card).await {
            tracing::warn!(channel = %place.channel, %user, %error, "a whisper was not shown");
        }
    }
}

/// Where somebody is told of what they did.
fn place_of(what: &What) -> Option<Place> {
    match what {
        What::Command { place, .. }
        | What::Completing { place, .. }
        | What::Pressed { place, .. }
        | What::Said { place, .. }
        | What::Edited { place, .. }
        | What::Deleted { place, .. }
        | What::PaneLooked { place, .. } => Some(place.clone()),
        // Nod may be no member where the message stands.
        What::Picked { .. } | What::HomeOpened => Some(nowhere()),
        What::Submitted { place, .. } => place.clone(),
    }
}

/// What a form that was sent is answered with. Words stand beside its first field, so that what was typed is
/// still there.
fn answer_to_form(immediate: Immediate, view: &Value) -> Value {
    match immediate {
        Immediate::Nothing | Immediate::Choices(_) => form::cleared(),
        Immediate::Errors(errors) => form::refused(view, &errors),
        Immediate::Whisper(card) => form::refused(view, &[FieldError::new("", render::fallback(&card))]),
        Immediate::Form(next) => {
            let place = form::carried(view).1.unwrap_or_else(nowhere);
            json!({"response_action": "update", "view": form::view(&next, &place)})
        }
    }
}

/// In no channel: what is said there goes to the person directly.
fn nowhere() -> Place {
    Place { channel: String::new(), direct: true, thread: None }
}

fn sentences(errors: &[FieldError]) -> Card {
    Card::say(errors.iter().map(|error| error.why.as_str()).collect::<Vec<_>>().join(" "))
}

fn ephemeral(card: &Card) -> Value {
    json!({"response_type": "ephemeral", "text": render::fallback(card), "blocks": render::blocks(card)})
}
