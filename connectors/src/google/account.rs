//! Provides the access token of each person's own Google account, refreshed shortly before it expires, or of an account
//! that is delegated to them.
//!
//! Only one refresh runs at a time per person, across all replicas: the lease is stored in the account's row and
//! expires after ten seconds if a replica is killed while it holds it. A grant that Google revoked is recorded, so the
//! next call reports it without asking Google again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::google::scopes;
use google_gmail1::common::GetToken;
use nod_accounts::connection::{ConnectionStatus, Connections, DelegatedAccount, Grant};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::{ToolContext, ToolError};
use nod_people::attachment::AttachmentStore;
use nod_people::reading::{Reader, Whose};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::calendar::{CalendarClient, CalendarEndpoint};
use super::delegated_tokens::{DelegatedToken, DelegatedTokenProvider};
use super::gmail::Mailbox;
use super::oauth::{GoogleOAuth, OAuthError, SCOPES};
use super::reading::Reading;
use nod_contract::provider::Provider;

/// How many seconds the job waits before a retry if Google's sign-in does not answer.
const RETRY_AFTER_SECS: u64 = 5;

/// Longer than another replica's refresh lease lasts, because that replica might have been killed.
const REFRESH_WAIT_TIMEOUT: Duration = Duration::from_secs(12);
/// How often the row is read again while another replica refreshes the token.
const REFRESH_POLL_INTERVAL: Duration = Duration::from_millis(100);

type Owner = (TenantId, PersonId);

/// The Google accounts that people connected, and those that are delegated to them.
pub struct Accounts {
    connections: Connections,
    delegated_tokens: Arc<DelegatedTokenProvider>,
    oauth: GoogleOAuth,
    calendar: CalendarEndpoint,
    attachments: AttachmentStore,
    reading: Arc<dyn Reader>,
    refresh_locks: Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>,
}

impl Accounts {
    /// Creates it over the stored connections and the delegated accounts, Google's sign-in and its calendars, the
    /// attachments of conversations, and the reader of documents.
    #[must_use]
    pub fn new(
        connections: Connections,
        lent: Arc<DelegatedTokenProvider>,
        oauth: GoogleOAuth,
        calendar: CalendarEndpoint,
        shelf: AttachmentStore,
        reading: Arc<dyn Reader>,
    ) -> Arc<Self> {
        Arc::new(Self {
            connections,
            delegated_tokens: lent,
            oauth,
            calendar,
            attachments: shelf,
            reading,
            refresh_locks: Mutex::default(),
        })
    }

    /// Returns the reader for untrusted text in this call.
    fn reading(&self, cx: &ToolContext) -> Reading {
        let whose = Whose { tenant: cx.scope.tenant, person: cx.principal.person };
        Reading::new(self.reading.clone(), whose, Instant::now() + cx.time_left())
    }

    pub(in crate::google) fn delegated_tokens(&self) -> &Arc<DelegatedTokenProvider> {
        &self.delegated_tokens
    }

