//! Lists of messages for the model.

use google_gmail1::api::Message;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{ToolContext, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::message::{has_label, header, sender};
use super::search_dates::received_at;

const HEADERS: [&str; 4] = ["From", "To", "Subject", "Date"];

/// Lists the messages with these ids.
pub(super) async fn list_messages(
    cx: &ToolContext,
    mailbox: &Mailbox,
    ids: Vec<String>,
) -> Result<ToolOutput, ToolError> {
    let messages = mailbox
        .fetch_all_headers(ids, &HEADERS)
        .await
        .map_err(|trouble| trouble.into_read_error("the message"))?;
    let shown: Vec<Value> = messages.iter().map(|message| summary(message, cx)).collect();
    Ok(untrusted_output(cx, json!({"messages": shown}), &messages))
}

fn summary(message: &Message, cx: &ToolContext) -> Value {
    json!({
        "id": message.id,
        "thread_id": message.thread_id,
        "from": header(message, "From"),
        "to": header(message, "To"),
        "subject": header(message, "Subject"),
        "at": received_at(message, cx),
        "snippet": message.snippet,
        "unread": has_label(message, "UNREAD"),
    })
}

/// Marks the content as untrusted mail, private to this person. Without messages it is trusted.
pub(super) fn untrusted_output(cx: &ToolContext, content: Value, messages: &[Message]) -> ToolOutput {
    let from = |message| sender(message).unwrap_or_else(|| "an unknown sender".to_owned());
    let provenance =
        Provenance::from_sources(messages.iter().map(|message| format!("an email from {}", from(message))));
    ToolOutput::trusted(content).with_provenance(provenance).private_to(cx.principal.person)
}
