//! Google: the sign-in, access tokens for each person's own account and for delegated ones, and Gmail and Calendar with
//! them.
//!
//! Google's types stay in this folder. Mail is sent only in `gmail::send_email`.

pub mod account;
mod api_caller;
mod api_error;
pub mod calendar;
pub mod delegated_tokens;
mod delegated_tool;
pub mod delegation;
mod form;
pub mod gmail;
mod http;
pub mod oauth;
mod reading;
pub mod scopes;
#[cfg(test)]
mod yesterday_tests;

use std::sync::Arc;

use nod_contract::tool::{Tool, ToolError};
use nod_people::people::colleagues::Colleagues;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

pub use account::Accounts;
pub use calendar::{CalendarEndpoint, Room};
pub use delegated_tokens::{DelegatedTokenProvider, OrganisationAccount};
pub use delegation::{DomainDelegation, ServiceKey};
use nod_contract::contacts::ContactSource;
pub use oauth::{GoogleOAuth, OAuthError, SCOPES};

/// Google's endpoints and Nod's identity there.
#[derive(Debug, Clone)]
pub struct GoogleSettings {
    /// The id of the OAuth client.
    pub client_id: String,
    /// The secret of the OAuth client.
    pub client_secret: SecretString,
    /// `https://accounts.google.com/o/oauth2/v2/auth`
    pub auth_url: Url,
    /// `https://oauth2.googleapis.com/token`
    pub token_url: Url,
    /// `https://oauth2.googleapis.com/revoke`
    pub revoke_url: Url,
    /// `https://gmail.googleapis.com/`
    pub gmail_url: Url,
    /// Nod's own callback, exactly as registered with Google.
    pub redirect_url: Url,
}

/// Returns the names of the tools that change something.
#[must_use]
pub fn acts() -> Vec<&'static str> {
    [&gmail::WRITE_TOOLS[..], &calendar::WRITE_TOOLS[..]].concat()
}

/// Returns all tools that work on a person's Google account; `rooms` can be booked.
#[must_use]
pub fn tools(accounts: &Arc<Accounts>, rooms: &Arc<[Room]>, colleagues: &Colleagues) -> Vec<Tool> {
    let tools = [gmail::tools(accounts), calendar::tools(accounts, rooms, colleagues)].concat();
    let named = |tool: &Tool| matches!(tool, Tool::Read(_)) || acts().contains(&tool.spec().name);
    debug_assert!(tools.iter().all(named), "ACTS names every tool that changes something");
    match accounts.delegated_tokens() {
        lent if lent.is_enabled() => {
            tools.into_iter().map(|tool| delegated_tool::with_delegated_access(tool, lent)).collect()
        }
        _ => tools,
    }
}

/// Returns the people that each person writes with, from their own Gmail.
#[must_use]
pub fn contacts(accounts: &Arc<Accounts>) -> Arc<dyn ContactSource> {
    gmail::contacts(accounts)
}

/// Parses arguments as the tool's own type. They passed the schema, so a failure is the schema's fault; the model still
/// gets the error.
fn parse_arguments<T: serde::de::DeserializeOwned>(args: &Value) -> Result<T, ToolError> {
    T::deserialize(args).map_err(|error| ToolError::invalid(error.to_string()))
}
