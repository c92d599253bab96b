//! `gmail_read_attachment`: reads the text of a file attached to a mail.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolError, ToolResult, ToolSpec};
use nod_people::reading::{Read, Unread};
use serde::Deserialize;
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::message_list::untrusted_output;
use super::output_budget::{ROOM, fitting};
use super::parse_arguments;
use super::received_attachments::{self, Attachment, attachments};
use crate::google::account::Accounts;
use crate::google::scopes;
use nod_contract::wire::{Failure, Kind};

/// The maximum size of a file that is read, in bytes. Gmail itself accepts about 25 MB.
const MAX_BYTES: usize = 10 * 1024 * 1024;

pub(super) struct ReadAttachment {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    message_id: String,
    name: String,
    #[serde(default)]
    which: Option<usize>,
    #[serde(default)]
    from: Option<usize>,
}

impl ReadAttachment {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "message_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
                "name": {"type": "string", "minLength": 1, "maxLength": 2000},
                "which": {"type": "integer", "minimum": 1, "maximum": 100,
                    "description": "Of several files with this name; the first unless given."},
                "from": {"type": "integer", "minimum": 0, "maximum": 1_000_000,
                    "description": "The character to begin at, to read on where a text was cut."},
            },
            "required": ["message_id", "name"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_read_attachment.md");
        let doing = "Reading an attachment";
        let spec = super::spec("gmail_read_attachment", description, doing, Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ReadAttachment {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        let message = mailbox
            .fetch_message(&asked.message_id)
            .await
            .map_err(|trouble| trouble.into_read_error("that email"))?;
        let named = |file: &Attachment| file.name.trim() == asked.name.trim();
        let mut same: Vec<Attachment> = attachments(&message).into_iter().filter(named).collect();
        let (which, all) = (asked.which.unwrap_or(1), same.len());
        if !(1..=all).contains(&which) {
            // Another person chose the names, so they are not repeated here.
            return Err(ToolError::NotFound { what: "that file in the email".to_owned() });
        }
        let file = same.swap_remove(which - 1);
        let mut content = json!({"message_id": asked.message_id, "name": file.name});
        match extract_text(&mailbox, &asked.message_id, file).await? {
            Ok(words) => {
                let from = asked.from.unwrap_or_default();
                let start = words.char_indices().nth(from).map_or(words.len(), |(at, _)| at);
                let text = fitting(&words[start..], ROOM);
                let (end, whole) = (from + text.chars().count(), words.chars().count());
                content["text"] = text.into();
                if end < whole {
                    content["cut"] = format!("{} more characters follow, from {end} on", whole - end).into();
                }
            }
            Err(why) => content["not_read"] = why.into(),
        }
        if all > 1 {
            content["note"] = format!("{all} files have this name; this is number {which}").into();
        }
        Ok(untrusted_output(cx, content, &[message]))
    }
}

/// Returns the text, or why there is none.
async fn extract_text(
    mailbox: &Mailbox,
    message: &str,
    file: Attachment,
) -> Result<Result<String, String>, ToolError> {
    let large = || Ok(Err(format!("it's larger than {} MB", MAX_BYTES / 1024 / 1024)));
    if usize::try_from(file.size).is_ok_and(|size| size > MAX_BYTES) {
        return large();
    }
    let is_mail = file.is_mail();
    let Some(bytes) = received_attachments::fetch_bytes(mailbox, message, file).await? else {
        return Ok(Err("Gmail won't give it to me".to_owned()));
    };
    if bytes.len() > MAX_BYTES {
        return large();
    }
    if is_mail {
        match mailbox.reading().open_session().read(Kind::Mail, &bytes).await {
            // It is not a mail, whatever its type says.
            Err(Unread::Failed(Failure::Broken)) => {}
            read => return Ok(read.map(Read::text).map_err(|unread| unread.sentence(Kind::Mail))),
        }
    }
    Ok(mailbox.reading().file(bytes).await)
}
