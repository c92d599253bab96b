//! Rows of the offers that lead to an account, and of accounts that an admin decides on.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::connection::connect_request::{ConnectRequest, NewConnectRequest};
use crate::connection::waiting_runs::WaitingRun;
use crate::connection::{Accounts, ConnectedAccount};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, OfferId, PersonId, RunId, TenantId};
use nod_contract::provider::Provider;

pub(in crate::connection) async fn insert_request(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewConnectRequest,
    expires_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into connect_requests (tenant_id, id, person_id, provider, conversation_id, run_id, delivery_id, status,
             expires_at, created_at, scopes)
         values ($1, $2, $3, $4, $5, $6, $7, 'open', $8, $9, $10)",
        tenant.0,
        new.id.0,
        new.person.0,
        new.provider.as_str(),
        new.conversation.0,
        new.run.map(|r| r.0),
        new.delivery.map(|d| d.0),
        expires_at,
        now,
        &new.scopes
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(in crate::connection) async fn load_request(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
) -> sqlx::Result<Option<ConnectRequest>> {
    let row = sqlx::query!(
        r#"select o.person_id, coalesce(nullif(p.full_name, ''), p.name) as "person_name!", p.email,
             d.name as "workspace_name?", ch.platform, ch.workspace, o.provider, o.conversation_id, o.delivery_id,
             o.status, o.platform_verified, o.expires_at, o.run_id, o.scopes, held.account as "account?",
             held.scopes as "held?", held.status = 'active' as "works?", held.granted_at as "granted_at?",
             held.grant_expires_at as "grant_expires_at?"
         from connect_requests o
         left join connections held on held.tenant_id = o.tenant_id and held.person_id = o.person_id
             and held.provider = o.provider
         join people p on p.tenant_id = o.tenant_id and p.id = o.person_id
         join conversations c on c.tenant_id = o.tenant_id and c.id = o.conversation_id
         join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
         left join directories d on d.tenant_id = ch.tenant_id and d.platform = ch.platform
             and d.workspace = ch.workspace
         where o.tenant_id = $1 and o.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(provider) = Provider::from_name(&row.provider) else { return Ok(None) };
    let held = match (row.account, row.held, row.works) {
        (Some(account), Some(scopes), Some(works)) => Some(ConnectedAccount {
            account,
            scopes,
            is_working: works,
            granted_at: row.granted_at,
            grant_expires_at: row.grant_expires_at,
        }),
        _ => None,
    };
    Ok(Some(ConnectRequest {
        id,
        person: PersonId(row.person_id),
        person_name: row.person_name,
        email: row.email,
        platform: row.platform,
        workspace: row.workspace,
        workspace_name: row.workspace_name,
        provider,
        conversation: ConversationId(row.conversation_id),
        run: row.run_id.map(RunId),
        delivery: row.delivery_id.map(DeliveryId),
        scopes: core.scopes(provider).or_legacy_scopes(row.scopes),
        connected: held,
        status: row.status,
        signed_in: row.platform_verified,
        expires_at: row.expires_at,
    }))
}

/// open → begun; false if the link was used or has expired.
pub(in crate::connection) async fn mark_authorizing(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    state_hash: &str,
    verifier_sealed: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update connect_requests set status = 'authorizing', state_hash = $3, verifier_sealed = $4
         where tenant_id = $1 and id = $2 and status = 'open' and expires_at > $5",
        tenant.0,
        id.0,
        state_hash,
        verifier_sealed,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// resumed → begun again, by the person to whom the link belongs; false if it has ended meanwhile.
pub(in crate::connection) async fn mark_signed_in(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    state_hash: &str,
    verifier_sealed: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update connect_requests set status = 'authorizing', platform_verified = true, state_hash = $3, verifier_sealed = $4
         where tenant_id = $1 and id = $2 and status = 'callback_received' and expires_at > $5",
        tenant.0,
        id.0,
        state_hash,
        verifier_sealed,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// begun → resumed, by its state; the verifier is returned only once.
pub(in crate::connection) async fn mark_callback_received(
    conn: &mut PgConnection,
    tenant: TenantId,
    state_hash: &str,
    now: Timestamp,
) -> sqlx::Result<Option<(OfferId, String, Vec<String>, String)>> {
    let row = sqlx::query!(
        r#"update connect_requests o set status = 'callback_received', verifier_sealed = null
         from (select id, verifier_sealed from connect_requests where tenant_id = $1 and state_hash = $2 for update) before
         where o.tenant_id = $1 and o.id = before.id and o.status = 'authorizing' and o.expires_at > $3
         returning o.id, o.provider, o.scopes, before.verifier_sealed as "verifier_sealed!""#,
        tenant.0,
        state_hash,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (OfferId(row.id), row.provider, row.scopes, row.verifier_sealed)))
}

pub(in crate::connection) async fn set_status(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    status: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connect_requests set status = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        status
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends an offer that led to no account; false if it did lead to one.
pub(in crate::connection) async fn mark_expired(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update connect_requests set status = 'expired', verifier_sealed = null
         where tenant_id = $1 and id = $2 and status in ('open', 'authorizing', 'callback_received', 'needs_review')",
        tenant.0,
        id.0
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the runs of a person that might wait for an account, each with its newest link to one.
pub(in crate::connection) async fn list_waiting_runs(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    now: Timestamp,
) -> sqlx::Result<Vec<WaitingRun>> {
    let rows = sqlx::query!(
        r#"select r.id, coalesce(o.scopes, '{}') as "scopes!",
             coalesce(o.status in ('open', 'authorizing', 'callback_received') and o.expires_at > $4, false) as "has_link!"
         from runs r
         left join lateral (
             select scopes, status, expires_at from connect_requests
             where tenant_id = r.tenant_id and person_id = r.person_id and run_id = r.id and provider = $3
             order by created_at desc, id desc limit 1) o on true
         where r.tenant_id = $1 and r.person_id = $2 and r.status in ('queued', 'running', 'waiting')
           and r.workflow in ('chat', 'step')"#,
        tenant.0,
        person.0,
        provider,
        now
    )
    .fetch_all(conn)
    .await?;
    let waiting = rows.into_iter().map(|row| WaitingRun {
        run: RunId(row.id),
        scopes: row.scopes,
        has_link: row.has_link,
    });
    Ok(waiting.collect())
}

/// Returns whether the person still has a way to such an account: a working link, or an admin who is asked.
pub(in crate::connection) async fn has_other_route(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from connect_requests o
             where o.tenant_id = $1 and o.person_id = $2 and o.provider = $3 and o.expires_at > $4
               and (o.status in ('open', 'authorizing', 'callback_received') or o.status = 'needs_review' and exists (
                 select 1 from account_reviews a
                 where a.tenant_id = $1 and a.person_id = $2 and a.provider = $3 and a.status = 'pending'))
         ) as "another!""#,
        tenant.0,
        person.0,
        provider,
        now
    )
    .fetch_one(conn)
    .await
}

pub(in crate::connection) async fn is_review_allowed(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    address: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from account_reviews where tenant_id = $1 and person_id = $2 and provider = $3
             and email = $4 and status = 'allowed') as "allowed!""#,
        tenant.0,
        person.0,
        provider,
        address
    )
    .fetch_one(conn)
    .await
}

pub(in crate::connection) struct NewAccountReview<'a> {
    pub(in crate::connection) id: Uuid,
    pub(in crate::connection) person: PersonId,
    pub(in crate::connection) provider: &'a str,
    pub(in crate::connection) email: &'a str,
    pub(in crate::connection) deliveries: &'a [DeliveryId],
}

