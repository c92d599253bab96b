//! Google: the sign-in, each person's access token, and Gmail with that person's own account.
//!
//! Google's types stay in this folder. Mail is sent in `gmail::send_email` and nowhere else.

pub mod account;
pub mod gmail;
mod http;
pub mod oauth;

use std::sync::Arc;

use nod_core::tool::Tool;
use secrecy::SecretString;
use url::Url;

pub use account::Accounts;
pub use oauth::{GoogleOAuth, OAuthError, SCOPES, missing};

/// Google's endpoints and Nod's identity there.
#[derive(Debug, Clone)]
pub struct GoogleSettings {
    /// Of the OAuth client.
    pub client_id: String,
    /// Of the OAuth client.
    pub client_secret: SecretString,
    /// `https://accounts.google.com/o/oauth2/v2/auth`
    pub auth_url: Url,
    /// `https://oauth2.googleapis.com/token`
    pub token_url: Url,
    /// `https://oauth2.googleapis.com/revoke`
    pub revoke_url: Url,
    /// `https://gmail.googleapis.com/`
    pub gmail_url: Url,
    /// Nod's own callback, as registered with Google, to the letter.
    pub redirect_url: Url,
}

/// The names of the tools that change something.
pub const ACTS: [&str; 7] = gmail::ACTS;

/// Every tool that works on a person's Google account.
#[must_use]
pub fn tools(accounts: &Arc<Accounts>) -> Vec<Tool> {
    gmail::tools(accounts)
}
