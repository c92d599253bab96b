//! Tokens for delegated accounts: a person's own account at the organisation, through its service account, and the
//! organisation's account, by a refresh token. They are not stored in the database; each replica caches its own until
//! they expire.
//!
//! If there is no token, no person's consent helps: the error names the administrator of the accounts and offers no
//! link.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::google::scopes;
use chrono::TimeDelta;
use nod_accounts::connection::{DelegatedAccount, DelegatedAccountResolver};
use nod_contract::clock::Timestamp;
use nod_contract::tool::{ToolContext, ToolError};
use secrecy::SecretString;

use super::account::same;
use super::delegation::{Delegation, Undelegated};
use super::oauth::{GoogleOAuth, OAuthError};
use nod_contract::provider::Provider;

/// How many seconds the job waits before a retry if Google does not answer.
const TRY_AGAIN_SECONDS: u64 = 5;
/// A token that expires this soon is no longer used.
const SOON: TimeDelta = TimeDelta::seconds(60);

/// The delegated accounts.
pub struct Lent {
    loans: DelegatedAccountResolver,
    /// `None` if no service account is configured.
    delegation: Option<Delegation>,
    system: Option<SystemAccount>,
    kept: Mutex<HashMap<(DelegatedAccount, Vec<String>), Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Kept>>>;

#[derive(Clone)]
struct Kept {
    access: SecretString,
    until: Timestamp,
}

/// The organisation's account.
#[derive(Clone)]
pub struct SystemAccount {
    oauth: GoogleOAuth,
    refresh: SecretString,
}

/// Why there is no token for the organisation's account, classified by who can fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSystem {
    /// The grant was revoked.
    #[error(
        "Google no longer lets this Nod into the organisation's account ({0}). Whoever runs Nod has to sign in with it \
         anew, and to set google.system.refresh_token"
    )]
    Revoked(String),
    /// The grant lacks scopes.
    #[error(
        "The organisation's account does not allow this Nod to {0}. Whoever runs Nod has to sign in with it anew for \
         that too, and to set google.system.refresh_token"
    )]
    TooLittle(String),
    /// No answer, or a broken one: a retry can help.
    #[error("Google did not answer: {0}")]
    Silent(String),
}

impl SystemAccount {
    /// Creates it with a refresh token that was issued to `oauth`'s client.
    #[must_use]
    pub fn new(oauth: GoogleOAuth, refresh: SecretString) -> Self {
        Self { oauth, refresh }
    }

    /// Returns a fresh token with its expiry, and the granted scopes if Google names them.
    async fn renewed(&self, now: Timestamp) -> Result<(Kept, Option<Vec<String>>), NoSystem> {
        let tokens = self.oauth.refresh(&self.refresh, now).await.map_err(|error| match error {
            OAuthError::Revoked => NoSystem::Revoked("invalid_grant".to_owned()),
            OAuthError::Refused { reason } | OAuthError::Misconfigured { reason } => {
                NoSystem::Revoked(reason)
            }
            OAuthError::Silent { reason } => NoSystem::Silent(reason),
        })?;
        // Only this scope lets us look up the account's address.
        let missing =
            tokens.scopes.as_ref().map(|granted| scopes::GOOGLE.missing_scopes(granted, &[scopes::READONLY]));
        if missing.is_some_and(|missing| !missing.is_empty()) {
            return Err(NoSystem::TooLittle("read mail".to_owned()));
        }
        Ok((Kept { access: tokens.access, until: tokens.expires_at }, tokens.scopes))
    }

    /// Asks Gmail for the account's email address.
    ///
    /// # Errors
    /// Why it is not known.
    pub async fn address(&self, now: Timestamp) -> Result<String, NoSystem> {
        let (kept, _) = self.renewed(now).await?;
        self.address_by(&kept.access).await
    }

    async fn address_by(&self, access: &SecretString) -> Result<String, NoSystem> {
        self.oauth.profile(access).await.map_err(|error| NoSystem::Silent(error.to_string()))
    }
}

/// A delegated account, for one call.
pub(super) struct Borrowed {
    pub(super) account: String,
    pub(super) access: SecretString,
}

impl Lent {
    /// Creates it; `loans` decides who can use which account.
    #[must_use]
    pub fn new(
        loans: DelegatedAccountResolver,
        delegation: Option<Delegation>,
        system: Option<SystemAccount>,
    ) -> Arc<Self> {
        Arc::new(Self { loans, delegation, system, kept: Mutex::default() })
    }

