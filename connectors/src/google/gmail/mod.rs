//! Gmail with one person's own account: reading, drafts, and sending what that person approved.
//!
//! [`Mailbox`] is the only way to Gmail; the tools stand each in a file of their own.

mod address;
mod create_draft;
mod discard_draft;
mod drafts;
mod edit;
mod letter;
mod list_recent;
mod mailbox;
mod message;
mod mime;
mod open_draft;
mod read_attachment;
mod read_draft;
mod read_thread;
mod reply;
mod search_messages;
mod send_draft;
mod send_email;
#[cfg(test)]
mod stories;
mod summary;
mod trouble;
mod update_draft;

use std::sync::Arc;

use nod_core::tool::{Provider, Reach, Tool, ToolSpec};
use serde_json::Value;

use super::account::Accounts;

pub use mailbox::Gmail;
pub(in crate::google) use mailbox::Mailbox;

/// The names of those that change something, for the rules that an operator writes about them.
pub(super) const ACTS: [&str; 7] = [
    create_draft::NAME,
    update_draft::NAME,
    send_draft::NAME,
    discard_draft::NAME,
    reply::SEND,
    reply::DRAFT,
    send_email::NAME,
];

/// Gmail's tools.
pub(super) fn tools(accounts: &Arc<Accounts>) -> Vec<Tool> {
    let tools = vec![
        Tool::Read(Arc::new(list_recent::ListRecent::new(accounts.clone()))),
        Tool::Read(Arc::new(search_messages::SearchMessages::new(accounts.clone()))),
        Tool::Read(Arc::new(read_thread::ReadThread::new(accounts.clone()))),
        Tool::Read(Arc::new(read_attachment::ReadAttachment::new(accounts.clone()))),
        Tool::Act(Arc::new(create_draft::CreateDraft::new(accounts.clone()))),
        Tool::Read(Arc::new(read_draft::ReadDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(update_draft::UpdateDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(send_draft::SendDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(discard_draft::DiscardDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(reply::ReplyTool::sending(accounts.clone()))),
        Tool::Act(Arc::new(reply::ReplyTool::drafting(accounts.clone()))),
        Tool::Act(Arc::new(send_email::SendEmail::new(accounts.clone()))),
    ];
    let named = |tool: &Tool| matches!(tool, Tool::Read(_)) || ACTS.contains(&tool.spec().name);
    debug_assert!(tools.iter().all(named), "ACTS names every tool that changes something");
    tools
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
        doing,
    }
}

/// Arguments as the tool's own type. They passed the schema, so a failure here is the schema's fault; the
/// model is told all the same.
fn arguments<T: serde::de::DeserializeOwned>(args: &Value) -> Result<T, nod_core::tool::Fault> {
    T::deserialize(args).map_err(|error| nod_core::tool::Fault::invalid(error.to_string()))
}
