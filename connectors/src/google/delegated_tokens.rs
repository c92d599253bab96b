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
use super::delegation::{DelegationError, DomainDelegation};
use super::oauth::{GoogleOAuth, OAuthError};
use nod_contract::provider::Provider;

/// How many seconds the job waits before a retry if Google does not answer.
const RETRY_AFTER_SECS: u64 = 5;
/// A token that expires this soon is no longer used.
const EXPIRY_MARGIN: TimeDelta = TimeDelta::seconds(60);

/// The delegated accounts.
pub struct DelegatedTokenProvider {
    loans: DelegatedAccountResolver,
    /// `None` if no service account is configured.
    delegation: Option<DomainDelegation>,
    system: Option<OrganisationAccount>,
    token_cache: Mutex<HashMap<(DelegatedAccount, Vec<String>), Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<CachedToken>>>;

#[derive(Clone)]
struct CachedToken {
    access: SecretString,
    until: Timestamp,
}

/// The organisation's account.
#[derive(Clone)]
pub struct OrganisationAccount {
    oauth: GoogleOAuth,
    refresh: SecretString,
}

/// Why there is no token for the organisation's account, classified by who can fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrganisationAccountError {
    /// The grant was revoked.
    #[error(
        "I've lost access to your organisation's account ({0}). The person who runs Nod has to sign in with \
         it again and set google.system.refresh_token"
    )]
    Revoked(String),
    /// The grant lacks scopes.
    #[error(
        "Your organisation's account doesn't allow me to {0}. The person who runs Nod has to sign in with it \
         again for that and set google.system.refresh_token"
    )]
    MissingScopes(String),
    /// No answer, or a broken one: a retry can help.
    #[error("Google didn't answer: {0}")]
    Unavailable(String),
}

impl OrganisationAccount {
    /// Creates it with a refresh token that was issued to `oauth`'s client.
    #[must_use]
    pub fn new(oauth: GoogleOAuth, refresh: SecretString) -> Self {
        Self { oauth, refresh }
    }

    /// Returns a fresh token with its expiry, and the granted scopes if Google names them.
    async fn fetch_token(
        &self,
        now: Timestamp,
    ) -> Result<(CachedToken, Option<Vec<String>>), OrganisationAccountError> {
        let tokens = self.oauth.refresh(&self.refresh, now).await.map_err(|error| match error {
            OAuthError::Revoked => OrganisationAccountError::Revoked("invalid_grant".to_owned()),
            OAuthError::Rejected { reason } | OAuthError::Misconfigured { reason } => {
                OrganisationAccountError::Revoked(reason)
            }
            OAuthError::Unavailable { reason } => OrganisationAccountError::Unavailable(reason),
        })?;
        // Only this scope lets us look up the account's address.
        let missing =
            tokens.scopes.as_ref().map(|granted| scopes::GOOGLE.missing_scopes(granted, &[scopes::READONLY]));
        if missing.is_some_and(|missing| !missing.is_empty()) {
            return Err(OrganisationAccountError::MissingScopes("read email".to_owned()));
        }
        Ok((CachedToken { access: tokens.access, until: tokens.expires_at }, tokens.scopes))
    }

    /// Asks Gmail for the account's email address.
    ///
    /// # Errors
    /// Why it is not known.
    pub async fn fetch_email(&self, now: Timestamp) -> Result<String, OrganisationAccountError> {
        let (kept, _) = self.fetch_token(now).await?;
        self.fetch_email_with(&kept.access).await
    }

    async fn fetch_email_with(&self, access: &SecretString) -> Result<String, OrganisationAccountError> {
        self.oauth
            .fetch_email(access)
            .await
            .map_err(|error| OrganisationAccountError::Unavailable(error.to_string()))
    }
}

/// A delegated account, for one call.
pub(super) struct DelegatedToken {
    pub(super) account: String,
    pub(super) access: SecretString,
}

impl DelegatedTokenProvider {
    /// Creates it; `loans` decides who can use which account.
    #[must_use]
    pub fn new(
        loans: DelegatedAccountResolver,
        delegation: Option<DomainDelegation>,
        system: Option<OrganisationAccount>,
    ) -> Arc<Self> {
        Arc::new(Self { loans, delegation, system, token_cache: Mutex::default() })
    }

    /// Returns whether any account is delegated.
    pub(super) fn is_enabled(&self) -> bool {
        self.loans.delegated_access().is_enabled()
    }

