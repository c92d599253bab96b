//! Effects: acts on the world, each done once.
//!
//! planned → started → done | failed | unknown; or planned → cancelled, as long as it is not released: an
//! approved effect can be taken back for a while. [`perform`] commits *started* and mints the [`Permit`] that
//! [`ActTool::perform`](crate::tool::ActTool::perform) demands; no other code can make one. An effect found
//! in *started* after a crash is looked for before it is done again, and where looking does not settle it,
//! a person is asked.

mod perform;
pub(crate) mod sql;

use sqlx::PgConnection;

pub(crate) use perform::{look_again, perform};

use crate::approval::{self, Approval};
use crate::clock::Timestamp;
use crate::ids::{EffectId, RunId, TenantId};
use crate::jobs::{Work, sql as jobs};
use crate::nod::Core;
use crate::tool::Fault;

/// Plans the effect of an approved request, in the transaction of the approval.
pub(crate) async fn plan(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    let id: EffectId = core.id();
    let new = sql::NewEffect {
        id,
        conversation: approval.conversation,
        run: approval.run,
        call_id: &approval.call_id,
        approval: Some(approval.id),
        person: approval.decider,
        tool: &approval.tool,
        preview: &approval.preview,
        digest: &approval.digest,
        undo: approval.undo,
    };
    insert(conn, tenant, &new, now).await
}

/// The turn was stopped: what has not begun does not begin any more.
pub(crate) async fn call_off(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let reason = "it was stopped before it began".to_owned();
    for approval in sql::call_off(conn, tenant, run, &Err(Fault::Forbidden { reason }), now).await? {
        approval::refresh(conn, tenant, approval, now).await?;
    }
    Ok(())
}

/// Writes a planned effect and its job.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &sql::NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, new, now).await?;
    let work = Work::Perform { effect: new.id };
    jobs::enqueue(conn, tenant, new.id.0, &work, now + new.undo, now).await
}
