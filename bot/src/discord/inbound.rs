//! Parses what Discord's gateway and its history deliver into the core's types. Pure; the place is a parameter.
//!
//! Payloads are read as JSON: serenity's types do not know the components that our messages consist of, so it passes
//! most clicks on unparsed.

use nod_contract::chat::{
    Addressing, Attachment, Author, ChannelRef, Event, Inbound, Membership, MessageActionKind,
};
use nod_contract::clock::Timestamp;
use serde_json::Value;

use super::commands::CommandOptions;
use super::interactions::EPHEMERAL;
use super::{PLATFORM, buttons, form, incoming_text};

/// The bot's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The application's id: the workspace of everything on Discord, whichever of its servers it happened in.
    pub application: String,
    /// The application's name.
    pub name: String,
    /// The bot's user id.
    pub user: String,
}

/// The result of parsing a payload.
#[derive(Debug, Clone, PartialEq)]
pub enum ParseOutcome {
    /// For the core.
    Inbound(Box<Inbound>),
    /// Not for Nod, with the reason.
    Ignored(&'static str),
    /// Possibly for Nod, but it cannot be parsed.
    Unreadable(&'static str),
}

type Read = Result<Inbound, ParseOutcome>;

/// Message types that people write: a plain one and a reply to another.
const WRITTEN: [u64; 2] = [0, 19];
/// Milliseconds from the Unix epoch to that of Discord's ids.
const EPOCH: u64 = 1_420_070_400_000;

/// Parses a message, from `MESSAGE_CREATE` or from history.
#[must_use]
pub fn parse_message(message: &Value, place: ChannelRef, identity: &Identity) -> ParseOutcome {
    to_outcome(read_message(message, place, identity))
}

/// Parses an edited message (`MESSAGE_UPDATE`). Discord sends the same event after it resolved a message's links.
#[must_use]
pub fn parse_edit(message: &Value, place: ChannelRef, identity: &Identity) -> ParseOutcome {
    to_outcome(read_edit(message, place, identity))
}

/// Parses a deleted message (`MESSAGE_DELETE`); Discord does not name its author.
#[must_use]
pub fn parse_deletion(event: &Value, id: &Value, place: ChannelRef, identity: &Identity) -> ParseOutcome {
    let Some(id) = id.as_str().or_else(|| event["id"].as_str()) else {
        return ParseOutcome::Unreadable("deletion without id");
    };
    let author = Author { user: String::new(), membership: Membership::Unknown };
    let what = Event::MessageDeleted { place, message: id.to_owned() };
    to_outcome(Ok(inbound(identity, format!("delete:{id}"), author, id_time(id), what)))
}

/// Parses a server (`GUILD_CREATE`): that Nod joined its system channel, where its other members are welcomed. Discord
/// sends it at every connect, for every server. `None` if the server has no such channel, or is unavailable.
#[must_use]
pub fn parse_guild(guild: &Value, identity: &Identity) -> Option<Inbound> {
    let (channel, joined_at) = (guild["system_channel_id"].as_str()?, guild["joined_at"].as_str()?);
    let at = chrono::DateTime::parse_from_rfc3339(joined_at).ok().map(Timestamp::from)?;
    let author = Author { user: identity.user.clone(), membership: Membership::Unknown };
    let place = ChannelRef { channel: channel.to_owned(), is_dm: false, thread: None };
    let what = Event::JoinedChannel { place };
    Some(inbound(identity, format!("joined:{channel}:{joined_at}"), author, Some(at), what))
}

/// Parses a command, a click or a form (`INTERACTION_CREATE`).
#[must_use]
pub fn interaction(event: &Value, place: ChannelRef, identity: &Identity) -> ParseOutcome {
    to_outcome(read_interaction(event, place, identity))
}

fn to_outcome(read: Read) -> ParseOutcome {
    match read {
        Ok(inbound) => ParseOutcome::Inbound(Box::new(inbound)),
        Err(other) => other,
    }
}

fn inbound(identity: &Identity, key: String, author: Author, at: Option<Timestamp>, what: Event) -> Inbound {
    Inbound {
        platform: PLATFORM.to_owned(),
        workspace: identity.application.clone(),
        dedup_key: key,
        author,
        at: at.unwrap_or_default(),
        event: what,
    }
}

/// Returns the author if it is a person.
fn author(message: &Value, identity: &Identity) -> Result<Author, ParseOutcome> {
    let by = &message["author"];
    if by["bot"] == true || by["system"] == true || message["webhook_id"].is_string() {
        return Err(ParseOutcome::Ignored("bot"));
    }
    let user = by["id"].as_str().ok_or(ParseOutcome::Unreadable("message without author"))?;
    if user == identity.user {
        return Err(ParseOutcome::Ignored("bot"));
    }
    Ok(Author { user: user.to_owned(), membership: Membership::Unknown })
}

/// Parses another bot's message in a thread. Only the fact that it wrote there counts: a typed approval can be meant
/// for it.
fn by_a_bot(message: &Value, place: ChannelRef, identity: &Identity) -> Read {
    let by = message["author"]["id"].as_str().unwrap_or_default();
    if by == identity.user || place.thread.is_none() {
        return Err(ParseOutcome::Ignored("bot"));
    }
    let id = message["id"].as_str().ok_or(ParseOutcome::Unreadable("message without id"))?;
    let at = id_time(id).ok_or(ParseOutcome::Unreadable("message with an unreadable id"))?;
    let author = Author { user: by.to_owned(), membership: Membership::Bot };
    let what = Event::Message {
        place,
        message: id.to_owned(),
        text: String::new(),
        addressing: Addressing::Unaddressed,
        attachments: Vec::new(),
        answers: None,
    };
    Ok(inbound(identity, format!("message:{id}"), author, Some(at), what))
}

fn read_message(message: &Value, place: ChannelRef, identity: &Identity) -> Read {
    if message["author"]["bot"] == true || message["webhook_id"].is_string() {
        return by_a_bot(message, place, identity);
    }
    if !message["type"].as_u64().is_some_and(|kind| WRITTEN.contains(&kind)) {
        return Err(ParseOutcome::Ignored("message type"));
    }
    let author = author(message, identity)?;
    let id = message["id"].as_str().ok_or(ParseOutcome::Unreadable("message without id"))?;
    let text = message["content"].as_str().unwrap_or_default();
    let words = incoming_text::read(text, &identity.user);
    let pinged =
        message["mentions"].as_array().is_some_and(|all| all.iter().any(|m| m["id"] == *identity.user));
    let addressed = if place.is_dm {
        Addressing::DirectMessage
    } else if words.mentions_nod || pinged {
        Addressing::Mention
    } else {
        Addressing::Unaddressed
    };
    // A thread that is opened on a message has that message's id.
    let opens = place.thread.is_none() && addressed == Addressing::Mention;
    let thread = place.thread.clone().or(opens.then(|| id.to_owned()));
    let what = Event::Message {
        place: ChannelRef { thread, ..place },
        message: id.to_owned(),
        text: words.text,
        addressing: addressed,
        attachments: files(message),
        answers: replied_message_id(message),
    };
    // Without a time it would be unknown whether the message came before a card was posted.
    let at = id_time(id).ok_or(ParseOutcome::Unreadable("message with an unreadable id"))?;
    Ok(inbound(identity, format!("message:{id}"), author, Some(at), what))
}

fn read_edit(message: &Value, place: ChannelRef, identity: &Identity) -> Read {
    let Some(when) = message["edited_timestamp"].as_str() else {
        return Err(ParseOutcome::Ignored("no new words"));
    };
    let author = author(message, identity)?;
    let id = message["id"].as_str().ok_or(ParseOutcome::Unreadable("edit without id"))?;
    let text = incoming_text::read(message["content"].as_str().unwrap_or_default(), &identity.user).text;
    let at = chrono::DateTime::parse_from_rfc3339(when).ok().map(Timestamp::from);
    let what = Event::MessageEdited { place, message: id.to_owned(), text };
    Ok(inbound(identity, format!("edit:{id}:{when}"), author, at, what))
}

/// Returns the message that this one replies to. A forward also references a message, but is not a reply.
fn replied_message_id(message: &Value) -> Option<String> {
    let to = &message["message_reference"];
    let replies = to["type"].as_u64().unwrap_or_default() == 0;
    replies.then(|| to["message_id"].as_str().map(str::to_owned)).flatten()
}

fn files(message: &Value) -> Vec<Attachment> {
    let read = |file: &Value| {
        Some(Attachment {
            name: file["filename"].as_str()?.to_owned(),
            media_type: file["content_type"].as_str().unwrap_or("application/octet-stream").to_owned(),
            size: file["size"].as_i64().unwrap_or_default(),
            url: file["url"].as_str().map(str::to_owned),
        })
    };
    message["attachments"].as_array().into_iter().flatten().filter_map(read).collect()
}

fn read_interaction(event: &Value, place: ChannelRef, identity: &Identity) -> Read {
    let id = event["id"].as_str().ok_or(ParseOutcome::Unreadable("interaction without id"))?;
    let who = event["member"]["user"]["id"].as_str().or_else(|| event["user"]["id"].as_str());
    let user = who.ok_or(ParseOutcome::Unreadable("interaction without user"))?;
    let author = Author { user: user.to_owned(), membership: Membership::Unknown };
    let data = &event["data"];
    let what = match (event["type"].as_u64(), data["type"].as_u64()) {
        (Some(2), Some(3)) => read_message_command(data, place, identity)?,
        (Some(2), _) => command(data, place, identity)?,
        (Some(4), _) => Event::Autocomplete {
            place,
            command: data["name"].as_str().unwrap_or_default().to_owned(),
            typed: CommandOptions::from_data(data).focused_value(),
        },
        (Some(3), _) => Event::ButtonClicked {
            place,
            verb: buttons::parse_action(data),
            is_ephemeral: event["message"]["flags"].as_u64().is_some_and(|flags| flags & EPHEMERAL != 0),
        },
        (Some(5), _) => {
            Event::FormSubmitted { place: Some(place), verb: form::verb(data), values: form::values(data) }
        }
        _ => return Err(ParseOutcome::Ignored("interaction type")),
    };
    Ok(inbound(identity, format!("interaction:{id}"), author, id_time(id), what))
}

fn command(data: &Value, place: ChannelRef, identity: &Identity) -> Result<Event, ParseOutcome> {
    let name = data["name"].as_str().ok_or(ParseOutcome::Unreadable("command without name"))?;
    let text = incoming_text::read(&CommandOptions::from_data(data).as_typed(), &identity.user).text;
    Ok(Event::Command { place, name: name.to_owned(), text })
}

/// Parses an entry of a message's menu.
fn read_message_command(data: &Value, place: ChannelRef, identity: &Identity) -> Result<Event, ParseOutcome> {
    let wish = match data["name"].as_str() {
        Some("Ask Nod") => MessageActionKind::Explain,
        Some("Draft a reply") => MessageActionKind::Draft,
        Some(name) => MessageActionKind::Entry(name.to_owned()),
        None => return Err(ParseOutcome::Unreadable("entry without name")),
    };
    let id = data["target_id"].as_str().ok_or(ParseOutcome::Unreadable("entry without message"))?;
    let message = &data["resolved"]["messages"][id];
    let thread = place.thread.clone().or_else(|| Some(id.to_owned()).filter(|_| !place.is_dm));
    Ok(Event::MessageAction {
        place: ChannelRef { thread, ..place },
        wish,
        author: message["author"]["id"].as_str().map(str::to_owned),
        text: incoming_text::parse_message(message, &identity.user).text,
        attachments: files(message),
    })
}

/// Returns when the object with this id was created.
pub(super) fn id_time(id: &str) -> Option<Timestamp> {
    let millis = (id.parse::<u64>().ok()? >> 22) + EPOCH;
    Timestamp::from_timestamp_millis(i64::try_from(millis).ok()?)
}

/// Returns the first id that an object created at this time could have.
pub(super) fn first_id(at: Timestamp) -> String {
    let millis = u64::try_from(at.timestamp_millis()).unwrap_or_default();
    (millis.saturating_sub(EPOCH) << 22).to_string()
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
