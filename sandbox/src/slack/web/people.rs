//! Identities: `auth.test`, `users.*`, `team.info`, `bots.info`, and opening Socket Mode connections.

use serde_json::{Value, json};

use super::conversations::paginate;
use super::read::{cursor, next_cursor};
use super::{Answer, Args, Rejection};
use crate::slack::entities::User;
use crate::slack::socket::MAX_CONNECTIONS;
use crate::slack::world::World;

pub(super) fn auth_test(w: &mut World, _: &Args) -> Answer {
    let (team, app) = (&w.config.team, &w.config.app);
    Ok(json!({
        "url": format!("https://{}.slack.com/", team.domain), "team": team.name, "user": app.name,
        "team_id": team.id, "user_id": app.bot_user, "bot_id": app.bot_id,
        "is_enterprise_install": false,
    }))
}

pub(super) fn connections_open(w: &mut World, _: &Args) -> Answer {
    if w.sockets.count() >= MAX_CONNECTIONS {
        return Err(Rejection::expected("too_many_websockets"));
    }
    Ok(json!({"url": w.ticket()}))
}

pub(super) fn user_info(w: &mut World, args: &Args) -> Answer {
    let user = w.users.get(args.text("user")).ok_or_else(|| Rejection::expected("user_not_found"))?;
    Ok(json!({"user": localised(w, user, args)}))
}

fn localised(w: &World, user: &User, args: &Args) -> Value {
    let mut shown = w.user_json(user);
    if args.flag("include_locale") == Some(true) {
        shown["locale"] = json!("en-US");
    }
    shown
}

pub(super) fn user_list(w: &mut World, args: &Args) -> Answer {
    let from = cursor(args, "user:")?;
    let own: Vec<&User> = w.users.values().filter(|u| !u.is_external).collect();
    let (page, next) = paginate(own, |u| &u.id, from.as_deref(), args.limit(1000, 1000)?);
    let members: Vec<Value> = page.into_iter().map(|u| localised(w, u, args)).collect();
    Ok(json!({
        "members": members, "cache_ts": w.now().timestamp(),
        "response_metadata": next_cursor("user:", next.as_deref()),
    }))
}

pub(super) fn lookup_by_email(w: &mut World, args: &Args) -> Answer {
    let email = args.text("email");
    let same = |u: &&User| u.email.as_ref().is_some_and(|e| e.eq_ignore_ascii_case(email));
    let user = w.users.values().find(|u| same(u) && !u.deleted && !u.is_external);
    let user = user.ok_or_else(|| Rejection::expected("users_not_found"))?;
    Ok(json!({"user": w.user_json(user)}))
}

pub(super) fn team_info(w: &mut World, args: &Args) -> Answer {
    let team = &w.config.team;
    if args.str("team").is_some_and(|t| t != team.id) {
        return Err(Rejection::expected("team_not_found"));
    }
    Ok(json!({"team": {
        "id": team.id, "name": team.name, "domain": team.domain, "email_domain": "",
        "icon": {"image_default": true, "image_68": "https://avatars.test/68.png"},
    }}))
}

pub(super) fn bot_info(w: &mut World, args: &Args) -> Answer {
    if args.str("bot").is_some_and(|b| b != w.config.app.bot_id) {
        return Err(Rejection::expected("bot_not_found"));
    }
    Ok(json!({"bot": w.bot_profile()}))
}
