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

use super::calendar::{Calendar, Diary};
use super::gmail::Mailbox;
use super::lent::{Borrowed, Lent};
use super::oauth::{GoogleOAuth, OAuthError, SCOPES};
use super::reading::Reading;
use nod_contract::provider::Provider;

/// How many seconds the job waits before a retry if Google's sign-in does not answer.
const TRY_AGAIN_SECONDS: u64 = 5;

/// Longer than another replica's refresh lease lasts, because that replica might have been killed.
const OTHERS_TURN: Duration = Duration::from_secs(12);
/// How often the row is read again while another replica refreshes the token.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

type Owner = (TenantId, PersonId);

/// The Google accounts that people connected, and those that are delegated to them.
pub struct Accounts {
    connections: Connections,
    lent: Arc<Lent>,
    oauth: GoogleOAuth,
    calendar: Calendar,
    shelf: AttachmentStore,
    reading: Arc<dyn Reader>,
    renewing: Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>,
}

impl Accounts {
    /// Creates it over the stored connections and the delegated accounts, Google's sign-in and its calendars, the
    /// attachments of conversations, and the reader of documents.
    #[must_use]
    pub fn new(
        connections: Connections,
        lent: Arc<Lent>,
        oauth: GoogleOAuth,
        calendar: Calendar,
        shelf: AttachmentStore,
        reading: Arc<dyn Reader>,
    ) -> Arc<Self> {
        Arc::new(Self { connections, lent, oauth, calendar, shelf, reading, renewing: Mutex::default() })
    }

    /// Returns the reader for untrusted text in this call.
    fn reading(&self, cx: &ToolContext) -> Reading {
        let whose = Whose { tenant: cx.scope.tenant, person: cx.principal.person };
        Reading::new(self.reading.clone(), whose, Instant::now() + cx.time_left())
    }

    pub(in crate::google) fn lent(&self) -> &Arc<Lent> {
        &self.lent
    }

    /// Returns the mailbox of the person on whose behalf `cx` runs, to read it and to write mail.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn mailbox(self: &Arc<Self>, cx: &ToolContext) -> Result<Mailbox, ToolError> {
        self.mailbox_with(cx, &SCOPES).await
    }

    /// Returns the same mailbox, limited to these scopes.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn mailbox_with(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<Mailbox, ToolError> {
        let access = self.access(cx, needs).await?;
        let Access { account, token, refused, until } = access;
        Ok(Mailbox::new(self.oauth.gmail(), token, account, until).renewing(refused).beside(
            self.shelf.clone(),
            self.reading(cx),
            cx.clone(),
        ))
    }

    /// Returns the person's calendar, limited to these scopes.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn diary(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<Diary, ToolError> {
        let Access { account, token, refused, until } = self.access(cx, needs).await?;
        Ok(Diary::new(&self.calendar, token, account, until, refused, self.reading(cx)))
    }

    /// Returns access to the account of the person on whose behalf `cx` runs, if these scopes are granted.
    ///
    /// # Errors
    /// [`ToolError::NeedsConnect`] if there is no valid grant or it lacks scopes, and no account is delegated;
    /// [`ToolError::NeedsAdmin`] if the delegated account cannot be used; [`ToolError::RateLimited`] if Google does not
    /// answer.
    pub(in crate::google) async fn access(
        self: &Arc<Self>,
        cx: &ToolContext,
        needs: &[&str],
    ) -> Result<Access, ToolError> {
        let whose = (cx.scope.tenant, cx.principal.person);
        let scopes: Vec<String> = needs.iter().map(|&scope| scope.to_owned()).collect();
        let (source, Borrowed { account, access }) = match self.lent.loan(cx).await? {
            Some(loan) => {
                let borrowed = self.lent.borrow(&loan, &scopes, cx.now, None).await?;
                (Source::Lent(loan, scopes), borrowed)
            }
            None => {
                let Grant { account, access, .. } = self.grant(whose, needs, cx.now, None).await?;
                (Source::Own(whose, scopes), Borrowed { account, access })
            }
        };
        let refused = Arc::new(AtomicBool::new(false));
        let token = PersonToken {
            accounts: self.clone(),
            source,
            now: cx.now,
            current: Arc::new(Mutex::new(access)),
            refused: refused.clone(),
        };
        Ok(Access { account, token, refused, until: Instant::now() + cx.time_left() })
    }

    /// Returns a grant with these scopes whose access token is not about to expire and is not `refused`, which Google
    /// just rejected.
    async fn grant(
        &self,
        whose: Owner,
        needs: &[&str],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Grant, ToolError> {
        let good =
            |grant: &Grant| !grant.needs_refresh(now) && !refused.is_some_and(|r| same(r, &grant.access));
        let grant = self.stored(whose, needs).await?;
        if good(&grant) {
            return Ok(grant);
        }
        let lock = self.lock(whose);
        let _one_at_a_time = lock.lock().await;
        // Another call might have refreshed it while this one waited.
        let (tenant, person) = whose;
        let (by, until) = (self.connections.new_lease_holder(), Instant::now() + OTHERS_TURN);
        while Instant::now() < until {
            let grant = self.stored(whose, needs).await?;
            if good(&grant) {
                return Ok(grant);
            }
            let mine =
                self.connections.acquire_refresh_lease(tenant, person, Provider::Google, &grant, by).await;
            if mine.map_err(|error| {
                ToolError::internal(format!("the connected account cannot be kept: {error}"))
            })? {
                return self.renew(whose, grant, by, now).await.map_err(|fault| asking(fault, needs));
            }
            // Another replica refreshes it and stores the result in the row.
            sleep(LOOK_AGAIN).await;
        }
        Err(ToolError::RateLimited { retry_after_secs: TRY_AGAIN_SECONDS })
    }

    async fn stored(&self, (tenant, person): Owner, needs: &[&str]) -> Result<Grant, ToolError> {
        match self.connections.load(tenant, person, Provider::Google).await {
            Ok(ConnectionStatus::Active(grant)) => {
                match scopes::GOOGLE.missing_scopes(&grant.scopes, needs) {
                    missing if missing.is_empty() => Ok(*grant),
                    missing => {
                        Err(ToolError::NeedsConnect { provider: Provider::Google, revoked: false, missing })
                    }
                }
            }
            Ok(ConnectionStatus::Revoked) => Err(asking(ToolError::reconnect(Provider::Google), needs)),
            Ok(ConnectionStatus::NotConnected) => {
                let missing = needs.iter().map(|&scope| scope.to_owned()).collect();
                Err(ToolError::NeedsConnect { provider: Provider::Google, revoked: false, missing })
            }
            Err(error) => Err(ToolError::internal(format!("the connected accounts cannot be read: {error}"))),
        }
    }

    async fn renew(&self, whose: Owner, grant: Grant, by: Uuid, now: Timestamp) -> Result<Grant, ToolError> {
        let (tenant, person) = whose;
        let broken = |error| ToolError::internal(format!("the connected account cannot be kept: {error}"));
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
                    OAuthError::Silent { .. } => {
                        ToolError::RateLimited { retry_after_secs: TRY_AGAIN_SECONDS }
                    }
                    error => ToolError::internal(error.to_string()),
                })
            }
        }
    }

    fn lock(&self, whose: Owner) -> Arc<tokio::sync::Mutex<()>> {
        let mut renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        renewing.retain(|_, lock| Arc::strong_count(lock) > 1);
        renewing.entry(whose).or_default().clone()
    }
}

