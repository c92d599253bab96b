//! SQL of jobs and lanes. Every function takes a connection, so that a job is written in its caller's transaction.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use sqlx::types::Json;
use sqlx::{Connection, PgConnection};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::claimed::MAX_CLAIMED_IN_COMMIT;
use super::{Claim, Claimed, Job, JobNotifier, LEASE, Loaded};
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

fn seconds(of: std::time::Duration) -> f64 {
    of.as_secs_f64()
}

fn decode_error(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

/// Serialises a value for a row. Models, mails and people can write NUL, which Postgres does not store: it is
/// replaced by U+FFFD, the replacement character.
pub fn to_json(value: &impl serde::Serialize) -> sqlx::Result<Json<Box<RawValue>>> {
    let json = to_raw_value(value).map_err(encode_error)?;
    // A tree is built only for what may hold one; the mark is also how a backslash before "u0000" is written.
    if !json.get().contains("\\u0000") {
        return Ok(Json(json));
    }
    // Not by parsing the text, which refuses what is nested deeply.
    let mut value = serde_json::to_value(value).map_err(encode_error)?;
    replace_nul_chars(&mut value);
    Ok(Json(to_raw_value(&value).map_err(encode_error)?))
}

pub(super) fn encode_error(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(Box::new(error))
}

fn replace_nul_chars(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{FFFD}"),
        serde_json::Value::Array(list) => list.iter_mut().for_each(replace_nul_chars),
        serde_json::Value::Object(object) => {
            if object.keys().any(|key| key.contains('\0')) {
                let fields = std::mem::take(object);
                object.extend(fields.into_iter().map(|(key, value)| (key.replace('\0', "\u{FFFD}"), value)));
            }
            object.values_mut().for_each(replace_nul_chars);
        }
        _ => {}
    }
}

pub fn from_json<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> sqlx::Result<T> {
    serde_json::from_value(value).map_err(decode_error)
}

/// Appends a job to a lane (`enqueue` in the migrations: the lane's row is locked first).
pub async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    work: &impl Job,
    run_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!("select enqueue($1, $2, $3, $4, $5)", tenant.0, lane, to_json(work)? as _, run_at, now)
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// Locks a lane if it has jobs. Call it before a transaction changes rows that these jobs work on.
pub async fn lock_lane(conn: &mut PgConnection, tenant: TenantId, lane: Uuid) -> sqlx::Result<()> {
    sqlx::query!("select 1 as held from lanes where tenant_id = $1 and id = $2 for update", tenant.0, lane)
        .fetch_optional(conn)
        .await?;
    Ok(())
}

/// Appends a job unless the lane has one that has not begun, because that one will see the current change (`enqueue_once`
/// in the migrations).
pub async fn enqueue_once(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    work: &impl Job,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!("select enqueue_once($1, $2, $3, $4)", tenant.0, lane, to_json(work)? as _, now)
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// Makes the job that a lane waits for due now, if it is due after `later` and has not begun; returns false if there is
/// no such job.
pub async fn bring_forward(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    later: Timestamp,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let moved = sqlx::query!(
        "update lanes set due_at = $4 where tenant_id = $1 and id = $2 and lease_id is null and due_at > $3",
        tenant.0,
        lane,
        later,
        now
    );
    Ok(moved.execute(conn).await?.rows_affected() > 0)
}

/// A row of `claim_jobs`, `complete_job`, `end_job` or `send_messages`: a claim, or when to look again.
#[allow(missing_docs, reason = "the columns are described in the migrations")]
pub struct ClaimRow {
    pub tenant_id: Option<Uuid>,
    pub lane_id: Option<Uuid>,
    pub lease_id: Option<Uuid>,
    pub id: Option<i64>,
    pub payload: Option<serde_json::Value>,
    pub attempts: Option<i32>,
    pub next_due_at: Option<Timestamp>,
}

fn claimed(rows: Vec<ClaimRow>, jobs: &JobNotifier, max_jobs: usize) -> Claimed {
    let mut claimed = Claimed::default();
    for row in rows {
        claimed.next_due = [claimed.next_due, row.next_due_at].into_iter().flatten().min();
        let (Some(tenant), Some(lane), Some(lease), Some(job), Some(payload), Some(attempt)) =
            (row.tenant_id, row.lane_id, row.lease_id, row.id, row.payload, row.attempts)
        else {
            continue;
        };
        let (jobs, then, loaded) = (jobs.clone(), Arc::default(), Arc::default());
        claimed.claims.push(Claim {
            tenant: TenantId(tenant),
            job,
            lane,
            lease,
            attempt,
            payload,
            jobs,
            then,
            loaded,
        });
    }
    claimed.may_have_more = max_jobs > 0 && claimed.claims.len() >= max_jobs;
    claimed
}

/// Leases the lanes that have waited longest, at most `max_jobs` of them, and returns the first job of each
/// (`claim_jobs` in the migrations).
pub(super) async fn claim(
    conn: &mut PgConnection,
    jobs: &JobNotifier,
    max_jobs: usize,
) -> sqlx::Result<Claimed> {
    let rows = sqlx::query_as!(
        ClaimRow,
        "select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at from claim_jobs($1, $2, $3)",
        jobs.now(),
        seconds(LEASE),
        i64::try_from(max_jobs).unwrap_or(i64::MAX)
    )
    .fetch_all(conn)
    .await?;
    Ok(claimed(rows, jobs, max_jobs))
}

/// The same without a look at leases that have expired (`claim_due_jobs` in the migrations).
pub(super) async fn claim_due(
    conn: &mut PgConnection,
    jobs: &JobNotifier,
    max_jobs: usize,
) -> sqlx::Result<Claimed> {
    let rows = sqlx::query_as!(
        ClaimRow,
        "select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at from claim_due_jobs($1, $2, $3)",
        jobs.now(),
        seconds(LEASE),
        i64::try_from(max_jobs).unwrap_or(i64::MAX)
    )
    .fetch_all(conn)
    .await?;
    Ok(claimed(rows, jobs, max_jobs))
}

/// The end of a job, for a statement that calls `complete_job` or `end_job` with these values, perhaps beside other writes.
pub struct Completion<'a> {
    claim: &'a Claim,
    permits: Vec<OwnedSemaphorePermit>,
    /// The program's time.
    pub now: Timestamp,
    /// How long the leases of what it claims last.
    pub seconds: f64,
    /// How many jobs it claims at most.
    pub max_jobs: i64,
    /// Jobs of other lanes are left to others.
    is_for_lane: bool,
}

