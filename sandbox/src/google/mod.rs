//! A Google with accounts, consent, mailboxes and calendars: OAuth 2, Gmail v1 and Calendar v3 on one loopback port.
//!
//! Owns the state that all its routes share. The routes are in the neighbouring files; what tests and the demo can read
//! and change is in `control`. It never connects to another server.

mod calendar;
mod compose;
mod consent;
mod demo_api;
mod drafts;
mod gmail;
mod grants;
mod handle;
mod key;
mod labels;
mod mailbox;
mod messages;
mod middleware;
mod mime;
mod model;
mod oauth;
mod payload;
mod response;
mod rules;
mod search;
mod service_account;
#[cfg(test)]
mod tests;
mod upload;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::Faults;
use crate::serve::Server;
use calendar::Calendars;
pub use calendar::{Attendee, CalendarEvent, EventEdit, Invitation, InvitationKind, NewEvent};
use grants::Grants;
pub use handle::TokenPair;
use mailbox::Mailboxes;
pub use model::{DraftEdit, IncomingMail, MailMessage, OutgoingMail};
use rules::ApiSchema;
use service_account::ServiceAccount;
pub use service_account::unknown_service_account_key;

/// Returns the fake's current time.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// A person with a mailbox and a calendar here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    pub email: String,
    pub name: String,
    /// Further addresses that this account may send as.
    pub aliases: Vec<String>,
    /// The calendar's zone, by its IANA name.
    pub time_zone: String,
    /// Send-as addresses that are not confirmed yet.
    #[serde(rename = "unconfirmed")]
    pub unverified_aliases: Vec<String>,
    /// The default send-as address, if it is one of the aliases.
    #[serde(rename = "usual")]
    pub default_alias: Option<String>,
    /// The signature as HTML, by address.
    pub signatures: BTreeMap<String, String>,
    /// The display name in From, by address. Empty if it is not set.
    pub names: BTreeMap<String, String>,
    /// The Reply-To address if it differs from the sender, by address.
    pub answers: BTreeMap<String, String>,
    /// Aliases that are also other people's mailboxes, so they are not treated as this account's own.
    #[serde(rename = "shared")]
    pub shared_aliases: Vec<String>,
}

impl Account {
    #[must_use]
    pub fn new(email: &str, name: &str) -> Self {
        Self {
            email: email.to_lowercase(),
            name: name.to_owned(),
            time_zone: "UTC".to_owned(),
            ..Self::default()
        }
    }

    /// Returns the account with its calendar in that zone.
    #[must_use]
    pub fn with_time_zone(mut self, name: &str) -> Self {
        name.clone_into(&mut self.time_zone);
        self
    }

    fn may_send_as(&self, address: &str) -> bool {
        self.email.eq_ignore_ascii_case(address)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(address))
    }
}

/// The configuration of the fake.
#[derive(Clone)]
pub struct GoogleConfig {
    pub accounts: Vec<Account>,
    pub client_id: String,
    pub client_secret: String,
    /// The only accepted redirect addresses, compared byte by byte. More can be added later with
    /// [`Google::register_redirect`].
    pub redirect_uris: Vec<String>,
    /// The folder with `google/gmail.v1.schema.json` and `google/calendar.v3.schema.json`; without it only the rules in
    /// this code apply.
    pub specs_dir: Option<PathBuf>,
    pub clock: Clock,
}

impl Default for GoogleConfig {
    fn default() -> Self {
        Self {
            accounts: Vec::new(),
            client_id: "sandbox-client.apps.googleusercontent.com".to_owned(),
            client_secret: "sandbox-client-secret".to_owned(),
            redirect_uris: Vec::new(),
            specs_dir: None,
            clock: Arc::new(Utc::now),
        }
    }
}

impl fmt::Debug for GoogleConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogleConfig")
            .field("accounts", &self.accounts)
            .field("client_id", &self.client_id)
            .field("redirect_uris", &self.redirect_uris)
            .field("specs_dir", &self.specs_dir)
            .finish_non_exhaustive()
    }
}

/// A request that reached an operation, rejected or not.
#[derive(Debug, Clone, Serialize)]
pub struct ApiCall {
    /// As in Google's discovery documents (`gmail.users.drafts.send`, `calendar.events.insert`), or `oauth.token`,
    /// `oauth.revoke`.
    pub operation: String,
    /// The token's account, if the token is known.
    pub account: Option<String>,
    pub at: DateTime<Utc>,
    /// The JSON part of the body; null if there was none. Tokens are never stored here.
    pub body: Value,
}

/// The running fake; clones share it. The port closes with the last of them.
#[derive(Debug, Clone)]
pub struct Google {
    shared: Arc<Shared>,
    server: Arc<Server>,
    /// The faults to inject.
    pub faults: Faults,
}

#[derive(Debug, Default)]
struct State {
    mail: Mailboxes,
    calendars: Calendars,
    grants: Grants,
    services: Vec<ServiceAccount>,
    redirect_uris: Vec<String>,
    /// Whether the app's publishing status is "Testing".
    testing: bool,
    calls: Vec<ApiCall>,
    violations: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    config: GoogleConfig,
    rules: ApiSchema,
    faults: Faults,
    state: Mutex<State>,
    version: watch::Sender<u64>,
}

impl Shared {
    fn now(&self) -> DateTime<Utc> {
        (self.config.clock)()
    }

    /// Locks the state for reading.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes all tasks that wait for a change.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.state());
        self.version.send_modify(|version| *version += 1);
        outcome
    }
}

impl Google {
    /// Starts the fake on a free loopback port.
    ///
    /// # Errors
    /// If no port can be bound, or the specification in `specs_dir` cannot be used.
    pub async fn start(config: GoogleConfig) -> std::io::Result<Self> {
        let rules = ApiSchema::read(config.specs_dir.as_deref())?;
        let faults = Faults::default();
        let state = State {
            mail: Mailboxes::new(&config.accounts),
            calendars: Calendars::new(&config.accounts),
            redirect_uris: config.redirect_uris.clone(),
            ..State::default()
        };
        let shared = Arc::new(Shared {
            config,
            rules,
            faults: faults.clone(),
            state: Mutex::new(state),
            version: watch::channel(0).0,
        });
        let router = Router::new()
            .merge(oauth::routes())
            .merge(consent::routes())
            .merge(gmail::routes())
            .merge(calendar::routes())
            .merge(demo_api::routes())
            .fallback(response::not_found)
            .with_state(shared.clone());
        let server = Arc::new(Server::start(router).await?);
        Ok(Self { shared, server, faults })
    }

    /// Returns the base URL, `http://127.0.0.1:port`, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns how long answers took, in total.
    #[must_use]
    pub fn total_response_time(&self) -> std::time::Duration {
        self.server.total_response_time()
    }

    /// Returns the URL of the consent page.
    #[must_use]
    pub fn auth_url(&self) -> String {
        format!("{}/o/oauth2/v2/auth", self.url())
    }

    /// Returns the URL at which codes and refresh tokens are exchanged.
    #[must_use]
    pub fn token_url(&self) -> String {
        format!("{}/token", self.url())
    }

    /// Returns the URL at which tokens are revoked.
    #[must_use]
    pub fn revoke_url(&self) -> String {
        format!("{}/revoke", self.url())
    }
}