/// Returns false if it was asked before.
pub(in crate::connection) async fn insert_review(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewAccountReview<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let deliveries: Vec<Uuid> = new.deliveries.iter().map(|d| d.0).collect();
    let done = sqlx::query!(
        "insert into account_reviews (tenant_id, id, person_id, provider, email, status, delivery_ids, created_at)
         values ($1, $2, $3, $4, $5, 'pending', $6, $7)
         on conflict (tenant_id, person_id, provider, email) do nothing",
        tenant.0,
        new.id,
        new.person.0,
        new.provider,
        new.email,
        &deliveries,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A request that an admin decided.
pub(in crate::connection) struct AccountReview {
    pub(in crate::connection) person: PersonId,
    pub(in crate::connection) provider: String,
    pub(in crate::connection) email: String,
    pub(in crate::connection) deliveries: Vec<DeliveryId>,
}

/// The only update from *pending*; `None` if it was decided before.
pub(in crate::connection) async fn mark_review_decided(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    status: &str,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Option<AccountReview>> {
    let row = sqlx::query!(
        "update account_reviews set status = $3, decided_by = $4, decided_at = $5
         where tenant_id = $1 and id = $2 and status = 'pending'
         returning person_id, provider, email, delivery_ids",
        tenant.0,
        id,
        status,
        by.0,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| AccountReview {
        person: PersonId(row.person_id),
        provider: row.provider,
        email: row.email,
        deliveries: row.delivery_ids.into_iter().map(DeliveryId).collect(),
    }))
}
