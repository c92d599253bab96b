//! Parses Slack's payloads into [`Inbound`]s. Pure, and the same for the socket and for HTTP.
//!
//! Payloads are parsed leniently, field by field, so that a new field, a missing one or `null` never loses a message.

use nod_contract::card::Action;
use nod_contract::chat::{
    Addressing, Author, ChannelRef, Event, Inbound, Membership, MessageActionKind, Profile,
};
use nod_contract::clock::Timestamp;
use serde_json::Value;

use super::{PLATFORM, attachments, buttons, form, incoming_text, profile};

/// Nod's identity in the workspace.
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
pub enum PayloadKind {
    /// `events_api`.
    Event,
    /// `interactive`.
    Interaction,
    /// `slash_commands`.
    Command,
}

/// The result of parsing a payload.
#[derive(Debug, Clone, PartialEq)]
pub enum ParseOutcome {
    /// Something for the inbox.
    Inbound(Box<Inbound>),
    /// A user's new profile.
    Person(Box<Profile>),
    /// Not for Nod, with the reason.
    Ignored(&'static str),
    /// Possibly for Nod, but it cannot be parsed.
    Unreadable(&'static str),
}

/// Parses a payload that arrived at `now`.
#[must_use]
pub fn parse_payload(
    kind: PayloadKind,
    payload: &Value,
    identity: &Identity,
    now: Timestamp,
) -> ParseOutcome {
    let read = match kind {
        PayloadKind::Event => event(&payload["event"], identity, now),
        PayloadKind::Interaction if payload["type"] == "view_submission" => {
            parse_view_submission(payload, identity, now)
        }
        PayloadKind::Interaction => parse_button_click(payload, identity, now),
        PayloadKind::Command => command(payload, identity, now),
    };
    read.unwrap_or_else(|reason| reason)
}

type Read = Result<ParseOutcome, ParseOutcome>;

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value[field].as_str().filter(|text| !text.is_empty())
}

fn event(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    match event["type"].as_str() {
        Some("app_mention" | "message") => parse_message(event, identity, now),
        Some("assistant_thread_started" | "assistant_thread_context_changed") => {
            parse_assistant_thread(event, identity, now)
        }
        // `user_change` is sent for every changed profile, also when a user leaves.
        Some("team_join" | "user_change") => {
            let profile = profile::read(&event["user"], &identity.team);
            Ok(ParseOutcome::Person(Box::new(profile.ok_or(ParseOutcome::Unreadable("person without id"))?)))
        }
        Some("app_home_opened") => parse_home_opened(event, identity, now),
        Some("member_joined_channel") => parse_joined_channel(event, identity, now),
        Some(_) => Ok(ParseOutcome::Ignored("event type")),
        None => Err(ParseOutcome::Unreadable("event without type")),
    }
}

fn parse_message(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    let bot = text(event, "bot_id").is_some() || event["bot_profile"].is_object();
    if let Some(thread) = text(event, "thread_ts").filter(|_| bot && event["hidden"] != true) {
        return by_a_bot(event, thread, identity);
    }
    // Subtypes first: an edit has its author and text one level deeper.
    match event["subtype"].as_str() {
        None | Some("file_share" | "thread_broadcast" | "me_message") => {}
        Some("message_changed") => return parse_edit(event, identity, now),
        Some("message_deleted") => {
            let ts = text(event, "deleted_ts").or(text(&event["previous_message"], "ts"));
            return parse_deletion(event, ts, identity, now);
        }
        Some(_) => return Ok(ParseOutcome::Ignored("message subtype")),
    }
    if event["hidden"] == true {
        return Ok(ParseOutcome::Ignored("hidden"));
    }
    if bot {
        return Ok(ParseOutcome::Ignored("bot"));
    }
    let Some(user) = text(event, "user") else { return Ok(ParseOutcome::Ignored("no author")) };
    if user == identity.bot_user || user == "USLACKBOT" {
        return Ok(ParseOutcome::Ignored("bot"));
    }
    let channel = text(event, "channel").ok_or(ParseOutcome::Unreadable("message without channel"))?;
    let ts = text(event, "ts").ok_or(ParseOutcome::Unreadable("message without ts"))?;
    let words = incoming_text::parse_message(event, &identity.bot_user);
    let direct = event["channel_type"] == "im" || channel.starts_with('D');
    let addressed = if direct {
        Addressing::DirectMessage
    } else if words.mentions_nod || event["type"] == "app_mention" {
        Addressing::Mention
    } else {
        Addressing::Unaddressed
    };
    // History shows a message with replies as the first of its own thread.
    let thread = text(event, "thread_ts").filter(|thread| *thread != ts);
    let thread = thread.or((addressed == Addressing::Mention).then_some(ts));
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("message:{}:{channel}:{ts}", identity.team),
        author: Author { user: user.to_owned(), membership: standing(event, identity) },
        // Without a time it would be unknown whether the message came before a card was posted.
        at: instant(ts).ok_or(ParseOutcome::Unreadable("message with an unreadable ts"))?,
        event: Event::Message {
            place: ChannelRef {
                channel: channel.to_owned(),
                is_dm: direct,
                thread: thread.map(str::to_owned),
            },
            message: ts.to_owned(),
            text: words.text,
            addressing: addressed,
            attachments: attachments::files(event),
            answers: None,
        },
    })))
}

