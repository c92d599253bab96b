//! `chat.startStream`, `chat.appendStream`, `chat.stopStream`: a message that grows until it is stopped.
//!
//! According to the reference, a stream replies in a thread, names its recipient in channels, only grows, accepts
//! metadata only when it is stopped, and cannot be edited before that.

use serde_json::{Value, json};

use super::chat::{Post, find_own_message_channel, rate, target, thread};
use super::{Answer, Args, Rejection};
use crate::slack::entities::ChannelKind;
use crate::slack::rules::{self, Content};
use crate::slack::world::World;

/// Checks the arguments of a stream.
pub(super) fn check_stream_args(args: &Args) -> Result<(), Rejection> {
    rules::content(args.fields()).map(|_| ()).map_err(Rejection::from)
}

pub(super) fn start(w: &mut World, args: &Args) -> Answer {
    if !w.config.streams {
        return Err(Rejection::expected("channel_type_not_supported"));
    }
    let channel = target(w, args.text("channel"))?;
    let thread_ts = thread(w, &channel, args)?;
    reader(w, &channel, args)?;
    rate(w, &channel)?;
    let content = Content { text: Some(markdown_text(args).unwrap_or_default()), ..Content::default() };
    let ts = w.post(Post { channel: channel.clone(), content, thread_ts, ..Post::default() });
    w.streams.insert((channel.clone(), ts.clone()));
    Ok(json!({"channel": channel, "ts": ts}))
}

/// In a channel, the stream must name its recipient.
fn reader(w: &World, channel: &str, args: &Args) -> Result<(), Rejection> {
    let alone = w.channels.get(channel).is_some_and(|c| c.kind == ChannelKind::Im);
    match (args.str("recipient_user_id"), args.str("recipient_team_id")) {
        (None, None) if alone => Ok(()),
        (None, _) => Err(Rejection::violation("missing_recipient_user_id", vec!["for whom is it?".into()])),
        (_, None) => Err(Rejection::violation("missing_recipient_team_id", vec!["of which team?".into()])),
        (Some(user), _) if !w.users.contains_key(user) => Err(Rejection::expected("user_not_found")),
        (Some(user), Some(team)) if w.team_of(user) != team => Err(Rejection::expected("team_not_found")),
        _ => Ok(()),
    }
}

fn markdown_text(args: &Args) -> Option<String> {
    args.str("markdown_text").filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(super) fn append(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = growing(w, args)?;
    let more = markdown_text(args)
        .ok_or_else(|| Rejection::violation("no_text", vec!["nothing to append".into()]))?;
    let message = w.message_mut(&channel, &ts).ok_or_else(|| Rejection::expected("message_not_found"))?;
    message.text.push_str(&more);
    w.record_mentions(&more, &[]);
    Ok(json!({"channel": channel, "ts": ts}))
}

pub(super) fn stop(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = growing(w, args)?;
    let content = rules::content(args.fields())?;
    let more = markdown_text(args).unwrap_or_default();
    let message = w.message_mut(&channel, &ts).ok_or_else(|| Rejection::expected("message_not_found"))?;
    let blocks = content.blocks.unwrap_or_default();
    if message.text.is_empty() && more.is_empty() && blocks.is_empty() {
        return Err(Rejection::expected("no_text"));
    }
    let before = message.clone();
    message.text.push_str(&more);
    // Below the text, as Slack shows them.
    message.blocks.extend(blocks);
    message.metadata = content.metadata;
    let after = message.clone();
    w.streams.remove(&(channel.clone(), ts.clone()));
    w.dispatch_message_changed(&before, &after);
    let shown: Value = w.message_json(&after, true);
    Ok(json!({"channel": channel, "ts": ts, "message": shown}))
}

/// Returns a message of the bot that is still growing.
fn growing(w: &World, args: &Args) -> Result<(String, String), Rejection> {
    let (channel, ts) = (find_own_message_channel(w, args)?, args.text("ts").to_owned());
    match w.message(&channel, &ts) {
        None => Err(Rejection::expected("message_not_found")),
        Some(m) if !m.is_from_bot => Err(Rejection::violation("message_not_owned_by_app", vec![ts])),
        Some(_) if !w.streams.contains(&(channel.clone(), ts.clone())) => {
            Err(Rejection::expected("message_not_in_streaming_state"))
        }
        Some(_) => Ok((channel, ts)),
    }
}

impl World {
    /// Ends every stream: its text stays, and it accepts no more.
    pub fn end_streams(&mut self) {
        self.streams.clear();
    }
}
