//! Validation of a message's content.

use serde_json::Value;

use super::super::entities::{COMPONENTS_V2, EPHEMERAL, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS};
use super::super::rejection::Broken;
use super::components::{ComponentValidator, with_ids};

const CONTENT: usize = 2_000;

/// What exists before the request.
#[derive(Debug, Clone, Copy)]
pub(in crate::discord) enum Before {
    /// Nothing, and the message cannot be ephemeral.
    Nothing,
    /// Nothing; the message can be ephemeral.
    Interaction,
    /// A message with these flags.
    Message { flags: u64 },
}

/// The content of a valid body.
#[derive(Debug, Clone, Default)]
pub(in crate::discord) struct Content {
    pub content: Option<String>,
    pub components: Option<Vec<Value>>,
    /// Together with the existing flags.
    pub flags: u64,
    pub allowed: Value,
}

/// Validates the content fields of messages, callbacks and follow-ups.
pub(in crate::discord) fn content(
    body: &Value,
    files: usize,
    before: Before,
) -> Result<Content, Vec<Broken>> {
    let attached = body["attachments"].as_array().into_iter().flatten();
    let names = attached.filter_map(|file| file["filename"].as_str().map(str::to_owned));
    let mut walk = ComponentValidator::default();
    walk.files.extend(names);
    let flags = flags(&mut walk, body, before);
    let v2 = flags & COMPONENTS_V2 != 0;
    for field in ["embeds", "sticker_ids", "poll", "shared_client_theme"] {
        if body[field].as_array().is_none_or(|a| !a.is_empty()) && !body[field].is_null() {
            walk.violations.say(field, "Is not taken here.");
        }
    }
    let said = &body["content"];
    walk.violations.optional("content", said, 0, CONTENT);
    let text = said.as_str().unwrap_or_default();
    if v2 && !text.is_empty() {
        walk.violations
            .say("content", "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2");
    }
    let given = body["components"].as_array();
    if !(body["components"].is_null() || given.is_some()) {
        walk.violations.say("components", "Must be a list.");
    }
    walk.message(given.map_or(&[], Vec::as_slice), v2);
    mentions(&mut walk, &body["allowed_mentions"]);
    let parts = given.is_some_and(|c| !c.is_empty());
    let empty = !parts && (v2 || (text.trim().is_empty() && files == 0));
    let touched = given.is_some() || !said.is_null();
    match before {
        Before::Message { flags } if flags & super::super::entities::LOADING == 0 && !(touched && empty) => {}
        _ if empty => walk.violations.say("", "Cannot send an empty message"),
        _ => {}
    }
    if !walk.violations.violations.is_empty() {
        return Err(walk.violations.violations);
    }
    let content = if v2 { Some(String::new()) } else { said.as_str().map(str::to_owned) };
    Ok(Content {
        content,
        components: given.map(|c| with_ids(c)),
        flags,
        allowed: body["allowed_mentions"].clone(),
    })
}

fn flags(walk: &mut ComponentValidator, body: &Value, before: Before) -> u64 {
    let given = &body["flags"];
    if !(given.is_null() || given.is_u64()) {
        walk.violations.say("flags", "Must be a number.");
    }
    let asked = given.as_u64();
    let (old, fits) = match before {
        Before::Nothing => (0, SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2),
        Before::Interaction => (0, SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2 | EPHEMERAL),
        Before::Message { flags } => (flags, SUPPRESS_EMBEDS | COMPONENTS_V2 | (flags & EPHEMERAL)),
    };
    if asked.is_some_and(|f| f & !fits != 0) {
        walk.violations.say("flags", "Holds a flag that cannot be set here.");
    }
    if old & COMPONENTS_V2 != 0 && asked.is_some_and(|f| f & COMPONENTS_V2 == 0) {
        walk.violations.say("flags", "IS_COMPONENTS_V2 cannot be removed.");
    }
    match asked {
        Some(asked) => (old & !fits) | (asked & fits) | (old & (COMPONENTS_V2 | EPHEMERAL)),
        None => old,
    }
}

fn mentions(walk: &mut ComponentValidator, allowed: &Value) {
    if allowed.is_null() {
        return;
    }
    walk.violations.check_fields("allowed_mentions", allowed, &["parse", "users", "roles", "replied_user"]);
    for field in ["users", "roles"] {
        let listed = allowed[field].as_array().is_some_and(|a| !a.is_empty());
        let parsed = allowed["parse"].as_array().is_some_and(|a| a.iter().any(|p| p == field));
        if listed && parsed {
            let at = format!("allowed_mentions/{field}");
            walk.violations
                .say(&at, format!("parse:[\"{field}\"] and {field}: [ids...] are mutually exclusive."));
        }
    }
    for parse in allowed["parse"].as_array().into_iter().flatten() {
        if !["users", "roles", "everyone"].iter().any(|known| parse == *known) {
            walk.violations.say("allowed_mentions/parse", "Is one of users, roles, everyone.");
        }
    }
}
