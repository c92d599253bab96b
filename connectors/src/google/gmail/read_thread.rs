//! `gmail_read_thread`: reads the messages of one thread with their text.

use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::Message;
use nod_contract::tool::{FollowUp, Reach, ReadTool, ToolContext, ToolError, ToolResult, ToolSpec};
use nod_people::reading::Unread;
use serde::Deserialize;
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::message::{BODY_CHARS, Body, BoundedText, has_label, header, one_line};
use super::message_list::untrusted_output;
use super::output_budget::{ROOM, fitting, json_length};
use super::parse_arguments;
use super::received_attachments::attachments;
use super::search_dates::received_at;
use crate::google::account::Accounts;
use crate::google::reading::Texts;
use crate::google::scopes;
use nod_contract::wire::Kind;

/// The maximum number of messages read from a thread, newest first.
const MAX_MESSAGES: usize = 20;
/// The maximum length of a header, which can name hundreds of people.
const HEADER_CHARS: usize = 1_000;
/// The minimum length left for the newest mail's text, whatever surrounds it.
const MIN_TEXT_CHARS: usize = 2_000;

pub(super) struct ReadThread {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    thread_id: String,
    before: Option<String>,
}

impl ReadThread {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        // The id becomes part of a URL, so nothing else is allowed in it.
        let parameters = json!({
            "type": "object",
            "properties": {
                "thread_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                    "description": "From gmail_list_recent or gmail_search_messages."},
                "before": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                    "description": "Only where earlier messages were not shown: the id of the oldest that was."},
            },
            "required": ["thread_id"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_read_thread.md");
        let spec = super::spec("gmail_read_thread", description, "Reading mail", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ReadThread {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        read_thread(cx, &mailbox, &asked.thread_id, asked.before.as_deref()).await
    }
}

pub(super) async fn read_thread(
    cx: &ToolContext,
    mailbox: &Mailbox,
    id: &str,
    before: Option<&str>,
) -> ToolResult {
    let thread =
        mailbox.fetch_thread(id, None).await.map_err(|trouble| trouble.into_read_error("that email"))?;
    let mut messages = thread.messages.unwrap_or_default();
    if let Some(before) = before {
        let at = messages.iter().position(|message| message.id.as_deref() == Some(before));
        messages.truncate(at.ok_or_else(|| ToolError::NotFound { what: "that email".into() })?);
    }
    let letters = newest(&messages, &mut mailbox.reading().open_session(), cx).await;
    let earlier = messages.len() - letters.len();
    let oldest = letters.first().map(|letter| letter["id"].as_str().unwrap_or_default().to_owned());
    let mut content = json!({"thread_id": id, "messages": letters});
    if let Some(oldest) = oldest.filter(|_| earlier > 0) {
        content["cut"] =
            json!(format!("{earlier} earlier messages are not shown; they come before {oldest}"));
    }
    Ok(untrusted_output(cx, content, &messages[earlier..])
        .with_follow_up(FollowUp::MailThread(id.to_owned())))
}

/// Returns as many messages as fit into one result, oldest first. If the newest is too long, it is cut.
async fn newest(messages: &[Message], texts: &mut Texts, cx: &ToolContext) -> Vec<Value> {
    let (mut letters, mut left) = (Vec::new(), ROOM);
    for message in messages.iter().rev().take(MAX_MESSAGES) {
        let shown = match Body::read(message, texts).await {
            Ok(body) => fitted(message, &body, left, letters.is_empty(), cx),
            Err(unread) => Some(unreadable_message_json(message, unread, cx)),
        };
        let Some(shown) = shown else { break };
        left = left.saturating_sub(json_length(&shown));
        letters.push(shown);
    }
    letters.reverse();
    letters
}

/// Formats a message if it fits into `left`; the newest, which is always shown, is cut.
fn fitted(message: &Message, body: &Body, left: usize, newest: bool, cx: &ToolContext) -> Option<Value> {
    let text = body.to_bounded_text(BODY_CHARS);
    let shown = message_json(message, &text, cx);
    if json_length(&shown) <= left {
        return Some(shown);
    }
    let around = json_length(&shown) - json_length(&shown["text"]);
    let room = left.saturating_sub(around).max(MIN_TEXT_CHARS);
    newest
        .then(|| message_json(message, &body.to_bounded_text(fitting(&text.text, room).chars().count()), cx))
}

/// Formats a mail that could not be read.
fn unreadable_message_json(message: &Message, unread: Unread, cx: &ToolContext) -> Value {
    let mut letter = message_json(message, &BoundedText::default(), cx);
    letter["note"] = json!(format!("its text could not be read: {}", unread.sentence(Kind::Html)));
    letter
}

fn message_json(message: &Message, body: &BoundedText, cx: &ToolContext) -> Value {
    let named = |name: &str| one_line(&header(message, name), HEADER_CHARS);
    let mut letter = json!({
        "id": message.id,
        "from": named("From"),
        "to": named("To"),
        "cc": named("Cc"),
        "subject": named("Subject"),
        "at": received_at(message, cx),
        "unread": has_label(message, "UNREAD"),
        "draft": has_label(message, "DRAFT"),
        "text": body.text,
        "attachments": attachments(message).into_iter().map(|file| file.name).collect::<Vec<_>>(),
    });
    match (body.text.trim().is_empty(), body.truncation_note.is_empty()) {
        (_, false) => letter["cut"] = json!(body.truncation_note),
        (true, true) => letter["note"] = json!("there is no text in it that can be read"),
        (false, true) => {}
    }
    letter
}
