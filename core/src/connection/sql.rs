//! Rows of connected accounts, of the offers that lead to them, and of accounts that an admin decides on.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Held;
use super::disconnect::Revocation;
use super::scopes;
use super::waiting::Waiting;
use crate::clock::Timestamp;
use crate::ids::{ConversationId, DeliveryId, OfferId, PersonId, RunId, TenantId};
use crate::tool::Provider;

pub(super) struct Row {
    pub(super) account: String,
    pub(super) status: String,
    pub(super) scopes: Vec<String>,
    pub(super) access_sealed: String,
    pub(super) refresh_sealed: Option<String>,
    pub(super) expires_at: Timestamp,
    pub(super) granted_at: Option<Timestamp>,
    pub(super) ends_at: Option<Timestamp>,
}

pub(super) struct Sealed {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) key_id: String,
    pub(super) expires_at: Timestamp,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) ends_at: Option<Timestamp>,
}

pub(super) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
) -> sqlx::Result<Option<Row>> {
    sqlx::query_as!(
        Row,
        "select account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at, ends_at
         from connections where tenant_id = $1 and person_id = $2 and provider = $3",
        tenant.0,
        person.0,
        provider
    )
    .fetch_optional(conn)
    .await
}

/// Every account with a provider, and when it was last written: of one that works no more, when that was noticed.
pub(super) async fn all_held(
    conn: &mut PgConnection,
    tenant: TenantId,
    provider: &str,
) -> sqlx::Result<Vec<(Held, Timestamp)>> {
    let rows = sqlx::query!(
        r#"select account, scopes, status = 'active' as "works!", granted_at, ends_at, updated_at
         from connections where tenant_id = $1 and provider = $2"#,
        tenant.0,
        provider
    )
    .fetch_all(conn)
    .await?;
    let held = rows.into_iter().map(|row| {
        let held = Held {
            account: row.account,
            scopes: row.scopes,
            works: row.works,
            granted_at: row.granted_at,
            ends_at: row.ends_at,
        };
        (held, row.updated_at)
    });
    Ok(held.collect())
}

