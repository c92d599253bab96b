//! Slack's payloads as [`Inbound`]s. Pure: a payload in, what it means out; the same for the socket and for HTTP.
//!
//! Payloads are read leniently, field by field, so that a new field, a missing one or `null` never costs a
//! message.

use nod_core::card::Verb;
use nod_core::chat::{Addressed, Author, Inbound, Place, Standing, What};
use nod_core::clock::Timestamp;
use serde_json::Value;

use super::{PLATFORM, buttons, incoming_text};

/// Who Nod is in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The workspace's id.
    pub team: String,
    /// The workspace's name.
    pub team_name: String,
    /// Nod's user id.
    pub bot_user: String,
    /// Nod's bot id.
    pub bot_id: String,
}

/// The three kinds of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `events_api`.
    Event,
    /// `interactive`.
    Interaction,
    /// `slash_commands`.
    Command,
}

/// What a payload means.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// Something for the inbox.
    Inbound(Box<Inbound>),
    /// Nothing for Nod; the word says why.
    Ignored(&'static str),
    /// It should have meant something, and does not.
    Unreadable(&'static str),
}

/// Reads a payload that arrived at `now`.
#[must_use]
pub fn heard(kind: Kind, payload: &Value, identity: &Identity, now: Timestamp) -> Heard {
    let read = match kind {
        Kind::Event => event(&payload["event"], identity, now),
        Kind::Interaction => press(payload, identity, now),
        Kind::Command => command(payload, identity, now),
    };
    read.unwrap_or_else(|reason| reason)
}

type Read = Result<Heard, Heard>;

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value[field].as_str().filter(|text| !text.is_empty())
}

fn event(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    match event["type"].as_str() {
        Some("app_mention" | "message") => said(event, identity, now),
        Some(_) => Ok(Heard::Ignored("event type")),
        None => Err(Heard::Unreadable("event without type")),
    }
}

fn said(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    // Subtypes first: an edit carries its author and words one level further in.
    match event["subtype"].as_str() {
        None | Some("file_share" | "thread_broadcast" | "me_message") => {}
        Some(_) => return Ok(Heard::Ignored("message subtype")),
    }
    if event["hidden"] == true {
        return Ok(Heard::Ignored("hidden"));
    }
    if text(event, "bot_id").is_some() || event["bot_profile"].is_object() {
        return Ok(Heard::Ignored("bot"));
    }
    let Some(user) = text(event, "user") else { return Ok(Heard::Ignored("no author")) };
    if user == identity.bot_user || user == "USLACKBOT" {
        return Ok(Heard::Ignored("bot"));
    }
    let channel = text(event, "channel").ok_or(Heard::Unreadable("message without channel"))?;
    let ts = text(event, "ts").ok_or(Heard::Unreadable("message without ts"))?;
    let words = incoming_text::of_message(event, &identity.bot_user);
    let direct = event["channel_type"] == "im" || channel.starts_with('D');
    let addressed = if direct {
        Addressed::Direct
    } else if words.mentions_nod || event["type"] == "app_mention" {
        Addressed::Mention
    } else {
        Addressed::Overheard
    };
    let thread = text(event, "thread_ts").or((addressed == Addressed::Mention).then_some(ts));
    Ok(Heard::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        key: format!("message:{}:{channel}:{ts}", identity.team),
        author: Author { user: user.to_owned(), standing: standing(event, identity) },
        at: instant(ts).unwrap_or(now),
        what: What::Said {
            place: Place { channel: channel.to_owned(), direct, thread: thread.map(str::to_owned) },
            message: ts.to_owned(),
            text: words.text,
            addressed,
        },
    })))
}

/// As far as the event tells: people of other organisations are marked in several ways (Slack Connect).
fn standing(event: &Value, identity: &Identity) -> Standing {
    let profile = &event["user_profile"];
    let teams = [&event["user_team"], &event["source_team"], &event["team"], &profile["team"]];
    if teams.iter().filter_map(|team| team.as_str()).any(|team| !team.is_empty() && team != identity.team)
        || profile["is_stranger"] == true
    {
        Standing::External
    } else if profile["is_restricted"] == true || profile["is_ultra_restricted"] == true {
        Standing::Guest
    } else {
        Standing::Unknown
    }
}

fn press(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    if payload["type"] != "block_actions" {
        return Ok(Heard::Ignored("interaction type"));
    }
    let user = text(&payload["user"], "id").ok_or(Heard::Unreadable("press without user"))?;
    let action = &payload["actions"][0];
    let action_id = text(action, "action_id").unwrap_or_default();
    if text(action, "url").is_some() || action_id.starts_with(&format!("{}:", buttons::LINK)) {
        return Ok(Heard::Ignored("link button"));
    }
    let container = &payload["container"];
    let Some(channel) = text(&payload["channel"], "id").or(text(container, "channel_id")) else {
        return Ok(Heard::Ignored("press outside a message"));
    };
    let ts = text(action, "action_ts");
    let key = match (text(payload, "trigger_id"), ts) {
        (Some(trigger), _) => format!("press:{trigger}"),
        (None, Some(ts)) => format!("press:{ts}:{user}:{action_id}"),
        (None, None) => return Err(Heard::Unreadable("press without trigger_id and action_ts")),
    };
    let thread = text(&payload["message"], "thread_ts").or(text(container, "thread_ts"));
    let team = text(&payload["user"], "team_id");
    let external = team.is_some_and(|team| team != identity.team);
    Ok(Heard::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        key,
        author: Author {
            user: user.to_owned(),
            standing: if external { Standing::External } else { Standing::Unknown },
        },
        at: ts.and_then(instant).unwrap_or(now),
        what: What::Pressed {
            place: place(channel, &payload["channel"]["name"], thread),
            verb: action["value"].as_str().and_then(Verb::parse),
        },
    })))
}

fn command(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    let field = |name, missing| text(payload, name).ok_or(Heard::Unreadable(missing));
    let user = field("user_id", "command without user_id")?;
    let channel = field("channel_id", "command without channel_id")?;
    let trigger = field("trigger_id", "command without trigger_id")?;
    let words = incoming_text::plain(text(payload, "text").unwrap_or_default(), "").text;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
    Ok(Heard::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        key: format!("command:{trigger}"),
        author: Author { user: user.to_owned(), standing: Standing::Unknown },
        at: now,
        what: What::Command {
            place: place(channel, &payload["channel_name"], None),
            name: name.to_lowercase(),
            text: rest.trim().to_owned(),
        },
    })))
}

fn place(channel: &str, name: &Value, thread: Option<&str>) -> Place {
    Place {
        channel: channel.to_owned(),
        direct: channel.starts_with('D') || *name == "directmessage",
        thread: thread.map(str::to_owned),
    }
}

/// Slack's `seconds.micros`.
pub(super) fn instant(ts: &str) -> Option<Timestamp> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, "0"));
    let micros: u32 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Timestamp::from_timestamp(seconds.parse().ok()?, micros * 1_000)
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
mod tests;
