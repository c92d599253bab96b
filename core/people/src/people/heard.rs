//! Whether what was said while Nod was away has been looked up.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::ids::{TenantId, named_lane_id};
use nod_store::jobs::sql as jobs;

/// In which a workspace is read.
pub fn lane(platform: &str, workspace: &str) -> Uuid {
    named_lane_id(&["catch up", platform, workspace])
}

/// Whether nothing is being looked up any more of what was said there while Nod did not hear it.
pub async fn has_caught_up(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<bool> {
    jobs::is_lane_idle(conn, tenant, lane(platform, workspace)).await
}