    /// Returns the mailbox of the person on whose behalf `cx` runs, to read it and to write mail.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn mailbox(self: &Arc<Self>, cx: &ToolContext) -> Result<Mailbox, ToolError> {
        self.mailbox_with_scopes(cx, &SCOPES).await
    }

    /// Returns the same mailbox, limited to these scopes.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn mailbox_with_scopes(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<Mailbox, ToolError> {
        let access = self.obtain_access(cx, needs).await?;
        let AccountAccess { account, token, token_rejected: refused, until } = access;
        Ok(Mailbox::new(self.oauth.gmail(), token, account, until)
            .with_token_rejected_flag(refused)
            .with_attachments(self.attachments.clone(), self.reading(cx), cx.clone()))
    }

    /// Returns the person's calendar, limited to these scopes.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn calendar_client(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<CalendarClient, ToolError> {
        let AccountAccess { account, token, token_rejected: refused, until } =
            self.obtain_access(cx, needs).await?;
        Ok(CalendarClient::new(&self.calendar, token, account, until, refused, self.reading(cx)))
    }

    /// Returns access to the account of the person on whose behalf `cx` runs, if these scopes are granted.
    ///
    /// # Errors
    /// [`ToolError::NeedsConnect`] if there is no valid grant or it lacks scopes, and no account is delegated;
    /// [`ToolError::NeedsAdmin`] if the delegated account cannot be used; [`ToolError::RateLimited`] if Google does not
    /// answer.
    pub(in crate::google) async fn obtain_access(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<AccountAccess, ToolError> {
        let whose = (cx.scope.tenant, cx.principal.person);
        let scopes: Vec<String> = needs.iter().map(|&scope| scope.to_owned()).collect();
        let (source, DelegatedToken { account, access }) =
            match self.delegated_tokens.find_delegated_account(cx).await? {
                Some(loan) => {
                    let borrowed = self.delegated_tokens.obtain_token(&loan, &scopes, cx.now, None).await?;
                    (TokenSource::Delegated(loan, scopes), borrowed)
                }
                None => {
                    let Grant { account, access, .. } = self.obtain_grant(cx, whose, needs).await?;
                    (TokenSource::Connected(whose, scopes), DelegatedToken { account, access })
                }
            };
        let refused = Arc::new(AtomicBool::new(false));
        let token = AccessTokenProvider {
            accounts: self.clone(),
            source,
            now: cx.now,
            current: Arc::new(Mutex::new(access)),
            token_rejected: refused.clone(),
        };
        Ok(AccountAccess { account, token, token_rejected: refused, until: Instant::now() + cx.time_left() })
    }

    /// Returns a grant with these scopes: the one that the call's job has just read, if it will do, so that nothing is read
    /// here. What would be an error or a refresh is decided by the row as it is now.
    async fn obtain_grant(&self, cx: &ToolContext, whose: Owner, needs: &[&str]) -> Result<Grant, ToolError> {
        if let Some(read) = &cx.accounts {
            let ((tenant, person), sealed) = (whose, read.get(Provider::Google));
            let status = self.connections.open(tenant, person, Provider::Google, sealed);
            if let Ok(grant) = check_grant(status, needs)
                && !grant.needs_refresh(cx.now)
            {
                return Ok(grant);
            }
        }
        self.load_fresh_grant(whose, needs, cx.now, None).await
    }

    /// Returns a grant with these scopes whose access token is not about to expire and is not `refused`, which Google
    /// just rejected.
    async fn load_fresh_grant(
        &self,
        whose: Owner,
        needs: &[&str],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Grant, ToolError> {
        let good =
            |grant: &Grant| !grant.needs_refresh(now) && !refused.is_some_and(|r| same(r, &grant.access));
        let grant = self.load_stored_grant(whose, needs).await?;
        if good(&grant) {
            return Ok(grant);
        }
        let lock = self.lock(whose);
        let _one_at_a_time = lock.lock().await;
        // Another call might have refreshed it while this one waited.
        let (tenant, person) = whose;
        let (by, until) = (self.connections.new_lease_holder(), Instant::now() + REFRESH_WAIT_TIMEOUT);
        while Instant::now() < until {
            let grant = self.load_stored_grant(whose, needs).await?;
            if good(&grant) {
                return Ok(grant);
            }
            let mine =
                self.connections.acquire_refresh_lease(tenant, person, Provider::Google, &grant, by).await;
            if mine.map_err(|error| {
                ToolError::internal(format!("I can't read or save connected accounts right now: {error}"))
            })? {
                return self
                    .refresh_grant(whose, grant, by, now)
                    .await
                    .map_err(|fault| with_needed_scopes(fault, needs));
            }
            // Another replica refreshes it and stores the result in the row.
            sleep(REFRESH_POLL_INTERVAL).await;
        }
        Err(ToolError::RateLimited { retry_after_secs: RETRY_AFTER_SECS })
    }

    async fn load_stored_grant(&self, (tenant, person): Owner, needs: &[&str]) -> Result<Grant, ToolError> {
        match self.connections.load(tenant, person, Provider::Google).await {
            Ok(status) => check_grant(status, needs),
            Err(error) => Err(ToolError::internal(format!(
                "I can't read or save connected accounts right now: {error}"
            ))),
        }
    }

    async fn refresh_grant(
        &self,
        whose: Owner,
        grant: Grant,
        by: Uuid,
        now: Timestamp,
    ) -> Result<Grant, ToolError> {
        let (tenant, person) = whose;
        let broken = |error| {
            ToolError::internal(format!("I can't read or save connected accounts right now: {error}"))
        };
        let renewed = match &grant.refresh {
            Some(refresh) => self.oauth.refresh(refresh, now).await,
            None => Err(OAuthError::Revoked),
        };
        match renewed {
            Ok(tokens) => {
                let kept = self
                    .connections
                    .save_refreshed_tokens(tenant, person, Provider::Google, &grant, &tokens, now)
                    .await;
                kept.map_err(broken)?;
                Ok(Grant { access: tokens.access, expires_at: tokens.expires_at, ..grant })
            }
            Err(OAuthError::Revoked) => {
                tracing::info!(%person, "Google revoked a grant");
                let noted =
                    self.connections.mark_revoked(tenant, person, Provider::Google, &grant, now).await;
                noted.map_err(broken)?;
                Err(ToolError::reconnect(Provider::Google))
            }
            Err(error) => {
                self.connections
                    .release_refresh_lease(tenant, person, Provider::Google, by)
                    .await
                    .map_err(broken)?;
                Err(match error {
                    OAuthError::Unavailable { .. } => {
                        ToolError::RateLimited { retry_after_secs: RETRY_AFTER_SECS }
                    }
                    error => ToolError::internal(error.to_string()),
                })
            }
        }
    }

    fn lock(&self, whose: Owner) -> Arc<tokio::sync::Mutex<()>> {
        let mut renewing = self.refresh_locks.lock().unwrap_or_else(PoisonError::into_inner);
        renewing.retain(|_, lock| Arc::strong_count(lock) > 1);
        renewing.entry(whose).or_default().clone()
    }
}

/// Returns the grant if it has these scopes, and otherwise what the person has to do.
fn check_grant(status: ConnectionStatus, needs: &[&str]) -> Result<Grant, ToolError> {
    match status {
        ConnectionStatus::Active(grant) => match scopes::GOOGLE.missing_scopes(&grant.scopes, needs) {
            missing if missing.is_empty() => Ok(*grant),
            missing => Err(ToolError::NeedsConnect { provider: Provider::Google, revoked: false, missing }),
        },
        ConnectionStatus::Revoked => Err(with_needed_scopes(ToolError::reconnect(Provider::Google), needs)),
        ConnectionStatus::NotConnected => {
            let missing = needs.iter().map(|&scope| scope.to_owned()).collect();
            Err(ToolError::NeedsConnect { provider: Provider::Google, revoked: false, missing })
        }
    }
}

/// Adds the scopes that the tool needs to the error, so that a person who reconnects is asked for them.
fn with_needed_scopes(fault: ToolError, needs: &[&str]) -> ToolError {
    match fault {
        ToolError::NeedsConnect { provider, revoked, .. } => {
            let missing = needs.iter().map(|&scope| scope.to_owned()).collect();
            ToolError::NeedsConnect { provider, revoked, missing }
        }
        other => other,
    }
}

/// A person's account for the duration of one tool call.
pub(in crate::google) struct AccountAccess {
    /// Its email address.
    pub(in crate::google) account: String,
    /// The token source for every request.
    pub(in crate::google) token: AccessTokenProvider,
    /// Set if Google rejected the token: the source is then asked for another one, once.
    pub(in crate::google) token_rejected: Arc<AtomicBool>,
    /// The time after which no request is waited for.
    pub(in crate::google) until: Instant,
}

pub(in crate::google) fn same(a: &SecretString, b: &SecretString) -> bool {
    a.expose_secret() == b.expose_secret()
}

/// Where the next token comes from.
#[derive(Clone)]
enum TokenSource {
    /// The person's own account; a person who must reconnect is asked for these scopes.
    Connected(Owner, Vec<String>),
    /// A delegated account, limited to these scopes.
    Delegated(DelegatedAccount, Vec<String>),
}

/// A person's access token. Google's client asks for it before each request, and again after a 401.
#[derive(Clone)]
pub(in crate::google) struct AccessTokenProvider {
    accounts: Arc<Accounts>,
    source: TokenSource,
    now: Timestamp,
    current: Arc<Mutex<SecretString>>,
    /// Set by the mailbox if Google rejected the current token.
    token_rejected: Arc<AtomicBool>,
}

impl AccessTokenProvider {
    async fn token(&self) -> Result<String, ToolError> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !self.token_rejected.swap(false, Ordering::AcqRel) {
            return Ok(current.expose_secret().to_owned());
        }
        let Accounts { delegated_tokens: lent, .. } = self.accounts.as_ref();
        let access = match &self.source {
            TokenSource::Connected(whose, needs) => {
                let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
                self.accounts.load_fresh_grant(*whose, &needs, self.now, Some(&current)).await?.access
            }
            TokenSource::Delegated(loan, needs) => {
                lent.obtain_token(loan, needs, self.now, Some(&current)).await?.access
            }
        };
        let token = access.expose_secret().to_owned();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = access;
        Ok(token)
    }
}

type Token<'a> = Pin<
    Box<dyn Future<Output = Result<Option<String>, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>,
>;

impl GetToken for AccessTokenProvider {
    fn get_token<'a>(&'a self, _scopes: &'a [&str]) -> Token<'a> {
        Box::pin(async move { Ok(Some(self.token().await?)) })
    }
}
