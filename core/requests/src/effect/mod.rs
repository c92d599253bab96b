//! Effects: changes outside Nod, each performed once.
//!
//! planned → started → done | failed | unknown; or planned → cancelled until it is released: an approved effect can be
//! undone for a while. [`perform`](crate::perform::perform) commits *started* and mints the
//! [`Permit`](nod_contract::tool::effect::Permit) that [`ActTool::perform`](nod_contract::tool::ActTool::perform)
//! demands; no other code can create one. An effect found in *started* after a crash is looked up before it is
//! repeated. If the lookup is inconclusive, a person is asked.

pub mod sql;

use sqlx::PgConnection;

use crate::work::RequestJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_store::jobs::sql as jobs;

/// Inserts a planned effect and its job.
pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &sql::NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, new, now).await?;
    let work = RequestJob::PerformEffect { effect: new.id };
    jobs::enqueue(conn, tenant, new.id.0, &work, now + new.undo_window, now).await
}
