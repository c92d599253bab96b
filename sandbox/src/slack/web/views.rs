//! Modals and the assistant's status line.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{Answer, Args, Refusal};
use crate::slack::entities::OpenView;
use crate::slack::render::{fill_ids, merge};
use crate::slack::rules;
use crate::slack::world::World;

/// A trigger opens one form within this many seconds.
const TRIGGER_SECONDS: i64 = 3;

pub(super) fn open(w: &mut World, args: &Args) -> Answer {
    let mut view = args.get("view").cloned().unwrap_or_default();
    let user = spend_trigger(w, args.text("trigger_id"))?;
    let broken = modal_broken(&view);
    if !broken.is_empty() {
        return Err(Refusal::broken("invalid_arguments", broken));
    }
    if view.to_string().len() > 250_000 {
        return Err(Refusal::broken("view_too_large", vec![]));
    }
    if let Some(blocks) = view.get_mut("blocks").and_then(Value::as_array_mut) {
        fill_ids(blocks, || w.next_number());
    }
    let (id, hash) = (format!("V{:09}", w.next_number()), format!("{}.x", w.next_number()));
    w.views.push(OpenView {
        id: id.clone(),
        user,
        hash: hash.clone(),
        view: view.clone(),
        answer: None,
        open: true,
    });
    merge(
        &mut view,
        json!({
            "id": id, "team_id": w.config.team.id, "hash": hash, "state": {"values": {}},
            "root_view_id": id, "previous_view_id": null, "app_id": w.config.app.id,
            "bot_id": w.config.app.bot_id,
        }),
    );
    Ok(json!({"view": view}))
}

fn spend_trigger(w: &mut World, id: &str) -> Result<String, Refusal> {
    let now = w.now();
    let trigger = w.triggers.get_mut(id).ok_or_else(|| Refusal::of("invalid_trigger_id"))?;
    if trigger.used {
        return Err(Refusal::of("exchanged_trigger_id"));
    }
    if now - trigger.since > TimeDelta::seconds(TRIGGER_SECONDS) {
        return Err(Refusal::of("expired_trigger_id"));
    }
    trigger.used = true;
    Ok(trigger.user.clone())
}

fn modal_broken(view: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    if view["type"] != "modal" {
        broken.push("[ERROR] views.open takes a modal".to_owned());
    }
    for (field, required) in [("title", true), ("submit", false), ("close", false)] {
        let text = &view[field];
        let fits = text["text"].as_str().is_some_and(|t| (1..=24).contains(&t.chars().count()));
        if (required || !text.is_null()) && !(fits && text["type"] == "plain_text") {
            broken.push(format!("[ERROR] {field} is plain_text of 1 to 24 characters"));
        }
    }
    let blocks = view["blocks"].as_array();
    let Some(blocks) = blocks else {
        broken.push("[ERROR] missing required field: blocks".to_owned());
        return broken;
    };
    if view["submit"].is_null() && blocks.iter().any(|b| b["type"] == "input") {
        broken.push("[ERROR] a modal with an input needs submit".to_owned());
    }
    if view["private_metadata"].as_str().is_some_and(|m| m.chars().count() > 3000) {
        broken.push("[ERROR] private_metadata has at most 3000 characters".to_owned());
    }
    // Fifty blocks are a message's limit; a view holds a hundred.
    for part in blocks.chunks(50) {
        broken.extend(rules::blocks_broken(part));
    }
    if blocks.is_empty() || blocks.len() > 100 {
        broken.push("[ERROR] a view has 1 to 100 blocks".to_owned());
    }
    broken
}

pub(super) fn set_status(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = (args.text("channel_id").to_owned(), args.text("thread_ts").to_owned());
    if !w.is_member(&channel, &w.config.app.bot_user) {
        return Err(Refusal::of("channel_not_found"));
    }
    if w.message(&channel, &ts).is_none() {
        return Err(Refusal::of("invalid_thread_ts"));
    }
    match args.text("status") {
        "" => w.statuses.remove(&(channel, ts)),
        status => w.statuses.insert((channel, ts), status.to_owned()),
    };
    Ok(json!({}))
}
