//! Growing messages: Slack's own streams if it accepts them, else a message that is edited now and then.
//!
//! A stream can only grow, renders Markdown by itself, and has no key by which it could be found; it refuses edits
//! until it is stopped. So it is only a preview and never the answer itself: the finished answer stops it and replaces
//! it (<https://docs.slack.dev/reference/methods/chat.startStream>).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nod_contract::card::{Block, Card};
use nod_contract::chat::{ChannelRef, ChatError, PostedMessage, Shown};
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use serde_json::{Value, json};

use super::adapter::{NO_MESSAGE, SlackAdapter, edited, metadata, parse_posted};
use super::limits;
use super::scopes::{APPEND_STREAM, START_STREAM, STOP_STREAM, UPDATE};
use super::text::{break_mentions, char_count, escape_control_chars};

/// The delay between two additions to a stream: Slack allows about a hundred a minute.
const ADD: Duration = Duration::from_millis(600);
/// The delay between two edits of a message: Slack allows about fifty a minute.
const EDIT: Duration = Duration::from_millis(1_200);
/// The maximum number of remembered streams. One that another replica ended stays here until it is evicted.
const MAX_STREAMS: usize = 1_000;

/// How a message grows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StreamMode {
    /// As a stream of Slack, which shows this text so far.
    Stream(String),
    /// By edits.
    Edits,
}

/// The growing messages, by channel and timestamp.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<HashMap<(String, String), StreamMode>>);

impl Streams {
    fn find(&self, at: &PostedMessage) -> Option<StreamMode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&name(at)).cloned()
    }

    fn set(&self, at: &PostedMessage, way: StreamMode) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_STREAMS {
            // A forgotten stream is later treated as a message of unknown state, which is stopped first.
            all.clear();
        }
        all.insert(name(at), way);
    }

    fn forget(&self, at: &PostedMessage) -> Option<StreamMode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name(at))
    }
}

fn name(at: &PostedMessage) -> (String, String) {
    (at.channel.clone(), at.message.clone())
}

impl SlackAdapter {
    /// Opens a stream; if Slack refuses, posts a message to be edited.
    pub(super) async fn begin_stream(
        &self,
        place: &ChannelRef,
        reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        if let Some(thread) = &place.thread {
            let body = json!({
                "channel": place.channel, "thread_ts": thread,
                "recipient_user_id": reader, "recipient_team_id": self.identity.team,
            });
            match self.web.call(&START_STREAM, &body).await {
                Ok(answer) => {
                    let channel = answer["channel"].as_str().or(Some(&place.channel));
                    let shown = parse_posted(channel, &answer["ts"], &Value::Null)?;
                    self.streams.set(&shown.at, StreamMode::Stream(String::new()));
                    return Ok(shown);
                }
                Err(ChatError::Rejected { code }) => {
                    tracing::info!(code, "Slack refused to stream here; editing the message instead");
                }
                Err(error) => return Err(error),
            }
        }
        let coming = Card { body: vec![Block::Note("…".to_owned())], ..Card::default() };
        let shown = self.post_card(&place.channel, place.thread.as_deref(), &coming, key).await?;
        self.streams.set(&shown.at, StreamMode::Edits);
        Ok(shown)
    }

