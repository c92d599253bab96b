//! The app's identity, and the users and channels of the guild.

use serde_json::{Value, json};

use super::super::config::Guild;
use super::super::entities::User;
use super::super::rejection::Rejection;
use super::super::world::{World, number};
use super::{Answer, Request};

const MEMBERS_FLAG: u64 = 1 << 15;
const CONTENT_FLAG: u64 = 1 << 19;

impl World {
    /// Returns the app's flags: its privileged intents, as for apps in few guilds (`…_LIMITED`).
    pub(in crate::discord) fn app_flags(&self) -> u64 {
        let app = &self.config.app;
        let members = if app.members_intent { MEMBERS_FLAG } else { 0 };
        members | if app.content_intent { CONTENT_FLAG } else { 0 }
    }

    /// Returns whether this is the other server to which the app was added.
    pub(super) fn is_elsewhere(&self, id: &str) -> bool {
        self.config.elsewhere.as_ref().is_some_and(|guild| guild.id == id)
    }

    /// Rejects every guild but the one, and that too if the bot is not in it.
    pub(super) fn guild_ok(&self, id: &str) -> Result<(), Rejection> {
        match id == self.config.guild.id {
            true if self.is_bot_in_guild() => Ok(()),
            true => Err(Rejection::expected(403, 50001, "Missing Access")),
            false => Err(Rejection::unknown_resource("Guild", 10004)),
        }
    }
}

pub(super) fn gateway(w: &mut World, _: &Request) -> Answer {
    Ok((200, json!({"url": w.gateway_url()})))
}

pub(super) fn gateway_bot(w: &mut World, _: &Request) -> Answer {
    let remaining = 1_000_usize.saturating_sub(w.gateway.identify_count);
    let limit =
        json!({"total": 1000, "remaining": remaining, "reset_after": 3_600_000, "max_concurrency": 1});
    Ok((200, json!({"url": w.gateway_url(), "shards": w.config.shards, "session_start_limit": limit})))
}

pub(super) fn me(w: &mut World, request: &Request) -> Answer {
    if let Some(person) = request.person(w) {
        return Ok((200, w.user_json(person)));
    }
    let mut me = w.user_json(w.bot());
    me["verified"] = json!(true);
    me["mfa_enabled"] = json!(false);
    me["locale"] = json!("en-US");
    me["email"] = Value::Null;
    Ok((200, me))
}

pub(super) fn list_own(w: &mut World, request: &Request) -> Answer {
    request.limit("limit", 200, 200)?;
    let (after, before) = (request.snowflake("after")?, request.snowflake("before")?);
    let mut all: Vec<&Guild> =
        std::iter::once(&w.config.guild).filter(|_| w.is_bot_in_guild()).chain(&w.config.elsewhere).collect();
    all.retain(|guild| after.is_none_or(|id| number(&guild.id) > id));
    all.retain(|guild| before.is_none_or(|id| number(&guild.id) < id));
    all.sort_by_key(|guild| number(&guild.id));
    let told = |guild: &Guild| {
        json!({
            "id": guild.id, "name": guild.name, "icon": null, "banner": null, "owner": false,
            "permissions": "0", "features": [],
        })
    };
    Ok((200, all.into_iter().map(told).collect()))
}

pub(super) fn leave(w: &mut World, request: &Request) -> Answer {
    if !w.is_elsewhere(request.param(0)) {
        return Err(Rejection::unknown_resource("Guild", 10004));
    }
    w.leave_elsewhere();
    Ok((204, Value::Null))
}

pub(super) fn user(w: &mut World, request: &Request) -> Answer {
    let id = request.param(0);
    if !w.users.contains_key(id) {
        return Err(Rejection::unknown_resource("User", 10013));
    }
    Ok((200, w.user_json(id)))
}

pub(super) fn application(w: &mut World, _: &Request) -> Answer {
    let app = &w.config.app;
    let told = json!({
        "id": app.id, "name": app.name, "icon": null, "description": "", "summary": "", "type": null,
        "bot": w.user_json(&app.id), "bot_public": app.public, "bot_require_code_grant": false,
        "verify_key": "0".repeat(64), "flags": w.app_flags(), "owner": w.user_json(&app.id), "team": null,
        "redirect_uris": app.redirects, "interactions_endpoint_url": null, "hook": true,
        "integration_types_config": {"0": {}}, "approximate_guild_count": 1, "tags": [],
        "role_connections_verification_url": null,
    });
    Ok((200, told))
}

pub(super) fn guild(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    let mut guild = w.guild_json();
    if request.query.get("with_counts").is_some_and(|c| c == "true") {
        guild["approximate_member_count"] = json!(w.members().count());
        guild["approximate_presence_count"] = json!(w.members().count());
    }
    Ok((200, guild))
}

pub(super) fn channels(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    let text = w.channels.values().filter(|c| c.is_guild_channel());
    let seen = text.filter(|c| w.can_see(&c.id, w.bot()));
    Ok((200, seen.map(|c| w.channel_json(c)).collect()))
}

pub(super) fn roles(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    Ok((200, w.guild_json()["roles"].clone()))
}

pub(super) fn members(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    if !w.config.app.members_intent {
        return Err(Rejection::expected(403, 50001, "Missing Access"));
    }
    let limit = request.limit("limit", 1, 1000)?;
    let after = request.snowflake("after")?.unwrap_or_default();
    let mut all: Vec<&User> = w.members().filter(|u| number(&u.id) > after).collect();
    all.sort_by_key(|u| number(&u.id));
    Ok((200, all.into_iter().take(limit).map(|u| w.member_json(&u.id)).collect()))
}

pub(super) fn search(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    let limit = request.limit("limit", 1, 1000)?;
    let Some(query) = request.query.get("query").filter(|q| !q.is_empty()) else {
        return Err(Rejection::field("query", "This field is required."));
    };
    let query = query.to_lowercase();
    let begins = |name: Option<&String>| name.is_some_and(|n| n.to_lowercase().starts_with(&query));
    let found = w.members().filter(|u| begins(Some(&u.name)) || begins(u.nick.as_ref()));
    Ok((200, found.take(limit).map(|u| w.member_json(&u.id)).collect()))
}

pub(super) fn member(w: &mut World, request: &Request) -> Answer {
    let elsewhere = w.is_elsewhere(request.param(0));
    if !elsewhere {
        w.guild_ok(request.param(0))?;
    }
    let id = request.param(1);
    match w.users.get(id) {
        None => Err(Rejection::unknown_resource("User", 10013)),
        Some(user) if user.is_member == elsewhere => Err(Rejection::unknown_resource("Member", 10007)),
        Some(_) => Ok((200, w.member_json(id))),
    }
}

pub(super) fn threads(w: &mut World, request: &Request) -> Answer {
    w.guild_ok(request.param(0))?;
    let open = w.channels.values().filter(|c| c.kind.is_thread() && !c.archived);
    let seen: Vec<Value> = open.filter(|c| w.can_see(&c.id, w.bot())).map(|c| w.channel_json(c)).collect();
    Ok((200, json!({"threads": seen, "members": []})))
}