    /// Returns whether any account is delegated.
    pub(super) fn lends(&self) -> bool {
        self.loans.delegated_access().is_enabled()
    }

    /// Returns the account that is delegated to the person of this call.
    pub(super) async fn loan(&self, cx: &ToolContext) -> Result<Option<DelegatedAccount>, ToolError> {
        let loan =
            self.loans.find_delegated_account(cx.scope.tenant, cx.principal.person, Provider::Google).await;
        loan.map_err(|error| ToolError::internal(format!("whose account is used cannot be read: {error}")))
    }

    /// Returns access to it, limited to `needs`, with a token that is not `refused`, which Google just rejected.
    pub(super) async fn borrow(
        &self,
        loan: &DelegatedAccount,
        needs: &[String],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Borrowed, ToolError> {
        let slot = self.slot(loan, needs, now);
        // One call requests the token, and concurrent calls use the same one.
        let mut kept = slot.lock().await;
        let good = |one: &&Kept| one.until - now >= SOON && !refused.is_some_and(|r| same(r, &one.access));
        let access = match kept.as_ref().filter(good) {
            Some(one) => one.access.clone(),
            None => kept.insert(self.issued(loan, needs, now).await?).access.clone(),
        };
        Ok(Borrowed { account: self.account(loan, &access).await?, access })
    }

    fn slot(&self, loan: &DelegatedAccount, needs: &[String], now: Timestamp) -> Slot {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let used = |slot: &Slot| {
            let lasts = |kept: &Option<Kept>| kept.as_ref().is_some_and(|kept| kept.until > now);
            Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|kept| lasts(&kept))
        };
        all.retain(|_, slot| used(slot));
        all.entry((loan.clone(), needs.to_vec())).or_default().clone()
    }

    async fn issued(
        &self,
        loan: &DelegatedAccount,
        needs: &[String],
        now: Timestamp,
    ) -> Result<Kept, ToolError> {
        match loan {
            DelegatedAccount::Impersonated(address) => {
                let delegation = self.delegation.as_ref().ok_or_else(unset)?;
                let issued = delegation.token(address, needs).await.map_err(|error| match error {
                    Undelegated::Silent(why) => silent(why),
                    error => needs_admin(&error),
                })?;
                Ok(Kept { access: issued.access, until: now + issued.lives })
            }
            DelegatedAccount::Organisation => {
                let system = self.system.as_ref().ok_or_else(unset)?;
                let (kept, granted) = system.renewed(now).await.map_err(sorted)?;
                match granted.map(|granted| scopes::GOOGLE.missing_scopes(&granted, needs)) {
                    Some(missing) if !missing.is_empty() => {
                        Err(needs_admin(&NoSystem::TooLittle(scopes::GOOGLE.describe_any(&missing))))
                    }
                    _ => Ok(kept),
                }
            }
        }
    }

    /// Returns its address; the organisation's is looked up once.
    async fn account(&self, loan: &DelegatedAccount, access: &SecretString) -> Result<String, ToolError> {
        let lending = self.loans.delegated_access();
        match (loan, lending.organisation_email()) {
            (DelegatedAccount::Impersonated(address), _) => Ok(address.clone()),
            (DelegatedAccount::Organisation, Some(address)) => Ok(address.to_owned()),
            (DelegatedAccount::Organisation, None) => {
                let system = self.system.as_ref().ok_or_else(unset)?;
                let address = system.address_by(access).await.map_err(sorted)?;
                lending.set_organisation_email(&address);
                Ok(address)
            }
        }
    }

    /// Returns the organisation's address: "assistant@acme.test".
    pub(super) fn organisations(&self) -> &str {
        self.loans.delegated_access().organisation_email().unwrap_or("the organisation's account")
    }
}

fn sorted(error: NoSystem) -> ToolError {
    match error {
        NoSystem::Silent(why) => silent(&why),
        error => needs_admin(&error),
    }
}

fn silent(why: &str) -> ToolError {
    tracing::info!(why, "no response from Google for a lent account");
    ToolError::RateLimited { retry_after_secs: TRY_AGAIN_SECONDS }
}

/// Also logs the reason, because no one else might notify the administrator. It contains at most an address.
fn needs_admin(why: &impl std::fmt::Display) -> ToolError {
    tracing::warn!(%why, "cannot use a lent account");
    ToolError::NeedsAdmin { reason: why.to_string() }
}

/// A delegated account implies a configured one, so this is a bug.
fn unset() -> ToolError {
    ToolError::internal("the lent account is not configured")
}
