//! `conversations.history` and `conversations.replies`: earlier messages, in pages.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Answer, Args, Rejection};
use crate::slack::entities::{ChannelKind, Message};
use crate::slack::world::World;

/// The requested time range.
struct Period<'a> {
    oldest: &'a str,
    latest: Option<&'a str>,
    inclusive: bool,
    cursor: Option<String>,
    limit: usize,
    metadata: bool,
}

impl<'a> Period<'a> {
    fn from_args(args: &'a Args) -> Result<Self, Rejection> {
        let ts = |name, word| match args.str(name) {
            Some(ts) if !is_ts(ts) => {
                Err(Rejection::violation(word, vec![format!("{name} is no timestamp")]))
            }
            found => Ok(found),
        };
        Ok(Self {
            oldest: ts("oldest", "invalid_ts_oldest")?.filter(|o| *o != "0").unwrap_or_default(),
            latest: ts("latest", "invalid_ts_latest")?,
            inclusive: args.flag("inclusive").unwrap_or(false),
            cursor: cursor(args, "next_ts:")?,
            limit: args.limit(100, 999)?,
            metadata: args.flag("include_all_metadata").unwrap_or(false),
        })
    }

    fn has(&self, ts: &str) -> bool {
        let later = ts > self.oldest || (self.inclusive && ts == self.oldest);
        let earlier = self.latest.is_none_or(|l| ts < l || (self.inclusive && ts == l));
        later && earlier
    }
}

fn is_ts(ts: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    ts.split_once('.').map_or_else(|| digits(ts), |(s, m)| digits(s) && digits(m))
}

/// Returns the content of a cursor after `prefix`.
pub(super) fn cursor(args: &Args, prefix: &str) -> Result<Option<String>, Rejection> {
    let Some(cursor) = args.str("cursor").filter(|c| !c.is_empty()) else { return Ok(None) };
    let plain = BASE64_STANDARD.decode(cursor).ok().and_then(|b| String::from_utf8(b).ok());
    match plain.as_deref().and_then(|p| p.strip_prefix(prefix)) {
        Some(rest) => Ok(Some(rest.to_owned())),
        None => {
            Err(Rejection::violation("invalid_cursor", vec!["the cursor is not one of this method".into()]))
        }
    }
}

pub(super) fn next_cursor(prefix: &str, next: Option<&str>) -> Value {
    json!({"next_cursor": next.map_or_else(String::new, |n| BASE64_STANDARD.encode(format!("{prefix}{n}")))})
}

fn readable(w: &World, channel: &str) -> Result<(), Rejection> {
    let Some(found) = w.channels.get(channel) else {
        return Err(Rejection::expected("channel_not_found"));
    };
    w.need_scope(&format!("{}:history", found.kind.as_scope_family()))?;
    match found.members.contains(&w.config.app.bot_user) {
        true => Ok(()),
        false if found.kind == ChannelKind::Public => Err(Rejection::expected("not_in_channel")),
        false => Err(Rejection::expected("channel_not_found")),
    }
}

pub(super) fn history(w: &mut World, args: &Args) -> Answer {
    let channel = args.text("channel");
    readable(w, channel)?;
    let period = Period::from_args(args)?;
    let from = period.cursor.as_deref();
    let mut found: Vec<&Message> = w
        .messages(channel)
        .iter()
        .rev()
        .filter(|m| m.thread_ts.is_none() || m.reply_broadcast)
        .filter(|m| period.has(&m.ts) && from.is_none_or(|f| m.ts.as_str() <= f))
        .take(period.limit + 1)
        .collect();
    let next = (found.len() > period.limit).then(|| found.pop().map(|m| m.ts.clone())).flatten();
    page(w, &found, &period, next)
}

pub(super) fn replies(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = (args.text("channel"), args.text("ts"));
    readable(w, channel)?;
    let period = Period::from_args(args)?;
    let parent = w.message(channel, ts).ok_or_else(|| Rejection::expected("thread_not_found"))?;
    if parent.thread_ts.is_some() {
        return page(w, &[parent], &period, None);
    }
    let from = period.cursor.as_deref();
    let mut replies: Vec<&Message> = w
        .thread(channel, ts)
        .into_iter()
        .filter(|m| m.ts != ts && period.has(&m.ts) && from.is_none_or(|f| m.ts.as_str() >= f))
        .collect();
    let next = replies.get(period.limit).map(|m| m.ts.clone());
    replies.truncate(period.limit);
    // Every page begins with the parent.
    replies.insert(0, parent);
    page(w, &replies, &period, next)
}

fn page(w: &World, found: &[&Message], period: &Period, next: Option<String>) -> Answer {
    let messages: Vec<Value> = found.iter().map(|m| w.message_json(m, period.metadata)).collect();
    let mut answer = json!({"messages": messages, "has_more": next.is_some(), "pin_count": 0});
    if next.is_some() {
        answer["response_metadata"] = next_cursor("next_ts:", next.as_deref());
    }
    Ok(answer)
}