    /// Returns the account that is delegated to the person of this call.
    pub(super) async fn find_delegated_account(
        &self,
        cx: &ToolContext,
    ) -> Result<Option<DelegatedAccount>, ToolError> {
        // Their own account comes first, also if it no longer works.
        if cx.accounts.as_ref().is_some_and(|read| read.get(Provider::Google).is_some()) {
            return Ok(None);
        }
        let loan =
            self.loans.find_delegated_account(cx.scope.tenant, cx.principal.person, Provider::Google).await;
        loan.map_err(|error| ToolError::internal(format!("I can't tell whose account to use: {error}")))
    }

    /// Returns access to it, limited to `needs`, with a token that is not `refused`, which Google just rejected.
    pub(super) async fn obtain_token(
        &self,
        loan: &DelegatedAccount,
        needs: &[String],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<DelegatedToken, ToolError> {
        let slot = self.slot(loan, needs, now);
        // One call requests the token, and concurrent calls use the same one.
        let mut kept = slot.lock().await;
        let good = |one: &&CachedToken| {
            one.until - now >= EXPIRY_MARGIN && !refused.is_some_and(|r| same(r, &one.access))
        };
        let access = match kept.as_ref().filter(good) {
            Some(one) => one.access.clone(),
            None => kept.insert(self.issue_token(loan, needs, now).await?).access.clone(),
        };
        Ok(DelegatedToken { account: self.account_email(loan, &access).await?, access })
    }

    fn slot(&self, loan: &DelegatedAccount, needs: &[String], now: Timestamp) -> Slot {
        let mut all = self.token_cache.lock().unwrap_or_else(PoisonError::into_inner);
        let used = |slot: &Slot| {
            let lasts = |kept: &Option<CachedToken>| kept.as_ref().is_some_and(|kept| kept.until > now);
            Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|kept| lasts(&kept))
        };
        all.retain(|_, slot| used(slot));
        all.entry((loan.clone(), needs.to_vec())).or_default().clone()
    }

    async fn issue_token(
        &self,
        loan: &DelegatedAccount,
        needs: &[String],
        now: Timestamp,
    ) -> Result<CachedToken, ToolError> {
        match loan {
            DelegatedAccount::Impersonated(address) => {
                let delegation = self.delegation.as_ref().ok_or_else(not_configured_error)?;
                let issued = delegation.fetch_token(address, needs).await.map_err(|error| match error {
                    DelegationError::Unavailable(why) => unavailable_error(why),
                    error => needs_admin(&error),
                })?;
                Ok(CachedToken { access: issued.access, until: now + issued.lifetime })
            }
            DelegatedAccount::Organisation => {
                let system = self.system.as_ref().ok_or_else(not_configured_error)?;
                let (kept, granted) = system.fetch_token(now).await.map_err(into_tool_error)?;
                match granted.map(|granted| scopes::GOOGLE.missing_scopes(&granted, needs)) {
                    Some(missing) if !missing.is_empty() => Err(needs_admin(
                        &OrganisationAccountError::MissingScopes(scopes::GOOGLE.describe_any(&missing)),
                    )),
                    _ => Ok(kept),
                }
            }
        }
    }

    /// Returns its address; the organisation's is looked up once.
    async fn account_email(
        &self,
        loan: &DelegatedAccount,
        access: &SecretString,
    ) -> Result<String, ToolError> {
        let lending = self.loans.delegated_access();
        match (loan, lending.organisation_email()) {
            (DelegatedAccount::Impersonated(address), _) => Ok(address.clone()),
            (DelegatedAccount::Organisation, Some(address)) => Ok(address.to_owned()),
            (DelegatedAccount::Organisation, None) => {
                let system = self.system.as_ref().ok_or_else(not_configured_error)?;
                let address = system.fetch_email_with(access).await.map_err(into_tool_error)?;
                lending.set_organisation_email(&address);
                Ok(address)
            }
        }
    }

    /// Returns the organisation's address: "assistant@acme.test".
    pub(super) fn organisation_label(&self) -> &str {
        self.loans.delegated_access().organisation_email().unwrap_or("your organisation's account")
    }
}

fn into_tool_error(error: OrganisationAccountError) -> ToolError {
    match error {
        OrganisationAccountError::Unavailable(why) => unavailable_error(&why),
        error => needs_admin(&error),
    }
}

fn unavailable_error(why: &str) -> ToolError {
    tracing::info!(why, "no response from Google for a lent account");
    ToolError::RateLimited { retry_after_secs: RETRY_AFTER_SECS }
}

/// Also logs the reason, because no one else might notify the administrator. It contains at most an address.
fn needs_admin(why: &impl std::fmt::Display) -> ToolError {
    tracing::warn!(%why, "cannot use a lent account");
    ToolError::NeedsAdmin { reason: why.to_string() }
}

/// A delegated account implies a configured one, so this is a bug.
fn not_configured_error() -> ToolError {
    ToolError::internal("the lent account is not configured")
}