/// Parses another bot's message in a thread. Only the fact that it wrote there counts: a typed approval can be meant
/// for it.
fn by_a_bot(event: &Value, thread: &str, identity: &Identity) -> Read {
    let bot = text(event, "bot_id").unwrap_or_default();
    if event["user"] == identity.bot_user.as_str() || bot == identity.bot_id {
        return Ok(ParseOutcome::Ignored("bot"));
    }
    let channel = text(event, "channel").ok_or(ParseOutcome::Unreadable("message without channel"))?;
    let ts = text(event, "ts").ok_or(ParseOutcome::Unreadable("message without ts"))?;
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("message:{}:{channel}:{ts}", identity.team),
        author: Author { user: bot.to_owned(), membership: Membership::Bot },
        at: instant(ts).ok_or(ParseOutcome::Unreadable("message with an unreadable ts"))?,
        event: Event::Message {
            place: ChannelRef { channel: channel.to_owned(), is_dm: false, thread: Some(thread.to_owned()) },
            message: ts.to_owned(),
            text: String::new(),
            addressing: Addressing::Unaddressed,
            attachments: Vec::new(),
            answers: None,
        },
    })))
}

fn parse_assistant_thread(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    let thread = &event["assistant_thread"];
    let field = |name, missing| text(thread, name).ok_or(ParseOutcome::Unreadable(missing));
    let user = field("user_id", "pane without user")?;
    let channel = field("channel_id", "pane without channel")?;
    let ts = field("thread_ts", "pane without thread")?;
    let at = text(event, "event_ts").ok_or(ParseOutcome::Unreadable("pane without event_ts"))?;
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("pane:{}:{channel}:{ts}:{at}", identity.team),
        author: Author { user: user.to_owned(), membership: Membership::Unknown },
        at: instant(at).unwrap_or(now),
        event: Event::AssistantThreadOpened {
            place: ChannelRef { channel: channel.to_owned(), is_dm: true, thread: Some(ts.to_owned()) },
            viewing: text(&thread["context"], "channel_id").map(str::to_owned),
        },
    })))
}

/// Parses `app_home_opened`. Slack sends it for the messages tab too.
fn parse_home_opened(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    if text(event, "tab").is_some_and(|tab| tab != "home") {
        return Ok(ParseOutcome::Ignored("another tab"));
    }
    let user = text(event, "user").ok_or(ParseOutcome::Unreadable("Home without user"))?;
    let ts = text(event, "event_ts").ok_or(ParseOutcome::Unreadable("Home without event_ts"))?;
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("home:{}:{user}:{ts}", identity.team),
        author: Author { user: user.to_owned(), membership: Membership::Unknown },
        at: instant(ts).unwrap_or(now),
        event: Event::HomeOpened,
    })))
}

/// Parses `member_joined_channel`. Slack sends it for everyone who joins a channel that Nod is in, Nod included.
fn parse_joined_channel(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    if event["user"] != *identity.bot_user {
        return Ok(ParseOutcome::Ignored("another member"));
    }
    let channel = text(event, "channel").ok_or(ParseOutcome::Unreadable("join without channel"))?;
    let ts = text(event, "event_ts").ok_or(ParseOutcome::Unreadable("join without event_ts"))?;
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("joined:{}:{channel}:{ts}", identity.team),
        author: Author { user: identity.bot_user.clone(), membership: Membership::Unknown },
        at: instant(ts).unwrap_or(now),
        event: Event::JoinedChannel {
            place: ChannelRef { channel: channel.to_owned(), is_dm: false, thread: None },
        },
    })))
}

