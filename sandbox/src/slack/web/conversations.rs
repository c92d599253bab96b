//! `conversations.*` except messages: the list of channels, their members, and opening DMs.

use serde_json::{Value, json};

use super::read::{cursor, next_cursor};
use super::{Answer, Args, Rejection};
use crate::slack::entities::{Channel, ChannelKind};
use crate::slack::world::World;

/// Returns whether the bot can write DMs to this person.
pub(super) fn may_open(w: &World, user: &str) -> Result<(), Rejection> {
    match w.users.get(user) {
        None => Err(Rejection::expected("user_not_found")),
        Some(u) if u.is_bot => Err(Rejection::expected("cannot_dm_bot")),
        Some(u) if u.deleted => Err(Rejection::expected("user_disabled")),
        Some(u) if u.refuses_dms => Err(Rejection::expected("user_not_visible")),
        Some(_) => Ok(()),
    }
}

pub(super) fn open(w: &mut World, args: &Args) -> Answer {
    let full = args.flag("return_im").unwrap_or(false);
    let id = match (args.str("channel"), args.str("users")) {
        (Some(_), Some(_)) => return Err(Rejection::argument("channel or users, not both".into())),
        (Some(channel), None) => {
            let known = w.is_member(channel, &w.config.app.bot_user);
            known.then(|| channel.to_owned()).ok_or_else(|| Rejection::expected("channel_not_found"))?
        }
        (None, Some(users)) => open_with(w, users, args.flag("prevent_creation").unwrap_or(false))?,
        (None, None) => return Err(Rejection::violation("users_list_not_supplied", vec![])),
    };
    let channel = w.channels.get(&id).ok_or_else(|| Rejection::expected("channel_not_found"))?;
    let shown = if full { w.channel_json(channel) } else { json!({"id": id}) };
    Ok(json!({"channel": shown, "no_op": false, "already_open": false}))
}

fn open_with(w: &mut World, users: &str, prevent: bool) -> Result<String, Rejection> {
    let users: Vec<String> = users.split(',').map(|u| u.trim().to_owned()).collect();
    if users.len() > 8 {
        return Err(Rejection::expected("too_many_users"));
    }
    w.need_scope(if users.len() == 1 { "im:write" } else { "mpim:write" })?;
    for user in &users {
        may_open(w, user)?;
    }
    if let [user] = users.as_slice() {
        if prevent && w.channel_id(&format!("dm:{user}")).is_err() {
            return Err(Rejection::expected("channel_not_found"));
        }
        return Ok(w.open_dm(user));
    }
    Ok(open_group(w, users))
}

fn open_group(w: &mut World, mut users: Vec<String>) -> String {
    users.push(w.config.app.bot_user.clone());
    users.sort();
    users.dedup();
    let same = w.channels.values().find(|c| c.kind == ChannelKind::Mpim && c.members == users);
    if let Some(channel) = same {
        return channel.id.clone();
    }
    let id = format!("G0MPIM{:05}", w.next_number());
    let handles: Vec<&str> = users.iter().filter_map(|u| w.users.get(u)).map(|u| u.name.as_str()).collect();
    let name = format!("mpdm-{}-1", handles.join("--"));
    let created = w.now().timestamp();
    let channel =
        Channel { id: id.clone(), name, kind: ChannelKind::Mpim, members: users, archived: false, created };
    w.channels.insert(id.clone(), channel);
    id
}

/// Returns a channel, if the bot can see it.
fn visible<'w>(w: &'w World, id: &str) -> Result<&'w Channel, Rejection> {
    let bot = &w.config.app.bot_user;
    let known = |c: &&Channel| c.kind == ChannelKind::Public || c.members.contains(bot);
    let channel = w.channels.get(id).filter(known).ok_or_else(|| Rejection::expected("channel_not_found"))?;
    w.need_scope(&format!("{}:read", channel.kind.as_scope_family()))?;
    Ok(channel)
}

pub(super) fn info(w: &mut World, args: &Args) -> Answer {
    let channel = visible(w, args.text("channel"))?;
    let mut shown = w.channel_json(channel);
    if args.flag("include_num_members") == Some(true) {
        shown["num_members"] = json!(channel.members.len());
    }
    Ok(json!({"channel": shown}))
}

pub(super) fn members(w: &mut World, args: &Args) -> Answer {
    let channel = visible(w, args.text("channel"))?;
    let from = cursor(args, "user:")?;
    let mut members = channel.members.clone();
    members.sort();
    let (members, next) = paginate(members, |m| m, from.as_deref(), args.limit(100, 1000)?);
    Ok(json!({"members": members, "response_metadata": next_cursor("user:", next.as_deref())}))
}

/// `conversations.list`: every channel that the bot can see.
pub(super) fn list(w: &mut World, args: &Args) -> Answer {
    list_channels(w, args, |c, bot| c.kind == ChannelKind::Public || c.members.contains(bot))
}

/// `users.conversations` of the bot: the channels of which it is a member.
pub(super) fn list_own(w: &mut World, args: &Args) -> Answer {
    list_channels(w, args, |c, bot| c.members.contains(bot))
}

fn list_channels(w: &World, args: &Args, shows: impl Fn(&Channel, &String) -> bool) -> Answer {
    let mut kinds = Vec::new();
    for word in args.str("types").unwrap_or("public_channel").split(',') {
        kinds.push(match word.trim() {
            "public_channel" => ChannelKind::Public,
            "private_channel" => ChannelKind::Private,
            "im" => ChannelKind::Im,
            "mpim" => ChannelKind::Mpim,
            odd => return Err(Rejection::violation("invalid_types", vec![odd.to_owned()])),
        });
    }
    for kind in &kinds {
        w.need_scope(&format!("{}:read", kind.as_scope_family()))?;
    }
    let no_archived = args.flag("exclude_archived").unwrap_or(false);
    let bot = &w.config.app.bot_user;
    let shown: Vec<&Channel> = w
        .channels
        .values()
        .filter(|c| kinds.contains(&c.kind) && !(no_archived && c.archived))
        .filter(|c| shows(c, bot))
        .collect();
    let from = cursor(args, "channel:")?;
    let (page, next) = paginate(shown, |c| &c.id, from.as_deref(), args.limit(100, 999)?);
    let channels: Vec<Value> = page.into_iter().map(|c| w.channel_json(c)).collect();
    Ok(json!({"channels": channels, "response_metadata": next_cursor("channel:", next.as_deref())}))
}

/// Returns a page of a sorted list beginning at `from`, and where the next one begins.
pub(super) fn paginate<T>(
    all: Vec<T>,
    id: impl Fn(&T) -> &String,
    from: Option<&str>,
    limit: usize,
) -> (Vec<T>, Option<String>) {
    let mut rest: Vec<T> = all.into_iter().filter(|t| from.is_none_or(|f| id(t).as_str() >= f)).collect();
    let next = rest.get(limit).map(|t| id(t).clone());
    rest.truncate(limit);
    (rest, next)
}
