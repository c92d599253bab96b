//! Rows of effects.

use chrono::TimeDelta;
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, ConversationId, EffectId, PersonId, RunId, TenantId, TraceId};
use nod_contract::provider::Provider;
use nod_contract::tool::ToolResult;
use nod_contract::tool::account::SealedAccounts;
use nod_people::people::Person;
use nod_people::people::sql::PersonRow;
use nod_store::jobs::Claim;
use nod_store::jobs::sql::to_json;

pub struct NewEffect<'a> {
    pub id: EffectId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub call_id: &'a str,
    pub approval: Option<ApprovalId>,
    pub person: PersonId,
    pub tool: &'a str,
    pub payload: &'a Value,
    pub digest: &'a str,
    /// The addresses of all recipients.
    pub recipients: &'a [String],
    /// The provider's id of the open draft that it works on.
    pub draft: Option<&'a str>,
    /// How long it can be undone before it starts.
    pub undo_window: TimeDelta,
}

/// An effect as loaded.
pub struct Effect {
    pub id: EffectId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub trace: TraceId,
    pub approval: Option<ApprovalId>,
    pub person: PersonId,
    pub tool: String,
    pub payload: Value,
    /// The provider's id of the open draft that it works on.
    pub draft: Option<String>,
    /// The digest of the approved payload from the approval's row; without an approval, the effect's own digest.
    pub digest: String,
    pub status: String,
    pub attempt: i32,
    pub handle: Option<Value>,
    pub lookup_count: i32,
    /// The earliest time at which it can start.
    pub(crate) starts_at: Timestamp,
    /// It can start and can no longer be undone.
    pub released: bool,
    /// When it last changed; for a started effect, when it was started.
    pub updated_at: Timestamp,
    /// The card or progress line shows that the provider asked to wait.
    pub is_rate_limited: bool,
    /// The person on whose behalf it is done.
    pub(crate) owner: Person,
    /// Their connected accounts when it was loaded.
    pub(crate) accounts: SealedAccounts,
    /// Whether they decided it themselves, or it needed nobody.
    pub(crate) is_decided_by_owner: bool,
}

pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool,
             payload, digest, recipients, status, attempt, lookup_count, created_at, updated_at, starts_at, released,
             draft)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'planned', 0, 0, $12, $12, $13, $14, $15)",
        tenant.0,
        new.id.0,
        new.conversation.0,
        new.run.0,
        new.call_id,
        new.approval.map(|a| a.0),
        new.person.0,
        new.tool,
        new.payload,
        new.digest,
        new.recipients,
        now,
        now + new.undo_window,
        new.undo_window.is_zero(),
        new.draft
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn load(conn: &mut PgConnection, tenant: TenantId, id: EffectId) -> sqlx::Result<Option<Effect>> {
    let row = sqlx::query!(
        r#"select e.conversation_id, e.run_id, r.trace_id, e.approval_id, e.person_id, e.tool, e.payload, e.draft,
             coalesce(a.digest, e.digest) as "digest!", e.status, e.attempt, e.handle, e.lookup_count, e.starts_at,
             e.released, e.updated_at, e.retry_at is not null as "waits!",
             to_jsonb(p) || jsonb_build_object('zone', coalesce(h.zone, p.zone)) as "owner!: Json<PersonRow>",
             (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from connections c
              where c.tenant_id = e.tenant_id and c.person_id = e.person_id) as "accounts!: Json<SealedAccounts>",
             coalesce(a.decided_by, e.person_id) = e.person_id as "is_decided_by_owner!"
         from effects e join runs r on r.tenant_id = e.tenant_id and r.id = e.run_id
             join people p on p.tenant_id = e.tenant_id and p.id = e.person_id
             left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
             left join approvals a on a.tenant_id = e.tenant_id and a.id = e.approval_id
         where e.tenant_id = $1 and e.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Effect {
        id,
        conversation: ConversationId(row.conversation_id),
        run: RunId(row.run_id),
        trace: TraceId(row.trace_id),
        approval: row.approval_id.map(ApprovalId),
        person: PersonId(row.person_id),
        tool: row.tool,
        payload: row.payload,
        draft: row.draft,
        digest: row.digest,
        status: row.status,
        attempt: row.attempt,
        handle: row.handle,
        lookup_count: row.lookup_count,
        starts_at: row.starts_at,
        released: row.released,
        updated_at: row.updated_at,
        is_rate_limited: row.waits,
        owner: row.owner.0.into(),
        accounts: row.accounts.0,
        is_decided_by_owner: row.is_decided_by_owner,
    }))
}

