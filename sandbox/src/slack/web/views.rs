//! Modals and the Home tab.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Answer, Args, Rejection};
use crate::slack::entities::OpenView;
use crate::slack::forms::find_modal_violations;
use crate::slack::render::{fill_ids, merge};
use crate::slack::rules;
use crate::slack::world::World;

pub(super) fn open(w: &mut World, args: &Args) -> Answer {
    let view = judged(w, args)?;
    let user = spend_trigger(w, args.text("trigger_id"))?;
    let (id, hash) = (format!("V{:09}", w.next_number()), format!("{}.x", w.next_number()));
    let open = OpenView { id, user, hash, view, values: BTreeMap::new(), answer: None, open: true };
    let shown = as_answered(w, &open);
    w.views.push(open);
    Ok(shown)
}

/// Replaces an open view.
pub(super) fn update(w: &mut World, args: &Args) -> Answer {
    let view = judged(w, args)?;
    let hash = format!("{}.x", w.next_number());
    let open = w.views.iter_mut().find(|v| v.id == args.text("view_id") && v.open);
    let open = open.ok_or_else(|| Rejection::expected("not_found"))?;
    if args.str("hash").is_some_and(|seen| seen != open.hash) {
        return Err(Rejection::expected("hash_conflict"));
    }
    // Typed text stays if the input still exists with the same ids.
    (open.view, open.hash, open.answer) = (view, hash, None);
    let open = open.clone();
    Ok(as_answered(w, &open))
}

fn judged(w: &mut World, args: &Args) -> Result<Value, Rejection> {
    let mut view = args.get("view").cloned().unwrap_or_default();
    let broken = find_modal_violations(&view);
    if !broken.is_empty() {
        return Err(Rejection::violation("invalid_arguments", broken));
    }
    if view.to_string().len() > 250_000 {
        return Err(Rejection::violation("view_too_large", vec![]));
    }
    if let Some(blocks) = view.get_mut("blocks").and_then(Value::as_array_mut) {
        fill_ids(blocks, || w.next_number());
    }
    Ok(view)
}

fn as_answered(w: &World, open: &OpenView) -> Value {
    let mut view = open.view.clone();
    merge(
        &mut view,
        json!({
            "id": open.id, "team_id": w.config.team.id, "hash": open.hash, "state": {"values": {}},
            "root_view_id": open.id, "previous_view_id": null, "app_id": w.config.app.id,
            "bot_id": w.config.app.bot_id,
        }),
    );
    json!({"view": view})
}

fn spend_trigger(w: &mut World, id: &str) -> Result<String, Rejection> {
    let (now, lives) = (w.now(), w.config.trigger_lifetime);
    let trigger = w.triggers.get_mut(id).ok_or_else(|| Rejection::expected("invalid_trigger_id"))?;
    if trigger.is_used {
        return Err(Rejection::expected("exchanged_trigger_id"));
    }
    if now - trigger.since > lives {
        return Err(Rejection::expected("expired_trigger_id"));
    }
    trigger.is_used = true;
    Ok(trigger.user.clone())
}

/// `views.publish`: the Home tab of one person.
pub(super) fn publish(w: &mut World, args: &Args) -> Answer {
    let (user, mut view) = (args.text("user_id").to_owned(), args.get("view").cloned().unwrap_or_default());
    if !w.config.home_tab {
        return Err(Rejection::expected("not_enabled"));
    }
    if w.users.get(&user).is_none_or(|user| user.is_bot || user.deleted) {
        return Err(Rejection::violation("invalid_arguments", vec!["[ERROR] invalid `user_id`".to_owned()]));
    }
    let broken = home_broken(&view);
    if !broken.is_empty() {
        return Err(Rejection::violation("invalid_arguments", broken));
    }
    if view.to_string().len() > 250_000 {
        return Err(Rejection::violation("view_too_large", vec![]));
    }
    let old = w.homes.get(&user);
    if let (Some(hash), Some(old)) = (args.str("hash"), old)
        && old["hash"] != hash
    {
        return Err(Rejection::expected("hash_conflict"));
    }
    let id = old.map_or_else(|| json!(home_id(&user)), |old| old["id"].clone());
    if let Some(blocks) = view.get_mut("blocks").and_then(Value::as_array_mut) {
        fill_ids(blocks, || w.next_number());
    }
    merge(
        &mut view,
        json!({
            "id": id, "team_id": w.config.team.id, "hash": format!("{}.h", w.next_number()),
            "state": {"values": {}}, "root_view_id": id, "previous_view_id": null,
            "app_id": w.config.app.id, "bot_id": w.config.app.bot_id,
        }),
    );
    w.homes.insert(user, view.clone());
    Ok(json!({"view": view}))
}

/// Each person has one permanent view.
fn home_id(user: &str) -> String {
    format!("VH{user}")
}

fn home_broken(view: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    if view["type"] != "home" {
        broken.push("[ERROR] views.publish takes a home".to_owned());
    }
    let Some(blocks) = view["blocks"].as_array() else {
        broken.push("[ERROR] missing required field: blocks".to_owned());
        return broken;
    };
    if blocks.len() > 100 {
        broken.push("[ERROR] a view has at most 100 blocks".to_owned());
    }
    broken.extend(rules::find_view_violations(blocks));
    broken
}