impl<'a> Completion<'a> {
    /// Prepares the end of a job whose commit may have enqueued others.
    #[must_use]
    pub fn new(claim: &'a Claim) -> Self {
        Self::with_places(claim, MAX_CLAIMED_IN_COMMIT - 1, false)
    }

    /// Prepares the end of a job after which nothing new is due in other lanes, except what the statement itself leases, at most
    /// so many jobs.
    #[must_use]
    pub fn of_lane(claim: &'a Claim, others: usize) -> Self {
        Self::with_places(claim, others, true)
    }

    fn with_places(claim: &'a Claim, beside: usize, is_for_lane: bool) -> Self {
        let (max_jobs, permits) = claim.jobs.reserve_after(beside);
        let max_jobs = i64::try_from(max_jobs).unwrap_or(i64::MAX);
        Self { claim, permits, now: claim.jobs.now(), seconds: seconds(LEASE), max_jobs, is_for_lane }
    }

    /// Returns how many jobs the statement can begin beside the one that follows in its lane.
    #[must_use]
    pub fn places(&self) -> usize {
        self.permits.len()
    }

    /// Has everything claimed that is due, as by [`new`](Self::new).
    pub fn claim_all(&mut self) {
        self.is_for_lane = false;
    }

    /// Gives so many places to what the statement leases itself, so that it claims less.
    pub fn give_places(&mut self, leased: usize) {
        self.max_jobs -= i64::try_from(leased).unwrap_or_default();
    }

    /// Returns how long the lease of a job lasts that the statement begins; `None` if none may begin.
    #[must_use]
    pub fn lease_seconds(&self) -> Option<f64> {
        (self.max_jobs > 0).then_some(self.seconds)
    }

    /// Keeps what the statement has claimed: the dispatcher begins it once the job's handler has returned. `load` returns what a
    /// job begins with, if the caller has it.
    ///
    /// # Errors
    /// If the lease was lost. It makes the caller roll back, because another claim holds the lane now.
    pub fn finish(
        self,
        rows: Vec<ClaimRow>,
        mut load: impl FnMut(&Claim) -> Option<Loaded>,
    ) -> sqlx::Result<()> {
        if rows.is_empty() {
            return Err(sqlx::Error::RowNotFound);
        }
        let jobs = &self.claim.jobs;
        let mut claimed = claimed(rows, jobs, usize::try_from(self.max_jobs).unwrap_or_default());
        for claim in &claimed.claims {
            claim.set_loaded(load(claim));
        }
        if self.is_for_lane {
            claimed.may_have_more = false;
        }
        self.claim.set_then(Claimed { permits: self.permits, ..claimed });
        Ok(())
    }
}

