//! Lists of messages: for the model, and as lines under the answer.

use std::collections::HashSet;

use google_gmail1::api::Message;
use nod_contract::card::quick_action::{ListedItem, QuickAction, TypedArgument};
use nod_contract::privacy::Provenance;
use nod_contract::tool::{ToolContext, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::message::{has_label, header, header_recipients, one_line, sender};
use super::search_dates::received_at;
use super::{organise, reply};

const HEADERS: [&str; 4] = ["From", "To", "Subject", "Date"];
/// The most lines under an answer: one message holds them, and nobody reads more.
const MAX_ITEMS: usize = 8;
/// As much as one field of a form takes.
const MAX_REPLY_CHARS: usize = 3_000;
const MAX_NAME_CHARS: usize = 60;
const MAX_SUBJECT_CHARS: usize = 100;

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
    let items = items(cx, mailbox.address(), &messages);
    Ok(untrusted_output(cx, json!({"messages": shown}), &messages).with_items(items))
}

/// Returns the newest mail of each conversation as a line, with what can be done about it.
fn items(cx: &ToolContext, account: &str, messages: &[Message]) -> Vec<ListedItem> {
    let mut seen = HashSet::new();
    let newest = messages.iter().filter(|message| {
        !has_label(message, "DRAFT") && message.thread_id.as_deref().is_some_and(|id| seen.insert(id))
    });
    newest.take(MAX_ITEMS).map(|message| item(cx, account, message)).collect()
}

fn item(cx: &ToolContext, account: &str, message: &Message) -> ListedItem {
    let thread = message.thread_id.as_deref().unwrap_or_default();
    let from = header_recipients(message, "From").into_iter().next();
    let is_own = from.as_ref().is_some_and(|from| from.address.eq_ignore_ascii_case(account));
    let name = from.map(|from| from.name.filter(|name| !name.is_empty()).unwrap_or(from.address));
    let subject = one_line(&header(message, "Subject"), MAX_SUBJECT_CHARS);
    let name = one_line(&name.unwrap_or_else(|| "an unknown sender".to_owned()), MAX_NAME_CHARS);
    let subject = if subject.is_empty() { "(no subject)".to_owned() } else { subject };
    let text = [name, subject].into_iter().chain(received_at(message, cx)).collect::<Vec<_>>().join(" · ");
    let mut actions = Vec::new();
    if !is_own {
        actions.push(reply_action(thread));
    }
    if has_label(message, "INBOX") {
        actions.push(archive_action(thread, &text));
    }
    ListedItem { text, actions }
}

/// What is typed is what is sent, after the person saw the whole email.
fn reply_action(thread: &str) -> QuickAction {
    let typed = TypedArgument {
        name: "body".to_owned(),
        title: "Reply".to_owned(),
        label: "Your reply (you'll see it before it's sent)".to_owned(),
        submit: "Preview".to_owned(),
        max_chars: MAX_REPLY_CHARS,
    };
    let arguments = json!({ "thread_id": thread });
    QuickAction {
        typed: Some(typed),
        ..QuickAction::new("Reply", "Reply to this email.", reply::SEND, arguments)
    }
}

fn archive_action(thread: &str, text: &str) -> QuickAction {
    let organise = |label: &str, words: &str, action: &str, becomes: ListedItem| {
        let arguments = json!({ "thread_ids": [thread], "actions": [action] });
        QuickAction {
            becomes: Some(Box::new(becomes)),
            ..QuickAction::new(label, words, organise::NAME, arguments)
        }
    };
    // Prepared lines end here; whoever wants it away again says so.
    let back = ListedItem { text: text.to_owned(), actions: vec![reply_action(thread)] };
    let undo = organise("Undo", "Move it back to the inbox.", "move_to_inbox", back);
    let archived = ListedItem { text: format!("Archived · {text}"), actions: vec![undo] };
    organise("Archive", "Archive this email.", "archive", archived)
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