/// Takes away every account of somebody, each with its provider.
pub(super) async fn take_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<(String, Row)>> {
    let rows = sqlx::query!(
        "delete from connections where tenant_id = $1 and person_id = $2
         returning provider, account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at,
             ends_at",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    let account = rows.into_iter().map(|r| {
        let row = Row {
            account: r.account,
            status: r.status,
            scopes: r.scopes,
            access_sealed: r.access_sealed,
            refresh_sealed: r.refresh_sealed,
            expires_at: r.expires_at,
            granted_at: r.granted_at,
            ends_at: r.ends_at,
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
    sealed: &Sealed,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into connections (tenant_id, person_id, provider, account, status, scopes, access_sealed,
             refresh_sealed, key_id, expires_at, created_at, updated_at, granted_at, ends_at)
         values ($1, $2, $3, $4, 'active', $5, $6, $7, $8, $9, $10, $10, $10, $11)
         on conflict (tenant_id, person_id, provider) do update set account = excluded.account,
             status = 'active', scopes = excluded.scopes, access_sealed = excluded.access_sealed,
             refresh_sealed = coalesce(excluded.refresh_sealed, case
                 when connections.account = excluded.account and connections.status = 'active'
                 then connections.refresh_sealed end),
             key_id = excluded.key_id, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
             granted_at = excluded.granted_at, ends_at = excluded.ends_at, renewing_by = null,
             renewing_until = null",
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
        sealed.ends_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How long one replica's turn to renew lasts, in seconds.
const TURN: f64 = 10.0;

pub(super) async fn may_renew(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    by: Uuid,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update connections
         set renewing_by = $5, renewing_until = clock_timestamp() + make_interval(secs => $6)
         where tenant_id = $1 and person_id = $2 and provider = $3 and status = 'active' and expires_at = $4
           and (renewing_until is null or renewing_until < clock_timestamp())",
        tenant.0,
        person.0,
        provider,
        seen,
        by,
        TURN
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn gave_up(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    by: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set renewing_by = null, renewing_until = null
         where tenant_id = $1 and person_id = $2 and provider = $3 and renewing_by = $4",
        tenant.0,
        person.0,
        provider,
        by
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes an account away, with its tokens.
pub(super) async fn take(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
) -> sqlx::Result<Option<Row>> {
    sqlx::query_as!(
        Row,
        "delete from connections where tenant_id = $1 and person_id = $2 and provider = $3
         returning account, status, scopes, access_sealed, refresh_sealed, expires_at, granted_at, ends_at",
        tenant.0,
        person.0,
        provider
    )
    .fetch_optional(conn)
    .await
}

/// Whether anybody has this account connected.
pub(super) async fn is_held(
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

pub(super) async fn revocation(
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
            provider: Provider::named(&row.provider)?,
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

/// The account was connected again before it was given back: giving it back now would end the new grant too.
pub(super) async fn keep(
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

pub(super) async fn refreshed(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    sealed: &Sealed,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set access_sealed = $4, refresh_sealed = coalesce($5, refresh_sealed),
             key_id = $6, expires_at = $7, scopes = coalesce($8, scopes), updated_at = $9,
             ends_at = coalesce($11, ends_at), renewing_by = null, renewing_until = null
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
        sealed.ends_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn revoked(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    seen: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update connections set status = 'revoked', updated_at = $4, renewing_by = null, renewing_until = null
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

pub(super) async fn insert_offer(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &super::offer::NewOffer,
    expires_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into offers (tenant_id, id, person_id, provider, conversation_id, run_id, delivery_id, status,
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

pub(super) async fn offer(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
) -> sqlx::Result<Option<super::offer::Offer>> {
    let row = sqlx::query!(
        r#"select o.person_id, coalesce(nullif(p.full_name, ''), p.name) as "person_name!", p.address,
             d.name as "workspace_name?", ch.platform, ch.workspace, o.provider, o.conversation_id, o.delivery_id,
             o.status, o.signed_in, o.expires_at, o.run_id, o.scopes, held.account as "account?",
             held.scopes as "held?", held.status = 'active' as "works?", held.granted_at as "granted_at?",
             held.ends_at as "ends_at?"
         from offers o
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
    let Some(provider) = Provider::named(&row.provider) else { return Ok(None) };
    let held = match (row.account, row.held, row.works) {
        (Some(account), Some(scopes), Some(works)) => {
            Some(Held { account, scopes, works, granted_at: row.granted_at, ends_at: row.ends_at })
        }
        _ => None,
    };
    Ok(Some(super::offer::Offer {
        id,
        person: PersonId(row.person_id),
        person_name: row.person_name,
        address: row.address,
        platform: row.platform,
        workspace: row.workspace,
        workspace_name: row.workspace_name,
        provider,
        conversation: ConversationId(row.conversation_id),
        run: row.run_id.map(RunId),
        delivery: row.delivery_id.map(DeliveryId),
        scopes: scopes::asked(row.scopes),
        held,
        status: row.status,
        signed_in: row.signed_in,
        expires_at: row.expires_at,
    }))
}

/// open → begun; false where the link was used or has ended.
pub(super) async fn begun(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    state_hash: &str,
    verifier_sealed: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update offers set status = 'begun', state_hash = $3, verifier_sealed = $4
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

/// resumed → begun once more, by the person whose link it is; false where it has ended meanwhile.
pub(super) async fn signed_in(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    state_hash: &str,
    verifier_sealed: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update offers set status = 'begun', signed_in = true, state_hash = $3, verifier_sealed = $4
         where tenant_id = $1 and id = $2 and status = 'resumed' and expires_at > $5",
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

/// begun → resumed, by its state; the verifier is handed out once.
pub(super) async fn resumed(
    conn: &mut PgConnection,
    tenant: TenantId,
    state_hash: &str,
    now: Timestamp,
) -> sqlx::Result<Option<(OfferId, String, Vec<String>, String)>> {
    let row = sqlx::query!(
        r#"update offers o set status = 'resumed', verifier_sealed = null
         from (select id, verifier_sealed from offers where tenant_id = $1 and state_hash = $2 for update) before
         where o.tenant_id = $1 and o.id = before.id and o.status = 'begun' and o.expires_at > $3
         returning o.id, o.provider, o.scopes, before.verifier_sealed as "verifier_sealed!""#,
        tenant.0,
        state_hash,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (OfferId(row.id), row.provider, row.scopes, row.verifier_sealed)))
}

pub(super) async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OfferId,
    status: &str,
) -> sqlx::Result<()> {
    sqlx::query!("update offers set status = $3 where tenant_id = $1 and id = $2", tenant.0, id.0, status)
        .execute(conn)
        .await?;
    Ok(())
}

/// Ends an offer that led nowhere; false where it had led somewhere.
pub(super) async fn expire(conn: &mut PgConnection, tenant: TenantId, id: OfferId) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update offers set status = 'expired', verifier_sealed = null
         where tenant_id = $1 and id = $2 and status in ('open', 'begun', 'resumed', 'other_account')",
        tenant.0,
        id.0
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The runs of somebody that may wait for an account, each with its newest link to one.
pub(super) async fn waiting(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    now: Timestamp,
) -> sqlx::Result<Vec<Waiting>> {
    let rows = sqlx::query!(
        r#"select r.id, r.conversation_id, coalesce(o.scopes, '{}') as "scopes!",
             coalesce(o.status in ('open', 'begun', 'resumed') and o.expires_at > $4, false) as "has_link!"
         from runs r
         left join lateral (
             select scopes, status, expires_at from offers
             where tenant_id = r.tenant_id and person_id = r.person_id and run_id = r.id and provider = $3
             order by created_at desc, id desc limit 1) o on true
         where r.tenant_id = $1 and r.person_id = $2 and r.status in ('queued', 'running', 'waiting')"#,
        tenant.0,
        person.0,
        provider,
        now
    )
    .fetch_all(conn)
    .await?;
    let waiting = rows.into_iter().map(|row| Waiting {
        run: RunId(row.id),
        conversation: ConversationId(row.conversation_id),
        scopes: row.scopes,
        has_link: row.has_link,
    });
    Ok(waiting.collect())
}

/// Whether the person still has a way to such an account: a link that works, or an admin who is asked.
pub(super) async fn has_another(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from offers o
             where o.tenant_id = $1 and o.person_id = $2 and o.provider = $3 and o.expires_at > $4
               and (o.status in ('open', 'begun', 'resumed') or o.status = 'other_account' and exists (
                 select 1 from other_accounts a
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

pub(super) async fn other_allowed(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: &str,
    address: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from other_accounts where tenant_id = $1 and person_id = $2 and provider = $3
             and address = $4 and status = 'allowed') as "allowed!""#,
        tenant.0,
        person.0,
        provider,
        address
    )
    .fetch_one(conn)
    .await
}

pub(super) struct NewOther<'a> {
    pub(super) id: Uuid,
    pub(super) person: PersonId,
    pub(super) provider: &'a str,
    pub(super) address: &'a str,
    pub(super) deliveries: &'a [DeliveryId],
}

/// False where it was asked before.
pub(super) async fn insert_other(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewOther<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let deliveries: Vec<Uuid> = new.deliveries.iter().map(|d| d.0).collect();
    let done = sqlx::query!(
        "insert into other_accounts (tenant_id, id, person_id, provider, address, status, delivery_ids, created_at)
         values ($1, $2, $3, $4, $5, 'pending', $6, $7)
         on conflict (tenant_id, person_id, provider, address) do nothing",
        tenant.0,
        new.id,
        new.person.0,
        new.provider,
        new.address,
        &deliveries,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A request that an admin decided.
pub(super) struct Other {
    pub(super) person: PersonId,
    pub(super) provider: String,
    pub(super) address: String,
    pub(super) deliveries: Vec<DeliveryId>,
}

/// The one update from *pending*; `None` where it was decided before.
pub(super) async fn decide_other(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    status: &str,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Option<Other>> {
    let row = sqlx::query!(
        "update other_accounts set status = $3, decided_by = $4, decided_at = $5
         where tenant_id = $1 and id = $2 and status = 'pending'
         returning person_id, provider, address, delivery_ids",
        tenant.0,
        id,
        status,
        by.0,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Other {
        person: PersonId(row.person_id),
        provider: row.provider,
        address: row.address,
        deliveries: row.delivery_ids.into_iter().map(DeliveryId).collect(),
    }))
}

/// The providers with connected accounts.
pub(crate) async fn providers(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select distinct provider from connections where tenant_id = $1 order by 1", tenant.0)
        .fetch_all(conn)
        .await
}
