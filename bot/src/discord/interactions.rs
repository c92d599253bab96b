//! Clicks, commands, forms and autocomplete: each is answered within Discord's three seconds, whatever happens, and
//! with the result itself if that is quick.

use std::pin::pin;
use std::time::Duration;

use nod_contract::card::{Block, Card, Form, FormFallback};
use nod_contract::chat::{ChatAdapter, ChatError, DeliveryTarget, Event, Inbound, InteractionResponse};
use nod_contract::ids::DeliveryId;
use nod_people::delivery;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use uuid::Uuid;

use super::inbound::{self, ParseOutcome};
use super::ingest::{Ingestor, pauses};
use super::limits::truncate_label;
use super::{form, render};
use crate::ingest::IncomingPayload;

/// How long storing can take before the answer is deferred: Discord waits three seconds.
const STORE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long the lookup of the interaction's channel can take before that.
const CHANNEL_LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a deferred interaction can be answered: Discord's token is valid one minute longer.
const TOKEN_LIVES: Duration = Duration::from_secs(14 * 60);
/// Discord's numbers of interaction types and of the responses.
const MESSAGE_COMPONENT: u64 = 3;
const AUTOCOMPLETE: u64 = 4;
const FORM: u64 = 5;
const CHANNEL_MESSAGE: u64 = 4;
const DEFERRED_CHANNEL_MESSAGE: u64 = 5;
const DEFERRED_UPDATE_MESSAGE: u64 = 6;
const UPDATE_MESSAGE: u64 = 7;
const CHOICES: u64 = 8;
const MODAL: u64 = 9;
/// The maximum length of a choice's label.
const CHOICE: usize = 100;
/// How much of a long text goes into one message.
const PAGE: usize = 3_000;
/// How many rate-limit waits are made before the text is posted elsewhere.
const MAX_RATE_LIMIT_WAITS: usize = 3;
/// Visible only to the interaction's author.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// An interaction that waits for its answer.
struct PendingInteraction {
    /// Its id and its token.
    id: String,
    token: String,
    /// Its type.
    kind: u64,
    user: String,
    /// Whether it is a form that was opened from a message.
    is_from_message: bool,
    /// When it arrived.
    since: Instant,
}

impl Ingestor {
    /// Handles an interaction.
    pub(super) async fn handle_interaction(self, event: Value) {
        let Some(asked) = PendingInteraction::read(&event) else {
            return self.store_unreadable("interaction without id or token", &event).await;
        };
        let adapter = &self.adapter;
        adapter.channel_index.note(&event["channel"], event["guild_id"].as_str());
        let channel = event["channel_id"].as_str().unwrap_or_default();
        // The event itself nearly always contains the channel.
        let place = match tokio::time::timeout(
            CHANNEL_LOOKUP_TIMEOUT,
            adapter.channel_index.load_location(&adapter.web, channel),
        )
        .await
        {
            Ok(Ok(place)) => place,
            unknown => {
                tracing::warn!(channel, ?unknown, "could not look up the channel of an interaction");
                return self.reply_ephemeral_now(&asked, &Card::from_markdown(FAILED)).await;
            }
        };
        // An autocomplete token cannot be used to post anything.
        if asked.kind != AUTOCOMPLETE {
            adapter.tokens.insert(&asked.user, &place, &asked.token);
        }
        match inbound::interaction(&event, place, &adapter.identity) {
            ParseOutcome::Inbound(inbound) if asked.kind == AUTOCOMPLETE => {
                self.answer_autocomplete(&asked, *inbound).await
            }
            ParseOutcome::Inbound(inbound) => self.store_and_answer(&asked, *inbound, &event).await,
            ParseOutcome::Ignored(_) => {
                self.reply_ephemeral_now(&asked, &Card::from_markdown(UNSUPPORTED)).await
            }
            ParseOutcome::Unreadable(why) => {
                self.store_unreadable(why, &event).await;
                self.reply_ephemeral_now(&asked, &Card::from_markdown(FAILED)).await;
            }
        }
    }

