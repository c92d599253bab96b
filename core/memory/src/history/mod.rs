//! The history of a chat that Nod did not receive. It is read from the platform when needed: as the context of a
//! mention in the middle of a thread, and by the read tools.
//!
//! It includes other people's messages, so the model reads it as untrusted content. It is stored only in the run's own
//! record, which only the requester can open and which is purged after a while.

pub mod sql;
mod tools;

use std::collections::HashMap;

use sqlx::PgPool;

pub use tools::{is_chat_history_tool as reads_chat, tools};

use nod_contract::chat::{ChatError, HistoryMessage, HistoryRange};
use nod_contract::ids::TenantId;
use nod_people::context::Chat;
use nod_people::conversations::ConversationLocation;
use nod_people::people::names;
use nod_store::jobs::WorkError;
use nod_when::when::local_time;

/// The most earlier messages of a thread that are read for a mention, and their characters in total.
const MAX_CONTEXT_MESSAGES: usize = 50;
const MAX_CONTEXT_CHARS: usize = 12_000;
/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Returns the messages in the thread before the message `before`, as lines; `None` if there are none or the platform
/// denies access.
pub async fn load_thread_context(
    core: &Chat,
    tenant: TenantId,
    venue: &ConversationLocation,
    before: &str,
    zone: &str,
) -> Result<Option<String>, WorkError> {
    let adapter = core.adapters.get(&venue.platform).ok_or("no such platform here")?;
    let before = Some(before.to_owned()).filter(|message| !message.is_empty());
    let bound = HistoryRange { since: None, before, limit: MAX_CONTEXT_MESSAGES };
    let said = match adapter.list_messages(&venue.workspace, &venue.channel_ref, &bound).await {
        Ok(said) => said,
        Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if said.is_empty() {
        return Ok(None);
    }
    let names = load_names(&core.pool, tenant, &venue.platform, &venue.workspace, &said).await?;
    Ok(Some(lines(&said, &names, zone, MAX_CONTEXT_CHARS)))
}

/// Returns the names of all authors and mentioned users, by the platform's id.
async fn load_names(
    pool: &PgPool,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    said: &[HistoryMessage],
) -> sqlx::Result<HashMap<String, String>> {
    let speakers = said.iter().filter_map(|u| u.user.as_deref());
    let mentioned = said.iter().flat_map(|u| names::mentions(&u.text));
    let mut users: Vec<String> = speakers.chain(mentioned).map(str::to_owned).collect();
    users.sort_unstable();
    users.dedup();
    let mut conn = pool.acquire().await?;
    sql::load_names(&mut conn, tenant, platform, workspace, &users).await
}

/// Formats a line for each message, oldest first; the oldest are left out if there is not room for all.
fn lines(said: &[HistoryMessage], names: &HashMap<String, String>, zone: &str, most: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut room = most;
    for utterance in said.iter().rev() {
        let line = line(utterance, names, zone);
        let length = line.chars().count();
        if length > room {
            lines.push(format!("({} earlier messages left out)", said.len() - lines.len()));
            break;
        }
        room -= length;
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

/// "Fri 6 Mar 2026, 09:30 UTC · Bo Lind: in one line"
fn line(utterance: &HistoryMessage, names: &HashMap<String, String>, zone: &str) -> String {
    let by_id = utterance.user.as_ref().and_then(|user| names.get(user));
    let name = match by_id {
        _ if utterance.is_from_bot => "Nod",
        Some(name) => name.as_str(),
        None => utterance.name.as_deref().unwrap_or("Someone"),
    };
    let mut text = utterance.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for user in names::mentions(&utterance.text) {
        let called = names.get(user).map_or("somebody", String::as_str);
        text = text.replace(&format!("<@{user}>"), &format!("@{called}"));
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_MESSAGE_CHARS) {
        text.truncate(end);
        text.push_str("… (cut)");
    }
    format!("{} · {name}: {text}", local_time(utterance.at, zone))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use nod_contract::clock::Timestamp;

    fn message(user: &str, text: &str) -> HistoryMessage {
        HistoryMessage {
            user: Some(user.to_owned()),
            name: None,
            is_from_bot: user == "UNOD",
            at: Timestamp::from_timestamp(1_772_789_400, 0).unwrap(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn speakers_are_named_and_newest_messages_are_kept() {
        let names = HashMap::from([("U1".to_owned(), "Ana Silva".to_owned())]);
        let all =
            [message("U1", "one\n two"), message("U2", "ask <@U1> and <@U9>"), message("UNOD", "three")];
        assert_eq!(
            lines(&all, &names, "UTC", 1_000),
            "Fri 6 Mar 2026, 09:30 UTC · Ana Silva: one two\n\
             Fri 6 Mar 2026, 09:30 UTC · Someone: ask @Ana Silva and @somebody\n\
             Fri 6 Mar 2026, 09:30 UTC · Nod: three"
        );
        assert_eq!(
            lines(&all, &names, "UTC", 40),
            "(2 earlier messages left out)\nFri 6 Mar 2026, 09:30 UTC · Nod: three"
        );
    }
}
