//! Whether messages that were sent while Nod was away have been looked up.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::ids::{TenantId, named_lane_id};
use nod_store::jobs::sql as jobs;

/// Returns the lane in which a workspace is looked up.
pub fn lane(platform: &str, workspace: &str) -> Uuid {
    named_lane_id(&["catch up", platform, workspace])
}

/// Returns whether the lookup of the messages that Nod missed there has finished.
pub async fn has_caught_up(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<bool> {
    jobs::is_lane_idle(conn, tenant, lane(platform, workspace)).await
}
