//! Tasks that wait until another one of their person has ended.
//!
//! Whether there is room is decided by one job at a time, in a lane of the person. Whatever can make room enqueues it, and so does
//! a task that is queued: the later of two commits that do not see each other is followed by a job that sees both. Where
//! several tasks end while several are being queued, one can wait until the next ends.

mod sql;

use sqlx::PgConnection;

use crate::context::{Room, TaskContext};
use crate::job::TaskJob;
use crate::list::{self, OpenTask};
use crate::sql as tasks;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, RunId, TenantId, named_lane_id};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::workflow::{self, WorkflowEvent};

/// Returns what becomes of a further task of a person, and the tasks beside which it would be.
pub(crate) async fn find_room(
    core: &TaskContext,
    conn: &mut PgConnection,
    (tenant, person): (TenantId, PersonId),
) -> sqlx::Result<(Room, Vec<OpenTask>)> {
    let open = tasks::list_open(conn, tenant, person).await?;
    Ok((list::room_beside(&open, core.limits), open))
}

/// Says that it is refused; `None` if it is not.
pub(crate) fn refusal((room, open): &(Room, Vec<OpenTask>)) -> Option<InteractionResponse> {
    (*room == Room::Never).then(|| InteractionResponse::Ephemeral(list::refusal(open)))
}

/// Has those of a person's queued tasks begin for which there is room.
pub(crate) async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let lane = named_lane_id(&["queued tasks", &person.to_string()]);
    jobs::enqueue_once(conn, tenant, lane, &TaskJob::BeginQueued { person }, now).await
}

/// The same after a task has ended, if others of its person can be queued.
pub(crate) async fn enqueue_after(
    core: &TaskContext,
    conn: &mut PgConnection,
    (tenant, ended): (TenantId, RunId),
    now: Timestamp,
) -> sqlx::Result<()> {
    match sql::find_person_with_queue(conn, tenant, ended, core.limits.open.into()).await? {
        Some(person) => enqueue(conn, tenant, person, now).await,
        None => Ok(()),
    }
}

/// Begins the oldest queued tasks of a person, as many as there is room for. One that was told so before, or was stopped
/// meanwhile, does nothing.
pub(crate) async fn begin(core: &TaskContext, claim: &Claim, person: PersonId) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    for task in sql::list_next_queued(&mut tx, claim.tenant, person, core.limits.open.into()).await? {
        workflow::notify(&mut tx, claim.tenant, task, WorkflowEvent::RowsChanged, core.now()).await?;
    }
    // Its own lane is locked after theirs, as by whoever stops one of them.
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
