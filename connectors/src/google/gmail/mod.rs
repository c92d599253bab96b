//! Gmail with one person's own account: reading, drafts, and sending what that person approved.
//!
//! [`Mailbox`] is the only way to Gmail; the tools stand each in a file of their own.

mod address;
mod create_draft;
mod drafts;
mod letter;
mod list_recent;
mod mailbox;
mod message;
mod mime;
mod read_thread;
mod search_messages;
mod send_email;
#[cfg(test)]
mod stories;
mod summary;
mod trouble;

use std::sync::Arc;

use nod_core::tool::{Provider, Reach, Tool, ToolSpec};
use serde_json::Value;

use super::account::Accounts;

pub use mailbox::Gmail;
pub(in crate::google) use mailbox::Mailbox;

/// Gmail's tools.
pub(super) fn tools(accounts: &Arc<Accounts>) -> Vec<Tool> {
    vec![
        Tool::Read(Arc::new(list_recent::ListRecent::new(accounts.clone()))),
        Tool::Read(Arc::new(search_messages::SearchMessages::new(accounts.clone()))),
        Tool::Read(Arc::new(read_thread::ReadThread::new(accounts.clone()))),
        Tool::Act(Arc::new(create_draft::CreateDraft::new(accounts.clone()))),
        Tool::Act(Arc::new(send_email::SendEmail::new(accounts.clone()))),
    ]
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
