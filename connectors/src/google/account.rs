//! Gives each person's own access token, renewed when it is about to end.
//!
//! One renewal at a time per person in this process; two processes may renew at once, which Google allows.
//! A grant that Google took back is noted, so that the next call says so without asking again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use google_gmail1::common::GetToken;
use nod_core::clock::Timestamp;
use nod_core::connection::{Connected, Connections, Grant};
use nod_core::ids::{PersonId, TenantId};
use nod_core::tool::{Fault, Provider, ToolContext};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::gmail::Mailbox;
use super::oauth::{GoogleOAuth, OAuthError};

/// How long the job waits before it tries again when Google's sign-in does not answer.
const TRY_AGAIN_SECONDS: u64 = 5;

type Whose = (TenantId, PersonId);

/// The connected Google accounts.
pub struct Accounts {
    connections: Connections,
    oauth: GoogleOAuth,
    renewing: Mutex<HashMap<Whose, Arc<tokio::sync::Mutex<()>>>>,
}

impl Accounts {
    /// Over the stored connections and Google's sign-in.
    #[must_use]
    pub fn new(connections: Connections, oauth: GoogleOAuth) -> Arc<Self> {
        Arc::new(Self { connections, oauth, renewing: Mutex::default() })
    }

    /// The mailbox of the person on whose behalf `cx` is.
    ///
    /// # Errors
    /// [`Fault::NeedsConnect`] where there is no good grant; [`Fault::Busy`] where Google does not answer.
    pub(in crate::google) async fn mailbox(self: &Arc<Self>, cx: &ToolContext) -> Result<Mailbox, Fault> {
        let whose = (cx.scope.tenant, cx.principal.person);
        let grant = self.grant(whose, cx.now, None).await?;
        let refused = Arc::new(AtomicBool::new(false));
        let token = PersonToken {
            accounts: self.clone(),
            whose,
            now: cx.now,
            current: Arc::new(Mutex::new(grant.access)),
            refused: refused.clone(),
        };
        let until = Instant::now() + cx.time_left();
        Ok(Mailbox::new(self.oauth.gmail(), token, grant.account, until).renewing(refused))
    }

    /// A grant whose access token is good for a while, and is not `refused`, which Google just rejected.
    async fn grant(
        &self,
        whose: Whose,
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Grant, Fault> {
        let good = |grant: &Grant| !grant.stale(now) && !refused.is_some_and(|r| same(r, &grant.access));
        let grant = self.stored(whose).await?;
        if good(&grant) {
            return Ok(grant);
        }
        let lock = self.lock(whose);
        let _one_at_a_time = lock.lock().await;
        // Another call may have renewed it while this one waited.
        let grant = self.stored(whose).await?;
        if good(&grant) {
            return Ok(grant);
        }
        self.renew(whose, grant, now).await
    }

    async fn stored(&self, (tenant, person): Whose) -> Result<Grant, Fault> {
        match self.connections.of(tenant, person, Provider::Google).await {
            Ok(Connected::Yes(grant)) => Ok(*grant),
            Ok(Connected::Revoked) => Err(Fault::NeedsConnect { provider: Provider::Google, revoked: true }),
            Ok(Connected::No) => Err(Fault::NeedsConnect { provider: Provider::Google, revoked: false }),
            Err(error) => Err(Fault::broken(format!("the connected accounts cannot be read: {error}"))),
        }
    }

    async fn renew(&self, whose: Whose, grant: Grant, now: Timestamp) -> Result<Grant, Fault> {
        let (tenant, person) = whose;
        let broken = |error| Fault::broken(format!("the connected account cannot be kept: {error}"));
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
                Err(Fault::NeedsConnect { provider: Provider::Google, revoked: true })
            }
            Err(OAuthError::Silent { .. }) => Err(Fault::Busy { after_seconds: TRY_AGAIN_SECONDS }),
            Err(error) => Err(Fault::broken(error.to_string())),
        }
    }

    fn lock(&self, whose: Whose) -> Arc<tokio::sync::Mutex<()>> {
        let mut renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        renewing.retain(|_, lock| Arc::strong_count(lock) > 1);
        renewing.entry(whose).or_default().clone()
    }
}

fn same(a: &SecretString, b: &SecretString) -> bool {
    a.expose_secret() == b.expose_secret()
}

/// A person's access token as Google's client asks for it: before each request, and again after a 401.
#[derive(Clone)]
struct PersonToken {
    accounts: Arc<Accounts>,
    whose: Whose,
    now: Timestamp,
    current: Arc<Mutex<SecretString>>,
    /// Set by the mailbox when Google rejected the current one.
    refused: Arc<AtomicBool>,
}

impl PersonToken {
    async fn token(&self) -> Result<String, Fault> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !self.refused.swap(false, Ordering::AcqRel) {
            return Ok(current.expose_secret().to_owned());
        }
        let grant = self.accounts.grant(self.whose, self.now, Some(&current)).await?;
        let token = grant.access.expose_secret().to_owned();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = grant.access;
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