/// Renews a lease; returns false if it was lost.
pub(super) async fn renew(conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update lanes set leased_until = clock_timestamp() + make_interval(secs => $4)
         where tenant_id = $1 and id = $2 and lease_id = $3",
        claim.tenant.0,
        claim.lane,
        claim.lease,
        seconds(LEASE)
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Locks the lane and checks that the lease is still held. It is the first statement of every commit of a job.
pub async fn assert_lease(conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<()> {
    let held = sqlx::query!(
        "select 1 as held from lanes where tenant_id = $1 and id = $2 and lease_id = $3 for update",
        claim.tenant.0,
        claim.lane,
        claim.lease
    )
    .fetch_optional(conn)
    .await?;
    // Makes the caller roll back, because another claim holds the lane now.
    held.map(|_| ()).ok_or(sqlx::Error::RowNotFound)
}

/// Ends a job and frees its lane, and claims what is due then; the dispatcher begins it once the job's handler has
/// returned, with what their handlers load here. It asserts the lease itself, so it can be the only statement of a commit.
/// It is the last one of a commit that enqueues jobs, so that it claims them.
pub async fn complete(conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<()> {
    let completion = Completion::new(claim);
    let rows = sqlx::query_as!(
        ClaimRow,
        "select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at
         from complete_job($1, $2, $3, $4, $5, $6, $7)",
        claim.tenant.0,
        claim.lane,
        claim.lease,
        claim.job,
        completion.now,
        completion.seconds,
        completion.max_jobs
    )
    .fetch_all(&mut *conn)
    .await?;
    completion.finish(rows, |_| None)?;
    // Outside a transaction this statement is committed, and what is loaded could not be a part of it.
    if conn.is_in_transaction() { claim.load_claimed(conn).await } else { Ok(()) }
}

/// Reschedules the job to `until` and frees the lane; the job stays the lane's first. If `count` is false, this
/// attempt is not counted, because waiting at a provider's request is no failure. It asserts the lease itself, as
/// [`complete`] does.
pub async fn reschedule(
    conn: &mut PgConnection,
    claim: &Claim,
    until: Timestamp,
    error: Option<&str>,
    count: bool,
) -> sqlx::Result<()> {
    // It has not ended, whatever was tried before.
    claim.take_then();
    let done = sqlx::query!(
        "update lanes set lease_id = null, leased_until = null, due_at = $5, last_error = $6, attempts = attempts - $7
         where tenant_id = $1 and id = $2 and lease_id = $3 and job = $4",
        claim.tenant.0,
        claim.lane,
        claim.lease,
        claim.job,
        until,
        error,
        i32::from(!count)
    )
    .execute(conn)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

/// Reschedules a job that has to wait and has tried nothing. What loads a job when it is claimed can put it off too: its
/// handler is begun all the same, and has nothing to do.
pub async fn put_off(conn: &mut PgConnection, claim: &Claim, until: Timestamp) -> sqlx::Result<()> {
    // Whether an earlier attempt is lost is still to be found out.
    reschedule(conn, claim, until, None, claim.attempt > 1).await?;
    claim.set_then(Claimed { next_due: Some(until), ..Claimed::default() });
    Ok(())
}

/// Gives a job up: moves it to `dead_jobs` with its error, and its lane goes on.
pub(super) async fn dead_letter(
    conn: &mut PgConnection,
    claim: &Claim,
    error: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into dead_jobs (tenant_id, id, lane_id, payload, attempts, error, dead_lettered_at)
         select l.tenant_id, l.job, l.id, l.payload, l.attempts, $4, $5 from lanes l
         where l.tenant_id = $1 and l.id = $2 and l.job = $3",
        claim.tenant.0,
        claim.lane,
        claim.job,
        error,
        now
    )
    .execute(&mut *conn)
    .await?;
    complete(conn, claim).await
}

/// Returns whether a lane has no jobs.
pub async fn is_lane_idle(conn: &mut PgConnection, tenant: TenantId, lane: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select not exists (select 1 from lanes where tenant_id = $1 and id = $2) as "idle!""#,
        tenant.0,
        lane
    )
    .fetch_one(conn)
    .await
}

/// Replaces the payload of a job with what is left to do, without ending the job.
pub async fn update_payload(conn: &mut PgConnection, claim: &Claim, work: &impl Job) -> sqlx::Result<()> {
    sqlx::query!(
        "update lanes set payload = $4 where tenant_id = $1 and id = $2 and job = $3",
        claim.tenant.0,
        claim.lane,
        claim.job,
        to_json(work)? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Has the attempts at a job counted anew, because it got on; the next one is still known for another attempt. Without the
/// error of one before, it is known for an interruption if it is one.
pub async fn reset_attempts(conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<()> {
    sqlx::query!(
        "update lanes set attempts = 1, last_error = null where tenant_id = $1 and id = $2 and job = $3",
        claim.tenant.0,
        claim.lane,
        claim.job
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Finds the first job with an event behind this one, moves it before this one and keeps the order of the others;
/// returns false if there is none. The rows stay and their payloads move, so the caller must not have begun any work of
/// its own, and holds the lane's lock.
pub async fn move_run_event_first(conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<bool> {
    let moved = sqlx::query!(
        "with first_event as (
             select id, payload from queued_jobs
             where tenant_id = $1 and lane_id = $2 and payload->>'event' is not null order by id limit 1),
         later as (
             select j.id, lag(j.payload) over (order by j.id) as payload from jobs j, first_event e
             where j.tenant_id = $1 and j.lane_id = $2 and j.id <= e.id),
         moved as (
             update queued_jobs q set payload = l.payload from later l
             where q.tenant_id = $1 and q.lane_id = $2 and q.id = l.id)
         update lanes l set payload = e.payload from first_event e where l.tenant_id = $1 and l.id = $2",
        claim.tenant.0,
        claim.lane
    );
    Ok(moved.execute(conn).await?.rows_affected() > 0)
}
