//! The accounts of the person for whom a tool is called, as their rows said when the job of the call read other rows
//! anyway. They spare the call a read of its own.
//!
//! They belong to one job, and nothing writes or keeps them: an account that is disconnected elsewhere counts at once.

use serde::Deserialize;

use crate::clock::Timestamp;
use crate::provider::Provider;

/// A connected account as its row has it. Only the crate that owns the row opens the tokens.
#[derive(Clone, Deserialize)]
pub struct SealedAccount {
    /// The name of its provider.
    pub provider: String,
    /// The account's address.
    pub account: String,
    /// Whether it is usable, or was revoked.
    pub status: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// The sealed access token, valid until `expires_at`.
    pub access_sealed: String,
    /// The sealed refresh token.
    pub refresh_sealed: Option<String>,
    /// When the access token expires.
    pub expires_at: Timestamp,
}

/// A log contains no tokens, not even sealed ones.
impl std::fmt::Debug for SealedAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedAccount")
            .field("provider", &self.provider)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// All connected accounts of one person, as one statement read them.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct SealedAccounts(Vec<SealedAccount>);

impl SealedAccounts {
    /// Returns the account with this provider, if there is one.
    #[must_use]
    pub fn get(&self, provider: Provider) -> Option<&SealedAccount> {
        self.0.iter().find(|account| account.provider == provider.as_str())
    }
}
