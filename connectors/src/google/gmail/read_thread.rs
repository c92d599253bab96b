//! `gmail_read_thread`: the messages of one thread with their text.

use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::Message;
use nod_core::tool::{Leaves, Reach, ReadTool, ToolContext, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::mailbox::Mailbox;
use super::message::{at, attachments, has_label, header, text};
use super::summary::from_outside;
use crate::google::account::Accounts;
use crate::google::scopes;

/// The newest of a thread that are read.
const MOST_MESSAGES: usize = 20;

/// The tool.
pub(super) struct ReadThread {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Asked {
    thread_id: String,
}

impl ReadThread {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        // The id becomes part of an address, so nothing else may stand in it.
        let parameters = json!({
            "type": "object",
            "properties": {
                "thread_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                    "description": "From gmail_list_recent or gmail_search_messages."},
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
        read(cx, &self.accounts.mailbox_with(cx, &[scopes::READONLY]).await?, &asked.thread_id).await
    }
}

pub(super) async fn read(cx: &ToolContext, mailbox: &Mailbox, id: &str) -> ToolResult {
    let thread = mailbox.thread(id, None).await.map_err(|trouble| trouble.looking("that thread"))?;
    let messages = thread.messages.unwrap_or_default();
    let earlier = messages.len().saturating_sub(MOST_MESSAGES);
    let messages = &messages[earlier..];
    let mut content = json!({"thread_id": id, "messages": messages.iter().map(letter).collect::<Vec<_>>()});
    if earlier > 0 {
        content["cut"] = json!(format!("{earlier} earlier messages are not shown"));
    }
    Ok(from_outside(cx, content, messages).leaving(Leaves::Thread(id.to_owned())))
}

fn letter(message: &Message) -> Value {
    let body = text(message);
    let mut letter = json!({
        "id": message.id,
        "from": header(message, "From"),
        "to": header(message, "To"),
        "cc": header(message, "Cc"),
        "subject": header(message, "Subject"),
        "at": at(message),
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
