//! The audit: who did what, append-only. It holds ids, digests and kinds, and never the text of a mail.

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

/// Appends an entry, in the transaction of the change that it records.
#[expect(clippy::too_many_arguments, reason = "a line of the audit has this many columns")]
pub async fn insert_entry(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: Option<PersonId>,
    action: &str,
    subject: Uuid,
    digest: Option<&str>,
    detail: &Value,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into audit (tenant_id, at, person_id, action, subject, digest, detail)
         values ($1, $2, $3, $4, $5, $6, $7)",
        tenant.0,
        now,
        person.map(|p| p.0),
        action,
        subject,
        digest,
        detail
    )
    .execute(conn)
    .await?;
    Ok(())
}