/// Parses an edited message. Slack sends the same event after it resolved a message's links.
fn parse_edit(event: &Value, identity: &Identity, now: Timestamp) -> Read {
    let (message, before) = (&event["message"], &event["previous_message"]);
    let ts = text(message, "ts");
    if message["subtype"] == "tombstone" {
        return parse_deletion(event, ts, identity, now);
    }
    if message["text"] == before["text"] || !message["edited"].is_object() {
        return Ok(ParseOutcome::Ignored("no new words"));
    }
    let ts = ts.ok_or(ParseOutcome::Unreadable("edit without ts"))?;
    let when = text(&message["edited"], "ts").or(text(event, "ts")).unwrap_or_default();
    let (author, place) = parse_changed_message(event, message, identity)?;
    let words = incoming_text::parse_message(message, &identity.bot_user);
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("edit:{}:{}:{ts}:{when}", identity.team, place.channel),
        author,
        at: instant(when).unwrap_or(now),
        event: Event::MessageEdited { place, message: ts.to_owned(), text: words.text },
    })))
}

fn parse_deletion(event: &Value, ts: Option<&str>, identity: &Identity, now: Timestamp) -> Read {
    let ts = ts.ok_or(ParseOutcome::Unreadable("deletion without ts"))?;
    let (author, place) = parse_changed_message(event, &event["previous_message"], identity)?;
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("delete:{}:{}:{ts}", identity.team, place.channel),
        author,
        at: text(event, "ts").and_then(instant).unwrap_or(now),
        event: Event::MessageDeleted { place, message: ts.to_owned() },
    })))
}

/// Returns the author of the changed message, and its place.
fn parse_changed_message(
    event: &Value,
    message: &Value,
    identity: &Identity,
) -> Result<(Author, ChannelRef), ParseOutcome> {
    let user = text(message, "user").filter(|user| *user != identity.bot_user);
    let Some(user) = user.filter(|_| text(message, "bot_id").is_none()) else {
        return Err(ParseOutcome::Ignored("bot"));
    };
    let channel = text(event, "channel").ok_or(ParseOutcome::Unreadable("change without channel"))?;
    let direct = event["channel_type"] == "im" || channel.starts_with('D');
    let thread = text(message, "thread_ts").map(str::to_owned);
    let author = Author { user: user.to_owned(), membership: standing(message, identity) };
    Ok((author, ChannelRef { channel: channel.to_owned(), is_dm: direct, thread }))
}

/// Returns what the event says: people of other organisations are marked in several ways (Slack Connect).
fn standing(event: &Value, identity: &Identity) -> Membership {
    let profile = &event["user_profile"];
    let teams = [&event["user_team"], &event["source_team"], &event["team"], &profile["team"]];
    if teams.iter().filter_map(|team| team.as_str()).any(|team| !team.is_empty() && team != identity.team)
        || profile["is_stranger"] == true
    {
        Membership::External
    } else if profile["is_restricted"] == true || profile["is_ultra_restricted"] == true {
        Membership::Guest
    } else {
        Membership::Unknown
    }
}

/// Parses an entry of a message's menu.
fn parse_message_shortcut(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    let wish = match payload["callback_id"].as_str() {
        Some("ask") => MessageActionKind::Explain,
        Some("draft") => MessageActionKind::Draft,
        Some(name) => MessageActionKind::Entry(name.to_owned()),
        None => return Err(ParseOutcome::Unreadable("shortcut without callback_id")),
    };
    let user = text(&payload["user"], "id").ok_or(ParseOutcome::Unreadable("shortcut without user"))?;
    let channel =
        text(&payload["channel"], "id").ok_or(ParseOutcome::Unreadable("shortcut without channel"))?;
    let trigger =
        text(payload, "trigger_id").ok_or(ParseOutcome::Unreadable("shortcut without trigger_id"))?;
    let message = &payload["message"];
    let thread = text(message, "thread_ts").or(text(message, "ts"));
    let external = text(&payload["user"], "team_id").is_some_and(|team| team != identity.team);
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("picked:{trigger}"),
        author: Author {
            user: user.to_owned(),
            membership: if external { Membership::External } else { Membership::Unknown },
        },
        at: text(payload, "action_ts").and_then(instant).unwrap_or(now),
        event: Event::MessageAction {
            place: channel_ref(channel, &payload["channel"]["name"], thread),
            wish,
            author: text(message, "user").map(str::to_owned),
            text: incoming_text::parse_message(message, &identity.bot_user).text,
            attachments: attachments::files(message),
        },
    })))
}

