//! What an interaction's token allows after the callback: the response and its follow-ups.

use serde_json::Value;

use super::super::entities::{EPHEMERAL, LOADING, Message};
use super::super::interactions::{Delivery, Interaction};
use super::super::rejection::Rejection;
use super::super::rules::{Before, content};
use super::super::world::World;
use super::messages::check_fields;
use super::{Answer, Request};

const FIELDS: [&str; 7] =
    ["content", "embeds", "allowed_mentions", "components", "attachments", "flags", "tts"];

/// Returns the interaction whose token is in the path.
fn alive(w: &World, request: &Request) -> Result<Interaction, Rejection> {
    let ours = request.param(0) == w.config.app.id;
    let found = w.interactions.iter().find(|i| ours && i.token == request.param(1));
    let found = found.ok_or_else(|| Rejection::unknown_resource("Webhook", 10015))?;
    if w.now() - found.created_at > w.config.token_lifetime {
        return Err(Rejection::expected(401, 50027, "Invalid Webhook Token"));
    }
    if found.state != Delivery::Acknowledged {
        return Err(Rejection::unknown_resource("Webhook", 10015));
    }
    Ok(found.clone())
}

/// Returns the message in the path, or the original response.
fn message(w: &World, request: &Request) -> Result<Message, Rejection> {
    let interaction = alive(w, request)?;
    let unknown = || Rejection::unknown_resource("Message", 10008);
    let id = match request.params.get(2) {
        Some(id) => id.clone(),
        None => interaction.original.clone().ok_or_else(unknown)?,
    };
    let found = w.message(&id).ok_or_else(unknown)?;
    let own = found.interaction.as_deref() == Some(interaction.id.as_str());
    let source = interaction.message.as_deref() == Some(id.as_str());
    if own || source { Ok(found.clone()) } else { Err(unknown()) }
}

pub(super) fn get(w: &mut World, request: &Request) -> Answer {
    let message = message(w, request)?;
    Ok((200, w.message_json(&message)))
}

pub(super) fn update(w: &mut World, request: &Request) -> Answer {
    let message = message(w, request)?;
    check_fields(&request.body, &FIELDS)?;
    let before = Before::Message { flags: message.flags };
    let said = content(&request.body, request.files.len(), before).map_err(Rejection::form)?;
    let after = w.rewrite(&message.id, said, &request.files).unwrap_or(message);
    Ok((200, w.message_json(&after)))
}

pub(super) fn delete(w: &mut World, request: &Request) -> Answer {
    let message = message(w, request)?;
    w.remove(&message.id);
    Ok((204, Value::Null))
}

pub(super) fn follow_up(w: &mut World, request: &Request) -> Answer {
    let interaction = alive(w, request)?;
    check_fields(&request.body, &FIELDS)?;
    let mut said =
        content(&request.body, request.files.len(), Before::Interaction).map_err(Rejection::form)?;
    // The first follow-up after a deferral is the deferred response, ephemeral only if the deferral was.
    let original = interaction.original.as_ref().and_then(|id| w.message(id)).cloned();
    if let Some(original) = original.filter(|m| m.flags & LOADING != 0) {
        said.flags = (said.flags & !EPHEMERAL) | (original.flags & EPHEMERAL);
        let after = w.rewrite(&original.id, said, &request.files).unwrap_or(original);
        return Ok((200, w.message_json(&after)));
    }
    let message = w.answering(&interaction, &said, request);
    Ok((200, w.message_json(&message)))
}