/// Ends the time for undo; returns false if the effect was undone.
pub async fn release(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set released = true, updated_at = $3
         where tenant_id = $1 and id = $2 and status = 'planned' and not released and starts_at <= $3",
        tenant.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// planned → cancelled, if it was not released yet; returns false otherwise.
pub async fn cancel(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set status = 'cancelled', updated_at = $3
         where tenant_id = $1 and approval_id = $2 and status = 'planned' and not released",
        tenant.0,
        approval.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// planned or started → started, with one more attempt. It asserts the lease as
/// [`assert_lease`](nod_store::jobs::sql::assert_lease) does; returns false, and has written nothing, if the lease was
/// lost or the effect cannot start.
pub async fn start(
    conn: &mut PgConnection,
    claim: &Claim,
    id: EffectId,
    handle: &Value,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "with held as (
             select tenant_id from lanes where tenant_id = $1 and id = $5 and lease_id = $6 for update)
         update effects e set status = 'started', attempt = attempt + 1, handle = $3, updated_at = $4
         from held
         where e.tenant_id = held.tenant_id and e.id = $2 and e.status in ('planned', 'started') and e.released",
        claim.tenant.0,
        id.0,
        handle,
        now,
        claim.lane,
        claim.lease
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the connected accounts of a person.
pub async fn load_accounts(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<SealedAccounts> {
    let accounts = sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(c)), '[]') as "accounts!: Json<SealedAccounts>" from connections c
         where c.tenant_id = $1 and c.person_id = $2"#,
        tenant.0,
        person.0
    )
    .fetch_one(conn)
    .await?;
    Ok(accounts.0)
}

/// Sets or clears the time until which the provider asks to wait.
pub async fn set_waiting(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    until: Option<(Provider, Timestamp)>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update effects set rate_limited_by = $3, retry_at = $4 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        until.map(|(provider, _)| provider.as_str()),
        until.map(|(_, until)| until)
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Counts an inconclusive lookup.
pub async fn increment_lookups(conn: &mut PgConnection, tenant: TenantId, id: EffectId) -> sqlx::Result<()> {
    sqlx::query!(
        "update effects set lookup_count = lookup_count + 1 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// planned or started → its end; returns false if it had ended already.
pub async fn mark_finished(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    status: &str,
    outcome: &ToolResult,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set status = $3, outcome = $4, updated_at = $5
         where tenant_id = $1 and id = $2 and status in ('planned', 'started')",
        tenant.0,
        id.0,
        status,
        to_json(outcome)? as _,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// unknown → the result of a new lookup; returns false if it was resolved meanwhile.
pub(crate) async fn resolve_unknown(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    status: &str,
    outcome: &ToolResult,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set status = $3, outcome = $4, updated_at = $5
         where tenant_id = $1 and id = $2 and status = 'unknown'",
        tenant.0,
        id.0,
        status,
        to_json(outcome)? as _,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns which of these addresses an approved effect of this person reached before; a draft that nobody received does
/// not count. Addresses are stored as they were approved, so a different spelling counts as new.
pub async fn find_known_recipients(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    recipients: &[String],
) -> sqlx::Result<Vec<String>> {
    let lower: Vec<String> = recipients.iter().map(|r| r.to_lowercase()).collect();
    sqlx::query_scalar!(
        r#"select distinct lower(r.address) as "address!" from effects e, unnest(e.recipients) as r (address)
         where e.tenant_id = $1 and e.person_id = $2 and e.status = 'done' and e.approval_id is not null
           and e.recipients && $4 and lower(r.address) = any($3)"#,
        tenant.0,
        person.0,
        &lower,
        recipients
    )
    .fetch_all(conn)
    .await
}

/// Fails a run's effects that have not begun and returns their approvals.
pub async fn cancel_for_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    outcome: &ToolResult,
    now: Timestamp,
) -> sqlx::Result<Vec<ApprovalId>> {
    let ended = sqlx::query_scalar!(
        "update effects set status = 'failed', outcome = $3, updated_at = $4
         where tenant_id = $1 and run_id = $2 and status = 'planned' returning approval_id",
        tenant.0,
        run.0,
        to_json(outcome)? as _,
        now
    )
    .fetch_all(conn)
    .await?;
    Ok(ended.into_iter().flatten().map(ApprovalId).collect())
}

/// Returns the status of each effect of a run and of its steps.
pub async fn list_states_of_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select status as "status!" from effects where tenant_id = $1 and run_id = $2
         union all
         select e.status from runs r join effects e on e.tenant_id = r.tenant_id and e.run_id = r.id
         where r.tenant_id = $1 and r.parent_id = $2"#,
        tenant.0,
        run.0
    )
    .fetch_all(conn)
    .await
}