/// Adds the scopes that the tool needs to the error, so that a person who reconnects is asked for them.
fn asking(fault: ToolError, needs: &[&str]) -> ToolError {
    match fault {
        ToolError::NeedsConnect { provider, revoked, .. } => {
            let missing = needs.iter().map(|&scope| scope.to_owned()).collect();
            ToolError::NeedsConnect { provider, revoked, missing }
        }
        other => other,
    }
}

/// A person's account for the duration of one tool call.
pub(in crate::google) struct Access {
    /// Its email address.
    pub(in crate::google) account: String,
    /// The token source for every request.
    pub(in crate::google) token: PersonToken,
    /// Set if Google rejected the token: the source is then asked for another one, once.
    pub(in crate::google) refused: Arc<AtomicBool>,
    /// The time after which no request is waited for.
    pub(in crate::google) until: Instant,
}

pub(in crate::google) fn same(a: &SecretString, b: &SecretString) -> bool {
    a.expose_secret() == b.expose_secret()
}

/// Where the next token comes from.
#[derive(Clone)]
enum Source {
    /// The person's own account; a person who must reconnect is asked for these scopes.
    Own(Owner, Vec<String>),
    /// A delegated account, limited to these scopes.
    Lent(DelegatedAccount, Vec<String>),
}

/// A person's access token. Google's client asks for it before each request, and again after a 401.
#[derive(Clone)]
pub(in crate::google) struct PersonToken {
    accounts: Arc<Accounts>,
    source: Source,
    now: Timestamp,
    current: Arc<Mutex<SecretString>>,
    /// Set by the mailbox if Google rejected the current token.
    refused: Arc<AtomicBool>,
}

impl PersonToken {
    async fn token(&self) -> Result<String, ToolError> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !self.refused.swap(false, Ordering::AcqRel) {
            return Ok(current.expose_secret().to_owned());
        }
        let Accounts { lent, .. } = self.accounts.as_ref();
        let access = match &self.source {
            Source::Own(whose, needs) => {
                let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
                self.accounts.grant(*whose, &needs, self.now, Some(&current)).await?.access
            }
            Source::Lent(loan, needs) => lent.borrow(loan, needs, self.now, Some(&current)).await?.access,
        };
        let token = access.expose_secret().to_owned();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = access;
        Ok(token)
    }
}

type Token<'a> = Pin<
    Box<dyn Future<Output = Result<Option<String>, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>,
>;

impl GetToken for PersonToken {
    fn get_token<'a>(&'a self, _scopes: &'a [&str]) -> Token<'a> {
        Box::pin(async move { Ok(Some(self.token().await?)) })
    }
}
