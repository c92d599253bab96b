//! Accounts that people connected: sealed tokens, one row per person and provider.
//!
//! It never talks to the provider: the connector refreshes the tokens and reports the result.

use chrono::TimeDelta;
use secrecy::SecretString;
use sqlx::{PgConnection, PgPool};
use std::sync::Arc;
use uuid::Uuid;

pub use accounts::Accounts;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{Ids, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_contract::tool::account::SealedAccount;
use nod_store::vault::Vault;

pub mod account_review;
mod accounts;
pub mod card;
mod connect_request;
pub mod delegated_access;
pub mod disconnect;
pub mod grant_expiry;
mod grantor;
pub mod reconnect;
mod required_account;
pub mod scopes;
pub mod sql;
mod waiting_runs;

pub use connect_request::{
    AuthorizationRequest, ConnectCompletion, ConnectFailure, ConnectPage, ConnectRequestError,
    ConnectRequests, NewConnectRequest, PendingAuthorization, expire, make,
};
pub use delegated_access::{
    AccountSource, DelegatedAccess, DelegatedAccount, DelegatedAccountResolver, OrganisationAccountUsers,
};
pub use grant_expiry::{GrantExpiryStats, load_grant_expiry_stats};
pub use grantor::{Grantor, RevokeError};
pub use required_account::{ConnectedAccount, RequiredAccount, load_connected_account};

/// Reads and writes the connected accounts.
#[derive(Clone)]
pub struct Connections {
    pool: PgPool,
    vault: Vault,
    ids: Arc<dyn Ids>,
}

/// A connected account with decrypted tokens.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The account's address.
    pub account: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// Valid until `expires_at`.
    pub access: SecretString,
    /// Used to get the next access token.
    pub refresh: Option<SecretString>,
    /// When `access` expires.
    pub expires_at: Timestamp,
}

impl Grant {
    /// Returns whether the access token should be refreshed before it is used.
    #[must_use]
    pub fn needs_refresh(&self, now: Timestamp) -> bool {
        self.expires_at - now < TimeDelta::seconds(60)
    }
}

/// What is known of a person's account with a provider.
#[derive(Debug, Clone)]
pub enum ConnectionStatus {
    /// Usable.
    Active(Box<Grant>),
    /// Was connected, until the provider revoked it or its tokens could not be decrypted.
    Revoked,
    /// Was never connected, or was disconnected.
    NotConnected,
}

/// Fresh tokens from the provider.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// The new access token.
    pub access: SecretString,
    /// A new refresh token, if the provider sent one; otherwise the old one is kept.
    pub refresh: Option<SecretString>,
    /// When `access` expires.
    pub expires_at: Timestamp,
    /// What was granted, if the provider says so.
    pub scopes: Option<Vec<String>>,
    /// When the grant expires, if the provider says so.
    pub grant_expires_at: Option<Timestamp>,
}

impl Connections {
    /// Creates it over a pool and a vault.
    #[must_use]
    pub fn new(pool: PgPool, vault: Vault, ids: Arc<dyn Ids>) -> Self {
        Self { pool, vault, ids }
    }

    /// Loads the account of `person` with `provider`.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn load(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
    ) -> Result<ConnectionStatus, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        let row = sql::load(&mut conn, tenant, person, provider.as_str()).await?;
        drop(conn);
        let sealed = row.map(|row| row.into_sealed(provider));
        Ok(self.open(tenant, person, provider, sealed.as_ref()))
    }

    /// Opens the account of `person` with `provider`, as its row was read; `None` if there is no row.
    #[must_use]
    pub fn open(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        sealed: Option<&SealedAccount>,
    ) -> ConnectionStatus {
        let Some(sealed) = sealed else { return ConnectionStatus::NotConnected };
        if sealed.status != "active" {
            return ConnectionStatus::Revoked;
        }
        let context = context(tenant, person, provider);
        let access = self.vault.unseal(&sealed.access_sealed, &context);
        let refresh = sealed.refresh_sealed.as_deref().map(|r| self.vault.unseal(r, &context)).transpose();
        match (access, refresh) {
            (Ok(access), Ok(refresh)) => ConnectionStatus::Active(Box::new(Grant {
                account: sealed.account.clone(),
                scopes: sealed.scopes.clone(),
                access,
                refresh,
                expires_at: sealed.expires_at,
            })),
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%person, %error, "could not decrypt a connected account");
                ConnectionStatus::Revoked
            }
        }
    }

    /// Stores what a consent granted, replacing any existing account.
    ///
    /// # Errors
    /// If the database does not answer.
    #[expect(clippy::too_many_arguments, reason = "a row of that many columns")]
    pub async fn connect(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        account: &str,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<(), sqlx::Error> {
        let sealed = self.seal_tokens(&context(tenant, person, provider), tokens);
        sql::upsert(conn, tenant, person, provider.as_str(), account, &sealed, now).await
    }

    /// Stores what a refresh of `seen` returned, unless the account was connected again meanwhile.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn save_refreshed_tokens(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        seen: &Grant,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<(), sqlx::Error> {
        let sealed = self.seal_tokens(&context(tenant, person, provider), tokens);
        let mut conn = self.pool.acquire().await?;
        sql::update_tokens(&mut conn, tenant, person, provider.as_str(), seen.expires_at, &sealed, now).await
    }

    /// Tries to acquire the lease for refreshing `seen`, which lasts ten seconds by the database's clock. If another
    /// process holds it, the caller reloads the account after a short wait.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn acquire_refresh_lease(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        seen: &Grant,
        by: Uuid,
    ) -> Result<bool, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        sql::acquire_refresh_lease(&mut conn, tenant, person, provider.as_str(), seen.expires_at, by).await
    }

    /// Releases the lease after a failed refresh, so that another process can try at once.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn release_refresh_lease(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        by: Uuid,
    ) -> Result<(), sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        sql::release_refresh_lease(&mut conn, tenant, person, provider.as_str(), by).await
    }

    /// Returns a new id for a process that refreshes.
    #[must_use]
    pub fn new_lease_holder(&self) -> Uuid {
        self.ids.next()
    }

    /// Records that the provider revoked the grant `seen`, unless the account was connected again meanwhile.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn mark_revoked(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        seen: &Grant,
        now: Timestamp,
    ) -> Result<(), sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        sql::mark_revoked(&mut conn, tenant, person, provider.as_str(), seen.expires_at, now).await
    }
}

