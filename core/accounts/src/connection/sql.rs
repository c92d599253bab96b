//! Rows of connected accounts, of the offers that lead to them, and of accounts that an admin decides on.

mod connect_requests;

use sqlx::PgConnection;
use uuid::Uuid;

use super::ConnectedAccount;
use super::disconnect::Revocation;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_contract::tool::account::SealedAccount;

pub(super) use connect_requests::{
    AccountReview, NewAccountReview, has_other_route, insert_request, insert_review, is_review_allowed,
    list_waiting_runs, load_request, mark_authorizing, mark_callback_received, mark_expired,
    mark_review_decided, mark_signed_in, set_status,
};

pub(super) struct ConnectionRow {
    pub(super) account: String,
    pub(super) status: String,
    pub(super) scopes: Vec<String>,
    pub(super) access_sealed: String,
    pub(super) refresh_sealed: Option<String>,
    pub(super) expires_at: Timestamp,
    pub(super) granted_at: Option<Timestamp>,
    pub(super) grant_expires_at: Option<Timestamp>,
}

impl ConnectionRow {
    /// Returns what a call needs of it.
    pub(super) fn into_sealed(self, provider: Provider) -> SealedAccount {
        SealedAccount {
            provider: provider.as_str().to_owned(),
            account: self.account,
            status: self.status,
            scopes: self.scopes,
            access_sealed: self.access_sealed,
            refresh_sealed: self.refresh_sealed,
            expires_at: self.expires_at,
        }
    }
}

pub(super) struct SealedTokens {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) key_id: String,
    pub(super) expires_at: Timestamp,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) grant_expires_at: Option<Timestamp>,
}

pub(super) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
) -> sqlx::Result<Option<ConnectionRow>> {
    sqlx::query_as!(
        ConnectionRow,
        "select account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at, grant_expires_at
         from connections where tenant_id = $1 and person_id = $2 and provider = $3",
        tenant.0,
        person.0,
        provider
    )
    .fetch_optional(conn)
    .await
}