    /// Answers with completions; with none if they cannot be computed in time.
    async fn answer_autocomplete(&self, asked: &PendingInteraction, inbound: Inbound) {
        let looked = tokio::time::timeout(STORE_TIMEOUT, self.store(IncomingPayload::Inbound(inbound))).await;
        let choices = match looked {
            Ok(Ok(InteractionResponse::Autocomplete(choices))) => choices,
            _ => Vec::new(),
        };
        let shown = |(words, value): &(String, String)| json!({"name": truncate_label(words, CHOICE), "value": value});
        let choices: Vec<Value> = choices.iter().map(shown).collect();
        self.respond_first(asked, CHOICES, json!({"choices": choices})).await;
    }

    /// Stores it, and answers with the result if that is quick.
    async fn store_and_answer(&self, asked: &PendingInteraction, inbound: Inbound, event: &Value) {
        let mut storing = pin!(self.store_in_time(asked, inbound.clone()));
        let (immediate, first) = tokio::select! {
            immediate = &mut storing => (immediate, true),
            () = tokio::time::sleep(STORE_TIMEOUT) => {
                self.defer_reply(asked).await;
                (storing.await, false)
            }
        };
        match immediate {
            InteractionResponse::Ack | InteractionResponse::Autocomplete(_) if first => {
                self.acknowledge(asked).await
            }
            InteractionResponse::Ack | InteractionResponse::Autocomplete(_) => {
                self.finish_deferred(asked).await
            }
            InteractionResponse::Ephemeral(card) | InteractionResponse::FormAccepted(card) => {
                self.reply_ephemeral(asked, &card, first).await;
            }
            InteractionResponse::Replacement(card) => self.replace_original(asked, &card, first).await,
            InteractionResponse::FormErrors(errors) => {
                let card = with_submitted_text(form::errors(&errors), &event["data"]);
                self.reply_ephemeral(asked, &card, first).await;
            }
            InteractionResponse::Form(form) => self.open_form(asked, *form, &inbound, first).await,
        }
    }

    /// Stores it, retrying while the database fails, for as long as the answer can still be given. Its key keeps it
    /// single even if an attempt was committed without a reply.
    async fn store_in_time(&self, asked: &PendingInteraction, inbound: Inbound) -> InteractionResponse {
        let tries = async {
            // The last delay is the longest, and is repeated from then on.
            let mut pauses = pauses();
            let mut pause = Duration::ZERO;
            loop {
                match self.store(IncomingPayload::Inbound(inbound.clone())).await {
                    Ok(immediate) => return immediate,
                    Err(error) => {
                        tracing::warn!(interaction = asked.id, %error, "retrying to store an interaction");
                    }
                }
                pause = pauses.next().unwrap_or(pause);
                tokio::time::sleep(pause).await;
            }
        };
        tokio::time::timeout(TOKEN_LIVES.saturating_sub(asked.since.elapsed()), tries).await.unwrap_or_else(
            |_| {
                tracing::error!(interaction = asked.id, "gave up storing an interaction");
                InteractionResponse::ephemeral(UNKNOWN_OUTCOME)
            },
        )
    }