impl Connections {
    fn seal_tokens(&self, context: &str, tokens: &Tokens) -> sql::SealedTokens {
        let seal = |secret| self.vault.seal(secret, context, self.ids.as_ref());
        sql::SealedTokens {
            access: seal(&tokens.access),
            refresh: tokens.refresh.as_ref().map(seal),
            key_id: self.vault.key_id().to_owned(),
            expires_at: tokens.expires_at,
            scopes: tokens.scopes.clone(),
            grant_expires_at: tokens.grant_expires_at,
        }
    }
}

/// Moves the accounts of one person to another and seals them again. If both have an account with a provider, that of
/// the remaining person is kept.
pub async fn merge_connections(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    from: PersonId,
    to: PersonId,
    now: Timestamp,
) -> sqlx::Result<MergedConnections> {
    let mut moved = MergedConnections::default();
    for (name, row) in sql::delete_all_of_person(conn, tenant, from).await? {
        let Some(provider) = Provider::from_name(&name) else {
            tracing::error!(person = %from, provider = name, "an account with an unknown provider was not moved");
            continue;
        };
        let theirs = sql::load(conn, tenant, to, &name).await?.filter(|theirs| theirs.status == "active");
        if let Some(theirs) = theirs {
            if !theirs.account.eq_ignore_ascii_case(&row.account) {
                let title = provider.display_name().to_owned();
                moved.conflicts.push((title, theirs.account, row.account.clone()));
                if row.status == "active" {
                    let over = disconnect::EndedGrant::from_row(core, tenant, from, provider, row);
                    moved.ended_grants.push(disconnect::EndedGrant { person: to, ..over });
                }
            }
            continue;
        }
        let (before, after) = (context(tenant, from, provider), context(tenant, to, provider));
        let again = |sealed: &str| {
            let opened = core.links.vault.unseal(sealed, &before);
            opened.map(|secret| core.links.vault.seal(&secret, &after, core.ids.as_ref()))
        };
        let refresh = row.refresh_sealed.as_deref().map(again).transpose();
        let (Ok(access), Ok(refresh)) = (again(&row.access_sealed), refresh) else {
            tracing::error!(person = %from, "could not decrypt a connected account; not moved");
            continue;
        };
        let sealed = sql::SealedTokens {
            access,
            refresh,
            key_id: core.links.vault.key_id().to_owned(),
            expires_at: row.expires_at,
            scopes: Some(row.scopes.clone()),
            grant_expires_at: row.grant_expires_at,
        };
        sql::upsert(conn, tenant, to, &name, &row.account, &sealed, now).await?;
        if row.status != "active" {
            sql::mark_revoked(conn, tenant, to, &name, row.expires_at, now).await?;
        } else {
            moved.gained_accounts.push((provider, row.scopes));
        }
    }
    Ok(moved)
}

/// The result of moving one person's accounts to another.
#[derive(Debug, Default)]
pub struct MergedConnections {
    /// If both had one: the provider, the account that is kept, and the other.
    pub conflicts: Vec<(String, String, String)>,
    /// Grants of these that are still valid at their provider, to be revoked after the merge.
    pub ended_grants: Vec<disconnect::EndedGrant>,
    /// The providers with which the remaining person now has an account, and its scopes.
    pub gained_accounts: Vec<(Provider, Vec<String>)>,
}

/// Resumes runs that wait for an account which their person has gained.
pub async fn resume_runs_with_gained_accounts(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    accounts: &[(Provider, Vec<String>)],
    now: Timestamp,
) -> sqlx::Result<()> {
    for (provider, scopes) in accounts {
        waiting_runs::resume_after_grant(core, conn, tenant, person, *provider, scopes, None, now).await?;
    }
    Ok(())
}

/// The context that ties a sealed token to its row.
fn context(tenant: TenantId, person: PersonId, provider: Provider) -> String {
    format!("{tenant}/{person}/{}", provider.as_str())
}
