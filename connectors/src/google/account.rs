//! Gives the access token of each person's own account, renewed when it is about to end, or of one that is lent to them.
//!
//! One renewal at a time per person, in all replicas: a turn is written in the account's row, and ends by itself after ten
//! seconds where a replica is killed in it.
//! A grant that Google took back is noted, so that the next call says so without asking again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::google::scopes;
use google_gmail1::common::GetToken;
use nod_accounts::connection::{Connected, Connections, Grant, Loan};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::{ToolContext, ToolError};
use nod_people::file::Shelf;
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

/// How long the job waits before it tries again when Google's sign-in does not answer.
const TRY_AGAIN_SECONDS: u64 = 5;

/// Longer than a turn of another replica, which may have been killed in it.
const OTHERS_TURN: Duration = Duration::from_secs(12);
/// How often it is looked what came of another replica's turn.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

type Owner = (TenantId, PersonId);

/// The Google accounts that people connected, and those that are lent to them.
pub struct Accounts {
    connections: Connections,
    lent: Arc<Lent>,
    oauth: GoogleOAuth,
    calendar: Calendar,
    shelf: Shelf,
    reading: Arc<dyn Reader>,
    renewing: Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>,
}

impl Accounts {
    /// Over the stored connections and what is lent, Google's sign-in and its calendars, the files of conversations, and
    /// where documents are read.
    #[must_use]
    pub fn new(
        connections: Connections,
        lent: Arc<Lent>,
        oauth: GoogleOAuth,
        calendar: Calendar,
        shelf: Shelf,
        reading: Arc<dyn Reader>,
    ) -> Arc<Self> {
        Arc::new(Self { connections, lent, oauth, calendar, shelf, reading, renewing: Mutex::default() })
    }

    /// Where this call reads what others wrote.
    fn reading(&self, cx: &ToolContext) -> Reading {
        let whose = Whose { tenant: cx.scope.tenant, person: cx.principal.person };
        Reading::new(self.reading.clone(), whose, Instant::now() + cx.time_left())
    }

    pub(in crate::google) fn lent(&self) -> &Arc<Lent> {
        &self.lent
    }

    /// The mailbox of the person on whose behalf `cx` is, to read it and to write mail.
    ///
    /// # Errors
    /// As [`Accounts::access`].
    pub(in crate::google) async fn mailbox(self: &Arc<Self>, cx: &ToolContext) -> Result<Mailbox, ToolError> {
        self.mailbox_with(cx, &SCOPES).await
    }

    /// The same to do no more than what these scopes allow.
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

    /// Their calendar, to do no more than what these scopes allow.
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

    /// The way to the account of the person on whose behalf `cx` is, where these scopes are granted.
    ///
    /// # Errors
    /// [`Fault::NeedsConnect`] where there is no good grant, or one that allows too little, and nothing is lent;
    /// [`Fault::NeedsAdmin`] where what is lent cannot be used; [`Fault::Busy`] where Google does not answer.
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

    /// A grant that allows these scopes, whose access token is good for a while, and is not `refused`, which Google
    /// just rejected.
    async fn grant(
        &self,
        whose: Owner,
        needs: &[&str],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Grant, ToolError> {
        let good = |grant: &Grant| !grant.stale(now) && !refused.is_some_and(|r| same(r, &grant.access));
        let grant = self.stored(whose, needs).await?;
        if good(&grant) {
            return Ok(grant);
        }
        let lock = self.lock(whose);
        let _one_at_a_time = lock.lock().await;
        // Another call may have renewed it while this one waited.
        let (tenant, person) = whose;
        let (by, until) = (self.connections.renewer(), Instant::now() + OTHERS_TURN);
        while Instant::now() < until {
            let grant = self.stored(whose, needs).await?;
            if good(&grant) {
                return Ok(grant);
            }
            let mine = self.connections.may_renew(tenant, person, Provider::Google, &grant, by).await;
            if mine.map_err(|error| {
                ToolError::internal(format!("the connected account cannot be kept: {error}"))
            })? {
                return self.renew(whose, grant, by, now).await.map_err(|fault| asking(fault, needs));
            }
            // Another replica renews it: what comes of that stands in the row.
            sleep(LOOK_AGAIN).await;
        }
        Err(ToolError::RateLimited { retry_after_secs: TRY_AGAIN_SECONDS })
    }

    async fn stored(&self, (tenant, person): Owner, needs: &[&str]) -> Result<Grant, ToolError> {
        match self.connections.of(tenant, person, Provider::Google).await {
            Ok(Connected::Yes(grant)) => match scopes::GOOGLE.missing(&grant.scopes, needs) {
                missing if missing.is_empty() => Ok(*grant),
                missing => {
                    Err(ToolError::NeedsConnect { provider: Provider::Google, revoked: false, missing })
                }
            },
            Ok(Connected::Revoked) => Err(asking(ToolError::reconnect(Provider::Google), needs)),
            Ok(Connected::No) => {
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
                let kept =
                    self.connections.refreshed(tenant, person, Provider::Google, &grant, &tokens, now).await;
                kept.map_err(broken)?;
                Ok(Grant { access: tokens.access, expires_at: tokens.expires_at, ..grant })
            }
            Err(OAuthError::Revoked) => {
                tracing::info!(%person, "Google took a grant back");
                let noted = self.connections.revoked(tenant, person, Provider::Google, &grant, now).await;
                noted.map_err(broken)?;
                Err(ToolError::reconnect(Provider::Google))
            }
            Err(error) => {
                self.connections.gave_up(tenant, person, Provider::Google, by).await.map_err(broken)?;
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

/// Whoever connects again is asked for what the tool needs.
fn asking(fault: ToolError, needs: &[&str]) -> ToolError {
    match fault {
        ToolError::NeedsConnect { provider, revoked, .. } => {
            let missing = needs.iter().map(|&scope| scope.to_owned()).collect();
            ToolError::NeedsConnect { provider, revoked, missing }
        }
        other => other,
    }
}

/// A person's account for the length of one call of a tool.
pub(in crate::google) struct Access {
    /// Its address.
    pub(in crate::google) account: String,
    /// What each request is made with.
    pub(in crate::google) token: PersonToken,
    /// To be set where Google rejected the token: it is asked for another once.
    pub(in crate::google) refused: Arc<AtomicBool>,
    /// Nothing is waited for beyond this.
    pub(in crate::google) until: Instant,
}

pub(in crate::google) fn same(a: &SecretString, b: &SecretString) -> bool {
    a.expose_secret() == b.expose_secret()
}

/// Where the next token comes from.
#[derive(Clone)]
enum Source {
    /// Whoever has to connect again is asked for these scopes.
    Own(Owner, Vec<String>),
    /// To do no more than these scopes.
    Lent(Loan, Vec<String>),
}

/// A person's access token as Google's client asks for it: before each request, and again after a 401.
#[derive(Clone)]
pub(in crate::google) struct PersonToken {
    accounts: Arc<Accounts>,
    source: Source,
    now: Timestamp,
    current: Arc<Mutex<SecretString>>,
    /// Set by the mailbox when Google rejected the current one.
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
