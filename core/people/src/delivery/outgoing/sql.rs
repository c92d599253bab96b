//! The statement that ends a job and sends what it has to say.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::OutgoingMessage;
use crate::open_pages::{Home, REFRESH_WINDOW};
use crate::work::PeopleJob;
use nod_contract::card::Card;
use nod_contract::chat::DeliveryTarget;
use nod_contract::ids::PersonId;
use nod_store::jobs::Claim;
use nod_store::jobs::sql::{ClaimRow, Completion, to_json};

/// A message as `send_messages` in the migrations takes it.
#[derive(Serialize)]
pub(super) struct SentMessage<'a> {
    id: Uuid,
    lane: Uuid,
    conversation: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Uuid>,
    platform: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a DeliveryTarget>,
    opens_thread: bool,
    card: &'a Card,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_for: Option<Uuid>,
    payload: PeopleJob,
    /// The seconds to the next post; `None` if its job waits for a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<f64>,
}

impl<'a> SentMessage<'a> {
    pub(super) fn new(message: &'a OutgoingMessage, pause: Option<f64>) -> Self {
        let delivery = &message.delivery;
        Self {
            id: delivery.id.0,
            lane: message.lane,
            conversation: delivery.conversation.0,
            run: delivery.run.map(|run| run.0),
            platform: &delivery.platform,
            target: delivery.target.as_ref(),
            opens_thread: delivery.opens_thread,
            card: &delivery.card,
            only_for: delivery.only_for.map(|person| person.0),
            payload: PeopleJob::DeliverMessage { delivery: delivery.id },
            pause,
        }
    }

    pub(super) fn is_leased(&self) -> bool {
        self.pause.is_some()
    }

    /// Leaves to a claim what has no place here, and what a row does not hold as it is: it is posted as it is stored.
    pub(super) fn keep_leases(messages: &mut [Self], places: usize) -> sqlx::Result<()> {
        let mut free = places;
        for message in messages.iter_mut().filter(|message| message.is_leased()) {
            if free == 0 || to_json(message.card)?.get().contains(char::REPLACEMENT_CHARACTER) {
                message.pause = None;
            } else {
                free -= 1;
            }
        }
        Ok(())
    }
}

/// What the statement that ended a job has begun.
#[derive(Default)]
pub(super) struct FinishedJob {
    pub(super) rows: Vec<ClaimRow>,
    /// The jobs of the messages that have their place under the rate limit and go where this process knows. What else is
    /// claimed loads itself.
    pub(super) leased_jobs: BTreeSet<i64>,
    /// The person's open home pages.
    pub(super) homes: Vec<Home>,
}

/// Sends messages and ends the job: with `claims`, so that everything that is due now is claimed, else only what follows in
/// the job's lane. No row if the lease was lost.
pub(super) async fn finish_job(
    conn: &mut PgConnection,
    claim: &Claim,
    completion: &Completion<'_>,
    messages: &[SentMessage<'_>],
    claims: bool,
    person: PersonId,
) -> sqlx::Result<FinishedJob> {
    let rows = sqlx::query!(
        r#"with sent as materialized (select * from send_messages($1, $2, $3, $4)),
         ended as materialized (
             select e.* from (select count(*) from sent) as after, complete_job($1, $5, $6, $7, $3, $8, $9) e where $10
             union all
             select e.* from (select count(*) from sent) as after, end_job($1, $5, $6, $7, $3, $4) e where not $10)
         select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at, is_sent as "is_sent!", (
                 select jsonb_agg(to_jsonb(h)) from homes h
                 where h.tenant_id = $1 and h.person_id = $11 and h.opened_at >= $12) as "homes: Json<Vec<Home>>"
         from (select *, true as is_sent from sent union all select *, false from ended) as begun
         where exists (select 1 from ended)"#,
        claim.tenant.0,
        to_json(&messages)? as _,
        completion.now,
        completion.lease_seconds(),
        claim.lane,
        claim.lease,
        claim.job,
        completion.seconds,
        completion.max_jobs,
        claims,
        person.0,
        completion.now - REFRESH_WINDOW
    )
    .fetch_all(conn)
    .await?;
    let mut finished = FinishedJob::default();
    for row in rows {
        finished.homes = row.homes.map(|homes| homes.0).unwrap_or_default();
        finished.leased_jobs.extend(row.id.filter(|_| row.is_sent));
        finished.rows.push(ClaimRow {
            tenant_id: row.tenant_id,
            lane_id: row.lane_id,
            lease_id: row.lease_id,
            id: row.id,
            payload: row.payload,
            attempts: row.attempts,
            next_due_at: row.next_due_at,
        });
    }
    Ok(finished)
}