    /// Shows the text so far.
    pub(super) async fn update_stream(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        match self.streams.find(at) {
            Some(StreamMode::Stream(shown)) => {
                let all = flowing(words);
                let Some(more) = all.strip_prefix(shown.as_str()) else {
                    return self.switch_to_edits(at, words, key).await;
                };
                if more.is_empty() || char_count(&all) > limits::STREAM {
                    return Ok(ADD);
                }
                match self.append_text(at, more).await {
                    Ok(()) => {
                        self.streams.set(at, StreamMode::Stream(all.clone()));
                        Ok(ADD)
                    }
                    Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
                        Ok(Duration::from_secs(after_seconds))
                    }
                    // The user stopped it in Slack.
                    Err(ChatError::Rejected { code }) if code == "stopped_by_user" => {
                        Err(ChatError::Rejected { code })
                    }
                    // It ended, or its content is unknown.
                    Err(ChatError::Rejected { .. } | ChatError::UnknownOutcome(_)) => {
                        self.switch_to_edits(at, words, key).await
                    }
                    Err(closed) => Err(closed),
                }
            }
            Some(StreamMode::Edits) => self.edit_message(at, words, key).await,
            None => self.switch_to_edits(at, words, key).await,
        }
    }

    async fn append_text(&self, at: &PostedMessage, more: &str) -> Result<(), ChatError> {
        let body = json!({"channel": at.channel, "ts": at.message, "markdown_text": more});
        self.web.call(&APPEND_STREAM, &body).await.map(|_| ())
    }

    async fn switch_to_edits(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        self.stop_stream(at, key).await?;
        self.streams.set(at, StreamMode::Edits);
        self.edit_message(at, words, key).await
    }

    async fn edit_message(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        let body = json!({"channel": at.channel, "ts": at.message, "metadata": metadata(key)});
        match self.call_with_card(&UPDATE, body, &Card::from_markdown(words)).await {
            Ok(_) => Ok(EDIT),
            Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
                Ok(Duration::from_secs(after_seconds))
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces a message that may still be growing with the card; returns when it was edited.
    pub(super) async fn finish_stream(
        &self,
        at: &PostedMessage,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError> {
        if let Some(StreamMode::Stream(_)) = self.streams.forget(at) {
            self.stop_stream(at, key).await?;
        }
        let body = json!({"channel": at.channel, "ts": at.message, "metadata": metadata(key)});
        let answer = match self.call_with_card(&UPDATE, body.clone(), card).await {
            // Another replica opened it, or this one before a crash.
            Err(ChatError::Rejected { code }) if code == "streaming_state_conflict" => {
                self.stop_stream(at, key).await?;
                self.call_with_card(&UPDATE, body, card).await
            }
            answer => answer,
        };
        match answer {
            Err(ChatError::Rejected { code }) if code == NO_MESSAGE => Err(ChatError::Gone),
            answer => Ok(edited(&answer?["message"])),
        }
    }

    /// Stops a stream, if it still is one. From here on it can be found by its key.
    async fn stop_stream(&self, at: &PostedMessage, key: DeliveryId) -> Result<(), ChatError> {
        let mut body = json!({"channel": at.channel, "ts": at.message, "metadata": metadata(key)});
        let mut answer = self.web.call(&STOP_STREAM, &body).await;
        if matches!(&answer, Err(ChatError::Rejected { code }) if code == "no_text") {
            // Nothing was shown yet, and Slack does not stop an empty stream.
            body["markdown_text"] = "…".into();
            answer = self.web.call(&STOP_STREAM, &body).await;
        }
        match answer {
            // The edit that follows finds out its state.
            Ok(_) | Err(ChatError::Rejected { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a message of ours may be a stream that was never stopped: only those have no metadata.
pub(super) fn is_untagged(message: &Value) -> bool {
    let subtype = message["subtype"].as_str().unwrap_or("bot_message");
    message["metadata"]["event_type"].is_null() && subtype == "bot_message"
}

/// Formats Markdown for a stream: nothing pings, and no text hides a URL. More text only ever adds to the result.
fn flowing(words: &str) -> String {
    const BREAK: char = '\u{200B}';
    let text = break_mentions(&escape_control_chars(words));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        let breaks = match (c, rest.peek()) {
            (']', Some('(' | '[' | ':')) => true,
            // `<https://…|text>`, and HTML.
            ('<', Some(next)) => next.is_alphanumeric() || *next == '/',
            _ => false,
        };
        if breaks {
            out.push(BREAK);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Hi @here <!channel> <@U1>, see [your bank](https://evil.test) or ![x](https://t.test/p.png)\n\n\
                        or [this][1] <https://evil.test|acme.test> a < b &amp; `x[0](y)`\n\n[1]: https://evil.test\n";

    #[test]
    fn stream_text_cannot_mention_or_mask_links() {
        let shown = flowing(TEXT).replace('\u{200B}', "·");
        assert_eq!(
            shown,
            "Hi @·here <·!channel> <·@U1>, see [your bank]·(https://evil.test) or ![x]·(https://t.test/p.png)\n\n\
             or [this]·[1] <·https://evil.test|acme.test> a < b &amp; `x[0]·(y)`\n\n[1]·: https://evil.test\n"
        );
    }

    #[test]
    fn stream_text_only_grows() {
        let ends = TEXT.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, _)| at);
        let mut before = String::new();
        for end in ends {
            let now = flowing(TEXT[..end].trim_end());
            assert!(now.starts_with(&before), "{now:?} after {before:?}");
            before = now;
        }
    }
}
