//! Effects: acts on the world, each done once.
//!
//! planned → started → done | failed | unknown; or planned → cancelled, as long as it is not released: an
//! approved effect can be taken back for a while. [`perform`](crate::perform::perform) commits *started* and mints the
//! [`Permit`](nod_contract::tool::effect::Permit) that [`ActTool::perform`](nod_contract::tool::ActTool::perform) demands; no other
//! code may make one. An effect found
//! in *started* after a crash is looked for before it is done again, and where looking does not settle it,
//! a person is asked.

pub mod sql;

use sqlx::PgConnection;

use crate::work::RequestJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_store::jobs::sql as jobs;

/// Writes a planned effect and its job.
pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &sql::NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, new, now).await?;
    let work = RequestJob::Perform { effect: new.id };
    jobs::enqueue(conn, tenant, new.id.0, &work, now + new.undo, now).await
}