/// Returns a person's accounts by provider: each with its provider, its name and whether it works.
pub async fn list_accounts(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<(String, String, bool)>> {
    let rows = sqlx::query!(
        "select provider, account, status from connections where tenant_id = $1 and person_id = $2
         order by provider",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.provider, row.account, row.status == "active")).collect())
}

/// Returns every account with a provider and when its row was last written. For an account that no longer works, that
/// is when this was noticed.
pub(super) async fn list_by_provider(
    conn: &mut PgConnection,
    tenant: TenantId,
    provider: &str,
) -> sqlx::Result<Vec<(ConnectedAccount, Timestamp)>> {
    let rows = sqlx::query!(
        r#"select account, scopes, status = 'active' as "works!", granted_at, grant_expires_at, updated_at
         from connections where tenant_id = $1 and provider = $2"#,
        tenant.0,
        provider
    )
    .fetch_all(conn)
    .await?;
    let held = rows.into_iter().map(|row| {
        let held = ConnectedAccount {
            account: row.account,
            scopes: row.scopes,
            is_working: row.works,
            granted_at: row.granted_at,
            grant_expires_at: row.grant_expires_at,
        };
        (held, row.updated_at)
    });
    Ok(held.collect())
}

/// Deletes and returns every account of a person, each with its provider.
pub(super) async fn delete_all_of_person(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<(String, ConnectionRow)>> {
    let rows = sqlx::query!(
        "delete from connections where tenant_id = $1 and person_id = $2
         returning provider, account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at,
             grant_expires_at",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    let account = rows.into_iter().map(|r| {
        let row = ConnectionRow {
            account: r.account,
            status: r.status,
            scopes: r.scopes,
            access_sealed: r.access_sealed,
            refresh_sealed: r.refresh_sealed,
            expires_at: r.expires_at,
            granted_at: r.granted_at,
            grant_expires_at: r.grant_expires_at,
        };
        (r.provider, row)
    });
    Ok(account.collect())
}

pub(super) async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    account: &str,
    sealed: &SealedTokens,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into connections (tenant_id, person_id, provider, account, status, scopes, access_sealed,
             refresh_sealed, key_id, expires_at, created_at, updated_at, granted_at, grant_expires_at)
         values ($1, $2, $3, $4, 'active', $5, $6, $7, $8, $9, $10, $10, $10, $11)
         on conflict (tenant_id, person_id, provider) do update set account = excluded.account,
             status = 'active', scopes = excluded.scopes, access_sealed = excluded.access_sealed,
             refresh_sealed = coalesce(excluded.refresh_sealed, case
                 when connections.account = excluded.account and connections.status = 'active'
                 then connections.refresh_sealed end),
             key_id = excluded.key_id, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
             granted_at = excluded.granted_at, grant_expires_at = excluded.grant_expires_at, refresh_lease_holder = null,
             refresh_lease_until = null",
        tenant.0,
        person.0,
        provider,
        account,
        sealed.scopes.as_deref().unwrap_or_default(),
        sealed.access,
        sealed.refresh.as_deref(),
        sealed.key_id,
        sealed.expires_at,
        now,
        sealed.grant_expires_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How long the lease for refreshing an account lasts, in seconds.
const REFRESH_LEASE_SECS: f64 = 10.0;

pub(super) async fn acquire_refresh_lease(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    by: Uuid,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update connections
         set refresh_lease_holder = $5, refresh_lease_until = clock_timestamp() + make_interval(secs => $6)
         where tenant_id = $1 and person_id = $2 and provider = $3 and status = 'active' and expires_at = $4
           and (refresh_lease_until is null or refresh_lease_until < clock_timestamp())",
        tenant.0,
        person.0,
        provider,
        seen,
        by,
        REFRESH_LEASE_SECS
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn release_refresh_lease(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    by: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set refresh_lease_holder = null, refresh_lease_until = null
         where tenant_id = $1 and person_id = $2 and provider = $3 and refresh_lease_holder = $4",
        tenant.0,
        person.0,
        provider,
        by
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes and returns an account, with its tokens.
pub(super) async fn delete(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
) -> sqlx::Result<Option<ConnectionRow>> {
    sqlx::query_as!(
        ConnectionRow,
        "delete from connections where tenant_id = $1 and person_id = $2 and provider = $3
         returning account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at, grant_expires_at",
        tenant.0,
        person.0,
        provider
    )
    .fetch_optional(conn)
    .await
}

/// Returns whether any person has this account connected.
pub(super) async fn is_connected(
    conn: &mut PgConnection,
    tenant: TenantId,
    provider: &str,
    account: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from connections where tenant_id = $1 and provider = $2
             and lower(account) = lower($3)) as "held!""#,
        tenant.0,
        provider,
        account
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn insert_revocation(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    new: &Revocation,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into revocations (tenant_id, id, provider, account, token_sealed, conversation_id, delivery_id,
             created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        tenant.0,
        id,
        new.provider.as_str(),
        new.account,
        new.token,
        new.conversation.0,
        new.delivery.0,
        new.since
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn load_revocation(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> sqlx::Result<Option<Revocation>> {
    let row = sqlx::query!(
        "select provider, account, token_sealed, conversation_id, delivery_id, created_at
         from revocations where tenant_id = $1 and id = $2",
        tenant.0,
        id
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.and_then(|row| {
        Some(Revocation {
            provider: Provider::from_name(&row.provider)?,
            account: row.account,
            token: row.token_sealed,
            conversation: ConversationId(row.conversation_id),
            delivery: DeliveryId(row.delivery_id),
            since: row.created_at,
        })
    }))
}

pub(super) async fn delete_revocation(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!("delete from revocations where tenant_id = $1 and id = $2", tenant.0, id)
        .execute(conn)
        .await?;
    Ok(())
}

/// Drops pending revocations of an account that was connected again: revoking it now would end the new grant too.
pub(super) async fn cancel_revocations(
    conn: &mut PgConnection,
    tenant: TenantId,
    provider: &str,
    account: &str,
) -> sqlx::Result<Vec<DeliveryId>> {
    let kept = sqlx::query_scalar!(
        "delete from revocations where tenant_id = $1 and provider = $2 and lower(account) = lower($3)
         returning delivery_id",
        tenant.0,
        provider,
        account
    )
    .fetch_all(conn)
    .await?;
    Ok(kept.into_iter().map(DeliveryId).collect())
}

pub(super) async fn update_tokens(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    sealed: &SealedTokens,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set access_sealed = $4, refresh_sealed = coalesce($5, refresh_sealed),
             key_id = $6, expires_at = $7, scopes = coalesce($8, scopes), updated_at = $9,
             grant_expires_at = coalesce($11, grant_expires_at), refresh_lease_holder = null, refresh_lease_until = null
         where tenant_id = $1 and person_id = $2 and provider = $3 and status = 'active' and expires_at = $10",
        tenant.0,
        person.0,
        provider,
        sealed.access,
        sealed.refresh.as_deref(),
        sealed.key_id,
        sealed.expires_at,
        sealed.scopes.as_deref(),
        now,
        seen,
        sealed.grant_expires_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn mark_revoked(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set status = 'revoked', updated_at = $4, refresh_lease_holder = null, refresh_lease_until = null
         where tenant_id = $1 and person_id = $2 and provider = $3 and expires_at = $5",
        tenant.0,
        person.0,
        provider,
        now,
        seen
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the providers with connected accounts.
pub async fn list_providers(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select distinct provider from connections where tenant_id = $1 order by 1", tenant.0)
        .fetch_all(conn)
        .await
}
