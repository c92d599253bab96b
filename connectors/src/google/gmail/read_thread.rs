//! `gmail_read_thread`: reads the messages of one thread with their text.

use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::Message;
use nod_contract::tool::{FollowUp, Reach, ReadTool, ToolContext, ToolError, ToolResult, ToolSpec};
use nod_people::reading::Unread;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::attached::attachments;
use super::days::at;
use super::mailbox::Mailbox;
use super::message::{BODY_CHARS, Body, Text, has_label, header, one_line};
use super::room::{ROOM, fitting, written};
use super::summary::from_outside;
use crate::google::account::Accounts;
use crate::google::reading::Texts;
use crate::google::scopes;
use nod_contract::wire::Kind;

/// The maximum number of messages read from a thread, newest first.
const MOST_MESSAGES: usize = 20;
/// The maximum length of a header, which can name hundreds of people.
const HEADER_CHARS: usize = 1_000;
/// The minimum length left for the newest mail's text, whatever surrounds it.
const LEAST_TEXT: usize = 2_000;

pub(super) struct ReadThread {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Asked {
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
        let spec =
            super::spec("gmail_read_thread", description, "Reading your mail", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ReadThread {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Asked = arguments(args)?;
        let mailbox = self.accounts.mailbox_with(cx, &[scopes::READONLY]).await?;
        read(cx, &mailbox, &asked.thread_id, asked.before.as_deref()).await
    }
}

pub(super) async fn read(cx: &ToolContext, mailbox: &Mailbox, id: &str, before: Option<&str>) -> ToolResult {
    let thread = mailbox.thread(id, None).await.map_err(|trouble| trouble.looking("that thread"))?;
    let mut messages = thread.messages.unwrap_or_default();
    if let Some(before) = before {
        let at = messages.iter().position(|message| message.id.as_deref() == Some(before));
        messages
            .truncate(at.ok_or_else(|| ToolError::NotFound { what: "that message in that thread".into() })?);
    }
    let letters = newest(&messages, &mut mailbox.reading().desk(), cx).await;
    let earlier = messages.len() - letters.len();
    let oldest = letters.first().map(|letter| letter["id"].as_str().unwrap_or_default().to_owned());
    let mut content = json!({"thread_id": id, "messages": letters});
    if let Some(oldest) = oldest.filter(|_| earlier > 0) {
        content["cut"] =
            json!(format!("{earlier} earlier messages are not shown; they come before {oldest}"));
    }
    Ok(from_outside(cx, content, &messages[earlier..]).with_follow_up(FollowUp::MailThread(id.to_owned())))
}

/// Returns as many messages as fit into one result, oldest first. If the newest is too long, it is cut.
async fn newest(messages: &[Message], texts: &mut Texts, cx: &ToolContext) -> Vec<Value> {
    let (mut letters, mut left) = (Vec::new(), ROOM);
    for message in messages.iter().rev().take(MOST_MESSAGES) {
        let shown = match Body::read(message, texts).await {
            Ok(body) => fitted(message, &body, left, letters.is_empty(), cx),
            Err(unread) => Some(closed(message, unread, cx)),
        };
        let Some(shown) = shown else { break };
        left = left.saturating_sub(written(&shown));
        letters.push(shown);
    }
    letters.reverse();
    letters
}

/// Formats a message if it fits into `left`; the newest, which is always shown, is cut.
fn fitted(message: &Message, body: &Body, left: usize, newest: bool, cx: &ToolContext) -> Option<Value> {
    let text = body.within(BODY_CHARS);
    let shown = letter(message, &text, cx);
    if written(&shown) <= left {
        return Some(shown);
    }
    let around = written(&shown) - written(&shown["text"]);
    let room = left.saturating_sub(around).max(LEAST_TEXT);
    newest.then(|| letter(message, &body.within(fitting(&text.text, room).chars().count()), cx))
}

/// Formats a mail that could not be read.
fn closed(message: &Message, unread: Unread, cx: &ToolContext) -> Value {
    let mut letter = letter(message, &Text::default(), cx);
    letter["note"] = json!(format!("its text could not be read: {}", unread.sentence(Kind::Html)));
    letter
}

fn letter(message: &Message, body: &Text, cx: &ToolContext) -> Value {
    let named = |name: &str| one_line(&header(message, name), HEADER_CHARS);
    let mut letter = json!({
        "id": message.id,
        "from": named("From"),
        "to": named("To"),
        "cc": named("Cc"),
        "subject": named("Subject"),
        "at": at(message, cx),
        "unread": has_label(message, "UNREAD"),
        "draft": has_label(message, "DRAFT"),
        "text": body.text,
        "attachments": attachments(message).into_iter().map(|file| file.name).collect::<Vec<_>>(),
    });
    match (body.text.trim().is_empty(), body.cut.is_empty()) {
        (_, false) => letter["cut"] = json!(body.cut),
        (true, true) => letter["note"] = json!("there is no text in it that can be read"),
        (false, true) => {}
    }
    letter
}
