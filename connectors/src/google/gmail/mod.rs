//! Gmail with a person's own account: reading, drafts, and sending what that person approved.
//!
//! [`Mailbox`] is the only access to Gmail; each tool has its own file.

pub(in crate::google) mod address;
mod charset;
mod contacts;
mod create_draft;
mod create_label;
mod discard_draft;
mod drafts;
mod form;
mod forward;
mod identity;
mod label_actions;
mod labels;
mod list_drafts;
mod list_labels;
mod list_recent;
mod mailbox;
#[cfg(test)]
mod mailbox_tests;
mod message;
mod message_list;
mod mime;
mod open_draft;
mod organise;
mod outgoing_attachments;
mod outgoing_email;
mod output_budget;
mod preview;
mod quote;
mod read_attachment;
mod read_draft;
mod read_thread;
mod received_attachments;
mod reply;
mod search_dates;
mod search_messages;
mod send_draft;
mod send_email;
mod update_draft;
mod written;

use std::sync::Arc;

use nod_contract::tool::{Reach, Tool, ToolSpec};
use serde_json::Value;

use super::account::Accounts;
use super::parse_arguments;
use nod_contract::contacts::ContactSource;
use nod_contract::provider::Provider;

pub use mailbox::GmailEndpoint;
pub(in crate::google) use mailbox::Mailbox;

/// The names of the tools that change something, for the policy rules of an administrator.
pub(super) const WRITE_TOOLS: [&str; 10] = [
    create_draft::NAME,
    update_draft::NAME,
    send_draft::NAME,
    discard_draft::NAME,
    reply::SEND,
    reply::DRAFT,
    send_email::NAME,
    forward::NAME,
    organise::NAME,
    create_label::NAME,
];

/// Gmail's tools.
pub(super) fn tools(accounts: &Arc<Accounts>) -> Vec<Tool> {
    vec![
        Tool::Read(Arc::new(list_recent::ListRecent::new(accounts.clone()))),
        Tool::Read(Arc::new(search_messages::SearchMessages::new(accounts.clone()))),
        Tool::Read(Arc::new(read_thread::ReadThread::new(accounts.clone()))),
        Tool::Read(Arc::new(read_attachment::ReadAttachment::new(accounts.clone()))),
        Tool::Read(Arc::new(list_labels::ListLabels::new(accounts.clone()))),
        Tool::Act(Arc::new(organise::Organise::new(accounts.clone()))),
        Tool::Act(Arc::new(create_label::CreateLabel::new(accounts.clone()))),
        Tool::Read(Arc::new(list_drafts::ListDrafts::new(accounts.clone()))),
        Tool::Read(Arc::new(list_drafts::OpenDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(create_draft::CreateDraft::new(accounts.clone()))),
        Tool::Read(Arc::new(read_draft::ReadDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(update_draft::UpdateDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(send_draft::SendDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(discard_draft::DiscardDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(reply::ReplyTool::for_sending(accounts.clone()))),
        Tool::Act(Arc::new(reply::ReplyTool::for_draft(accounts.clone()))),
        Tool::Act(Arc::new(forward::Forward::new(accounts.clone()))),
        Tool::Act(Arc::new(send_email::SendEmail::new(accounts.clone()))),
    ]
}

/// Returns the people that each person writes with.
pub(super) fn contacts(accounts: &Arc<Accounts>) -> Arc<dyn ContactSource> {
    Arc::new(contacts::MailContacts::new(accounts.clone()))
}

fn spec(
    name: &'static str,
    description: &'static str,
    doing: &'static str,
    reach: Reach,
    parameters: Value,
) -> ToolSpec {
    ToolSpec {
        name,
        description: description.trim(),
        parameters,
        reach,
        provider: Some(Provider::Google),
        status_text: doing,
    }
}

#[cfg(test)]
pub(super) fn reserialize_payload(tool: &str, payload: &Value) -> Option<Value> {
    use super::yesterday_tests::reserialize;
    match tool {
        "gmail_create_label" => None,
        "gmail_organise" => Some(reserialize::<organise::OrganisePayload>(payload)),
        other => other.starts_with("gmail_").then(|| reserialize::<outgoing_email::OutgoingEmail>(payload)),
    }
}
