//! The app's registered commands.

use serde_json::{Value, json};

use super::super::rejection::Rejection;
use super::super::rules::commands_broken;
use super::super::world::World;
use super::{Answer, Request};

/// Rejects every app but the app under test.
fn check_own_app(w: &World, request: &Request) -> Result<(), Rejection> {
    if request.param(0) == w.config.app.id {
        return Ok(());
    }
    Err(Rejection::violation(403, 20012, "You are not authorized to perform this action on this application"))
}

pub(super) fn list(w: &mut World, request: &Request) -> Answer {
    check_own_app(w, request)?;
    Ok((200, json!(w.commands)))
}

/// Lists the commands of one guild: there are none.
pub(super) fn of_guild(w: &mut World, request: &Request) -> Answer {
    check_own_app(w, request)?;
    w.guild_ok(request.param(1))?;
    Ok((200, json!([])))
}

pub(super) fn set(w: &mut World, request: &Request) -> Answer {
    check_own_app(w, request)?;
    let Some(given) = request.body.as_array() else {
        return Err(Rejection::field("", "Must be a list."));
    };
    let broken = commands_broken(given);
    if !broken.is_empty() {
        return Err(Rejection::form(broken));
    }
    let all = given.iter().map(|c| registered(w, c)).collect();
    w.commands = all;
    Ok((200, json!(w.commands)))
}

pub(super) fn create(w: &mut World, request: &Request) -> Answer {
    check_own_app(w, request)?;
    let mut all = w.commands.clone();
    let same = |c: &Value| c["name"] == request.body["name"] && kind(c) == kind(&request.body);
    all.retain(|c| !same(c));
    let status = if all.len() == w.commands.len() { 201 } else { 200 };
    let broken = commands_broken(std::slice::from_ref(&request.body));
    if !broken.is_empty() {
        return Err(Rejection::form(broken));
    }
    let new = registered(w, &request.body);
    all.push(new.clone());
    w.commands = all;
    Ok((status, new))
}

pub(super) fn delete(w: &mut World, request: &Request) -> Answer {
    check_own_app(w, request)?;
    let before = w.commands.len();
    w.commands.retain(|c| c["id"] != request.param(1));
    if w.commands.len() == before {
        return Err(Rejection::unknown_resource("application command", 10063));
    }
    Ok((204, Value::Null))
}

fn kind(command: &Value) -> u64 {
    command["type"].as_u64().unwrap_or(1)
}

/// Registers a command, which keeps its id as long as its name and type are unchanged.
fn registered(w: &mut World, given: &Value) -> Value {
    let same = |c: &&Value| c["name"] == given["name"] && kind(c) == kind(given);
    let old = w.commands.iter().find(same).map(|c| c["id"].clone());
    let mut command = given.clone();
    command["id"] = old.unwrap_or_else(|| json!(w.next_id()));
    command["application_id"] = json!(w.config.app.id);
    command["version"] = json!(w.next_id());
    command["type"] = json!(kind(given));
    for (field, usual) in [
        ("description", json!("")),
        ("default_member_permissions", Value::Null),
        ("nsfw", json!(false)),
        ("dm_permission", json!(true)),
        ("contexts", Value::Null),
        ("integration_types", json!([0])),
    ] {
        if command[field].is_null() {
            command[field] = usual;
        }
    }
    command
}
