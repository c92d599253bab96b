//! The only callback that an interaction can get.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::entities::{EPHEMERAL, Form, LOADING, Message};
use super::super::interactions::{Delivery, Interaction};
use super::super::rejection::Rejection;
use super::super::rules::{Before, Content, content, modal_broken};
use super::super::world::World;
use super::messages::check_fields;
use super::{Answer, Request};

const FIELDS: [&str; 7] =
    ["content", "embeds", "allowed_mentions", "components", "attachments", "flags", "tts"];

pub(super) fn respond(w: &mut World, request: &Request) -> Answer {
    let interaction = find_open_interaction(w, request)?;
    let body = &request.body;
    check_fields(body, &["type", "data"])?;
    let kind = body["type"].as_u64().unwrap_or_default();
    if !allowed(&interaction, kind) {
        let what = format!("Type {kind} does not answer an interaction of type {}.", interaction.kind);
        return Err(Rejection::field("type", &what));
    }
    let data = &body["data"];
    let shown = match kind {
        4 => say(w, &interaction, data, request)?,
        5 => defer(w, &interaction, data)?,
        6 => keep_message(w, &interaction, body)?,
        7 => update(w, &interaction, data, request)?,
        8 => validate_autocomplete_choices(data)?,
        _ => modal(w, &interaction, data)?,
    };
    if interaction.kind == 5 {
        w.forms.iter_mut().filter(|f| f.user == interaction.user).for_each(|f| f.open = false);
    }
    w.record_response(&interaction.id, body.clone());
    if request.query.get("with_response").is_none_or(|r| r != "true") {
        return Ok((204, Value::Null));
    }
    let told = json!({"id": interaction.id, "type": interaction.kind});
    Ok((200, json!({"interaction": told, "resource": {"type": kind, "message": shown}})))
}

/// Returns an interaction that can still be answered.
fn find_open_interaction(w: &World, request: &Request) -> Result<Interaction, Rejection> {
    let known = |i: &&Interaction| i.id == request.param(0) && i.token == request.param(1);
    let found = w.interactions.iter().find(known);
    let unknown = || Rejection::unknown_resource("interaction", 10062);
    let found = found.ok_or_else(unknown)?;
    if found.state == Delivery::Acknowledged {
        let said = "Interaction has already been acknowledged.";
        return Err(Rejection::violation(400, 40060, said));
    }
    if w.now() - found.created_at > w.config.interaction_timeout {
        return Err(unknown());
    }
    Ok(found.clone())
}

fn allowed(interaction: &Interaction, kind: u64) -> bool {
    match interaction.kind {
        2 => matches!(kind, 4 | 5 | 9),
        3 => matches!(kind, 4..=7 | 9),
        4 => kind == 8,
        5 => matches!(kind, 4 | 5) || (matches!(kind, 6 | 7) && interaction.message.is_some()),
        _ => false,
    }
}

impl World {
    /// Adds a message that responds to an interaction; it is ephemeral if the flags say so.
    pub(super) fn answering(&mut self, to: &Interaction, said: &Content, request: &Request) -> Message {
        let mut message = self.build_bot_message(&to.channel, said, &request.files);
        message.kind = if to.kind == 2 { 20 } else { 0 };
        message.interaction = Some(to.id.clone());
        message.only = (said.flags & EPHEMERAL != 0).then(|| to.user.clone());
        self.side_effects(&message, &said.allowed);
        self.keep(message.clone());
        message
    }

    pub(super) fn set_original(&mut self, interaction: &str, message: &str) {
        if let Some(interaction) = self.interaction_mut(interaction) {
            interaction.original = Some(message.to_owned());
        }
    }
}

fn say(w: &mut World, to: &Interaction, data: &Value, request: &Request) -> Result<Value, Rejection> {
    check_fields(data, &FIELDS)?;
    let said = content(data, request.files.len(), Before::Interaction).map_err(Rejection::form)?;
    let message = w.answering(to, &said, request);
    w.set_original(&to.id, &message.id);
    Ok(w.message_json(&message))
}

/// Creates a deferred response. Whether it is ephemeral is decided here and cannot be changed later.
fn defer(w: &mut World, to: &Interaction, data: &Value) -> Result<Value, Rejection> {
    let flags = data["flags"].as_u64().unwrap_or_default();
    let bare = data.is_null() || data.as_object().is_some_and(|d| d.keys().all(|k| k == "flags"));
    if !bare || flags & !EPHEMERAL != 0 {
        return Err(Rejection::field("data", "Only the flag EPHEMERAL can be set while the answer is made."));
    }
    let said = Content { flags: flags | LOADING, ..Content::default() };
    let mut message = w.build_bot_message(&to.channel, &said, &[]);
    message.kind = if to.kind == 2 { 20 } else { 0 };
    message.interaction = Some(to.id.clone());
    message.only = (flags & EPHEMERAL != 0).then(|| to.user.clone());
    w.keep(message.clone());
    w.set_original(&to.id, &message.id);
    Ok(w.message_json(&message))
}

fn keep_message(w: &mut World, to: &Interaction, body: &Value) -> Result<Value, Rejection> {
    if !body["data"].is_null() {
        return Err(Rejection::field("data", "Has no place here."));
    }
    let message = to.message.clone().unwrap_or_default();
    w.set_original(&to.id, &message);
    Ok(Value::Null)
}

fn update(w: &mut World, to: &Interaction, data: &Value, request: &Request) -> Result<Value, Rejection> {
    check_fields(data, &FIELDS)?;
    let id = to.message.clone().unwrap_or_default();
    let Some(before) = w.message(&id) else { return Err(Rejection::unknown_resource("Message", 10008)) };
    let before = Before::Message { flags: before.flags };
    let said = content(data, request.files.len(), before).map_err(Rejection::form)?;
    let after = w.rewrite(&id, said, &request.files);
    w.set_original(&to.id, &id);
    Ok(after.map(|m| w.message_json(&m)).unwrap_or_default())
}

fn validate_autocomplete_choices(data: &Value) -> Result<Value, Rejection> {
    let wrong = |said: &str| Err(Rejection::field("data/choices", said));
    let Some(choices) = data["choices"].as_array() else { return wrong("This field is required.") };
    if choices.len() > 25 {
        return wrong("Must be 25 or fewer in length.");
    }
    let fits = |v: &Value| v.as_str().is_none_or(|t| (1..=100).contains(&t.chars().count()));
    if !choices.iter().all(|c| c["name"].is_string() && fits(&c["name"]) && fits(&c["value"])) {
        return wrong("Names and values have 1 to 100 letters.");
    }
    Ok(Value::Null)
}

fn modal(w: &mut World, to: &Interaction, data: &Value) -> Result<Value, Rejection> {
    let broken = modal_broken(data);
    if !broken.is_empty() {
        return Err(Rejection::form(broken));
    }
    let mut modal = data.clone();
    let filled =
        super::super::rules::component_ids(modal["components"].as_array().map_or(&[], Vec::as_slice));
    modal["components"] = json!(filled);
    w.forms.iter_mut().filter(|f| f.user == to.user).for_each(|f| f.open = false);
    w.forms.push(Form {
        id: to.id.clone(),
        user: to.user.clone(),
        channel: to.channel.clone(),
        message: to.message.clone(),
        modal,
        values: BTreeMap::new(),
        open: true,
    });
    Ok(Value::Null)
}