fn parse_button_click(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    if payload["type"] == "message_action" {
        return parse_message_shortcut(payload, identity, now);
    }
    if payload["type"] != "block_actions" {
        return Ok(ParseOutcome::Ignored("interaction type"));
    }
    let user = text(&payload["user"], "id").ok_or(ParseOutcome::Unreadable("press without user"))?;
    let action = &payload["actions"][0];
    let action_id = text(action, "action_id").unwrap_or_default();
    if text(action, "url").is_some() || action_id.starts_with(&format!("{}:", buttons::LINK)) {
        return Ok(ParseOutcome::Ignored("link button"));
    }
    let container = &payload["container"];
    // The home page has no channel.
    let channel = text(&payload["channel"], "id").or(text(container, "channel_id"));
    let channel = match channel {
        Some(channel) => channel,
        None if container["type"] == "view" => "",
        None => return Ok(ParseOutcome::Ignored("press outside a message")),
    };
    let ts = text(action, "action_ts");
    let key = match (text(payload, "trigger_id"), ts) {
        (Some(trigger), _) => format!("press:{trigger}"),
        (None, Some(ts)) => format!("press:{ts}:{user}:{action_id}"),
        (None, None) => return Err(ParseOutcome::Unreadable("press without trigger_id and action_ts")),
    };
    let thread = text(&payload["message"], "thread_ts").or(text(container, "thread_ts"));
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: key,
        author: Author { user: user.to_owned(), membership: user_membership(&payload["user"], identity) },
        at: ts.and_then(instant).unwrap_or(now),
        event: Event::ButtonClicked {
            place: channel_ref(channel, &payload["channel"]["name"], thread),
            verb: action["value"].as_str().and_then(Action::parse),
            is_ephemeral: container["is_ephemeral"] == true,
        },
    })))
}

/// Parses a submitted form. Slack does not redeliver it: if it is not acknowledged, the form stays open.
fn parse_view_submission(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    let user = text(&payload["user"], "id").ok_or(ParseOutcome::Unreadable("form without user"))?;
    let view = &payload["view"];
    let id = text(view, "id").ok_or(ParseOutcome::Unreadable("form without id"))?;
    // The same form can be submitted again after errors, each time with another trigger.
    let time = text(payload, "trigger_id").or(text(view, "hash")).unwrap_or_default();
    let (verb, place) = form::parse_private_metadata(view);
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("submit:{id}:{time}"),
        author: Author { user: user.to_owned(), membership: user_membership(&payload["user"], identity) },
        at: now,
        event: Event::FormSubmitted { place, verb, values: form::values(view) },
    })))
}

/// Returns what a click or a form says.
fn user_membership(user: &Value, identity: &Identity) -> Membership {
    match text(user, "team_id") {
        Some(team) if team != identity.team => Membership::External,
        _ => Membership::Unknown,
    }
}

fn command(payload: &Value, identity: &Identity, now: Timestamp) -> Read {
    let field = |name, missing| text(payload, name).ok_or(ParseOutcome::Unreadable(missing));
    let user = field("user_id", "command without user_id")?;
    let channel = field("channel_id", "command without channel_id")?;
    let trigger = field("trigger_id", "command without trigger_id")?;
    let words = incoming_text::parse_markup(text(payload, "text").unwrap_or_default(), "").text;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
    Ok(ParseOutcome::Inbound(Box::new(Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.team.clone(),
        dedup_key: format!("command:{trigger}"),
        author: Author { user: user.to_owned(), membership: Membership::Unknown },
        at: now,
        event: Event::Command {
            place: channel_ref(channel, &payload["channel_name"], None),
            name: name.to_lowercase(),
            text: rest.trim().to_owned(),
        },
    })))
}

fn channel_ref(channel: &str, name: &Value, thread: Option<&str>) -> ChannelRef {
    ChannelRef {
        channel: channel.to_owned(),
        is_dm: channel.is_empty() || channel.starts_with('D') || *name == "directmessage",
        thread: thread.map(str::to_owned),
    }
}

/// Parses Slack's `seconds.micros`.
pub(super) fn instant(ts: &str) -> Option<Timestamp> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, "0"));
    let micros: u32 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Timestamp::from_timestamp(seconds.parse().ok()?, micros * 1_000)
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
mod tests;