    /// Opens a form, which must be the very first response.
    async fn open_form(&self, asked: &PendingInteraction, form: Form, inbound: &Inbound, first: bool) {
        if form.fields.is_empty() {
            return self.show_form_text(asked, &form, first).await;
        }
        // Discord does not open a form in response to a form.
        let can = first && asked.kind != FORM && form::fits_in_modal(&form);
        if can && self.post_callback(asked, MODAL, form::modal(&form)).await.is_ok() {
            return;
        }
        tracing::warn!(verb = form.verb.kind, interaction = asked.id, "could not open a form");
        let immediate = match form.fallback {
            // Another click would change nothing.
            FormFallback::ShowText(_) if !form::fits_in_modal(&form) => {
                InteractionResponse::ephemeral(TOO_LONG)
            }
            FormFallback::ShowText(words) => InteractionResponse::ephemeral(words),
            FormFallback::Submit => {
                let values = form.fields.into_iter().map(|field| (field.id, field.value)).collect();
                let place = match &inbound.event {
                    Event::ButtonClicked { place, .. } | Event::Command { place, .. } => Some(place.clone()),
                    _ => None,
                };
                let what = Event::FormSubmitted { place, verb: Some(form.verb), values };
                let key = format!("unopened:{}", inbound.dedup_key);
                let submitted = Inbound { dedup_key: key, event: what, ..inbound.clone() };
                self.store_in_time(asked, submitted).await
            }
        };
        match immediate {
            InteractionResponse::Ephemeral(card)
            | InteractionResponse::FormAccepted(card)
            | InteractionResponse::Replacement(card) => {
                self.reply_ephemeral(asked, &card, first).await;
            }
            InteractionResponse::FormErrors(errors) => {
                self.reply_ephemeral(asked, &form::errors(&errors), first).await
            }
            InteractionResponse::Ack
            | InteractionResponse::Form(_)
            | InteractionResponse::Autocomplete(_) => self.acknowledge(asked).await,
        }
    }

    /// Shows a form that is only to be read as messages: a modal needs an input.
    async fn show_form_text(&self, asked: &PendingInteraction, form: &Form, first: bool) {
        for (n, card) in pages(form).iter().enumerate() {
            self.reply_ephemeral(asked, card, first && n == 0).await;
        }
    }

    /// Acknowledges the interaction; what the user sees comes as a message.
    async fn acknowledge(&self, asked: &PendingInteraction) {
        if asked.kind == MESSAGE_COMPONENT || asked.is_from_message {
            self.respond_first(asked, DEFERRED_UPDATE_MESSAGE, Value::Null).await;
        } else {
            self.reply_ephemeral_now(asked, &Card::from_markdown(IN_PROGRESS)).await;
        }
    }

    /// Defers the response.
    async fn defer_reply(&self, asked: &PendingInteraction) {
        if asked.kind == MESSAGE_COMPONENT || asked.is_from_message {
            self.respond_first(asked, DEFERRED_UPDATE_MESSAGE, Value::Null).await;
        } else {
            self.respond_first(asked, DEFERRED_CHANNEL_MESSAGE, json!({"flags": EPHEMERAL})).await;
        }
    }

    /// Ends a deferred response that has no content.
    async fn finish_deferred(&self, asked: &PendingInteraction) {
        if asked.kind != MESSAGE_COMPONENT && !asked.is_from_message {
            self.reply_ephemeral(asked, &Card::from_markdown(IN_PROGRESS), false).await;
        }
    }

    /// Replaces the message that was clicked. If that fails, its author sees the same below it.
    async fn replace_original(&self, asked: &PendingInteraction, card: &Card, first: bool) {
        let body = render::message(card, None);
        let replaced = if asked.kind != MESSAGE_COMPONENT {
            Err(ChatError::Rejected { code: "no message was clicked".to_owned() })
        } else if first {
            self.post_callback(asked, UPDATE_MESSAGE, body).await
        } else {
            let base = format!("webhooks/{}/{}", self.adapter.identity.application, asked.token);
            self.adapter.web.edit_response(&format!("{base}/messages/@original"), &body).await
        };
        if replaced.is_err() {
            self.reply_ephemeral(asked, card, first).await;
        }
    }

    async fn reply_ephemeral(&self, asked: &PendingInteraction, card: &Card, first: bool) {
        if first {
            self.reply_ephemeral_now(asked, card).await
        } else {
            self.reply_ephemeral_deferred(asked, card).await
        }
    }

    async fn reply_ephemeral_now(&self, asked: &PendingInteraction, card: &Card) {
        if self.post_callback(asked, CHANNEL_MESSAGE, render::ephemeral(card)).await.is_err() {
            self.send_dm(asked, card).await;
        }
    }

    async fn reply_ephemeral_deferred(&self, asked: &PendingInteraction, card: &Card) {
        let base = format!("webhooks/{}/{}", self.adapter.identity.application, asked.token);
        let body = render::ephemeral(card);
        for _ in 0..MAX_RATE_LIMIT_WAITS {
            let answered = if asked.kind == MESSAGE_COMPONENT || asked.is_from_message {
                self.adapter.web.respond_to_interaction(&base, &body).await
            } else {
                self.adapter.web.edit_response(&format!("{base}/messages/@original"), &body).await
            };
            match answered {
                Ok(_) => return,
                // The token is valid longer than that, and no page in the middle must be missing.
                Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
                    tokio::time::sleep(Duration::from_secs(after_seconds)).await;
                }
                Err(_) => break,
            }
        }
        self.send_dm(asked, card).await;
    }

    /// The interaction can no longer be answered: post to the person's DM.
    async fn send_dm(&self, asked: &PendingInteraction, card: &Card) {
        let workspace = self.adapter.identity.application.clone();
        let target = DeliveryTarget::DirectMessage { workspace, user: asked.user.clone() };
        let key = DeliveryId(asked.key(card));
        if let Err(error) = self.adapter.post_message(&target, card, key).await {
            tracing::warn!(interaction = asked.id, %error, "could not show the response to an interaction");
        }
    }

    async fn respond_first(&self, asked: &PendingInteraction, kind: u64, data: Value) {
        if let Err(error) = self.post_callback(asked, kind, data).await {
            tracing::warn!(interaction = asked.id, kind, %error, "could not respond to an interaction");
        }
    }

    async fn post_callback(
        &self,
        asked: &PendingInteraction,
        kind: u64,
        data: Value,
    ) -> Result<Value, ChatError> {
        let path = format!("interactions/{}/{}/callback", asked.id, asked.token);
        let body = if data.is_null() { json!({"type": kind}) } else { json!({"type": kind, "data": data}) };
        self.adapter.web.respond_to_interaction(&path, &body).await
    }
}

impl PendingInteraction {
    /// Returns the delivery id under which the DM can be found.
    fn key(&self, card: &Card) -> Uuid {
        // Each page is a message of its own.
        let said = render::ephemeral(card).to_string();
        let digest = Sha256::new().chain_update(&self.id).chain_update(said).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Uuid::from_bytes(bytes)
    }

    fn read(event: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kind = event["type"].as_u64()?;
        Some(Self {
            id: text(&event["id"])?,
            token: text(&event["token"])?,
            kind,
            user: text(&event["member"]["user"]["id"]).or_else(|| text(&event["user"]["id"]))?,
            is_from_message: kind == FORM && event["message"].is_object(),
            since: Instant::now(),
        })
    }
}

/// Splits a form that only shows something into messages.
fn pages(form: &Form) -> Vec<Card> {
    let whole = Card { title: Some(form.title.clone()), body: form.body.clone(), ..Card::default() };
    delivery::split_into_messages(&whole, PAGE, render::fits_in_one_message)
}

/// Adds the typed values, as far as one message shows them, because a form closes when it is submitted.
fn with_submitted_text(card: Card, data: &Value) -> Card {
    let typed = form::typed_rows(data);
    if typed.is_empty() { card } else { card.with_block(Block::Fields(typed)) }
}

/// The database may have committed it without replying in time.
const UNKNOWN_OUTCOME: &str =
    "I'm not sure that reached me. Check the card in a moment, and press again only if nothing has changed.";
const FAILED: &str = "That didn't work. Please try again.";
const TOO_LONG: &str =
    "That's too long for a form on Discord. Tell me here what to change, and I'll prepare a new one.";
const UNSUPPORTED: &str = "I can't do that yet.";
const IN_PROGRESS: &str = "On it.";
