//! The bytes of files, each stored once for an organisation under its SHA-256 digest, for as long as something uses
//! them.

use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// What uses bytes: the kind of thing, such as "document", and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobOwner {
    /// The kind.
    pub kind: &'static str,
    /// The id.
    pub id: Uuid,
}

impl BlobOwner {
    /// A kept document.
    #[must_use]
    pub fn document(id: Uuid) -> Self {
        Self { kind: "document", id }
    }
}

/// Returns the digest under which bytes are stored.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Stores bytes for an owner, and returns their digest.
pub async fn store(
    conn: &mut PgConnection,
    tenant: TenantId,
    owner: BlobOwner,
    bytes: &[u8],
    now: Timestamp,
) -> sqlx::Result<Vec<u8>> {
    let digest = digest_of(bytes);
    // The update locks the row, so that it is not released between the two statements; it does not write the bytes.
    sqlx::query!(
        "insert into blobs (tenant_id, digest, size, bytes, created_at) values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, digest) do update set size = excluded.size",
        tenant.0,
        digest,
        i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        bytes,
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into blob_uses (tenant_id, digest, owner, owner_id) values ($1, $2, $3, $4) on conflict do nothing",
        tenant.0,
        digest,
        owner.kind,
        owner.id
    )
    .execute(conn)
    .await?;
    Ok(digest)
}

/// Returns the bytes that an owner uses under this digest.
pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    owner: BlobOwner,
    digest: &[u8],
) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar!(
        "select b.bytes from blobs b
         join blob_uses u on u.tenant_id = b.tenant_id and u.digest = b.digest
         where b.tenant_id = $1 and b.digest = $2 and u.owner = $3 and u.owner_id = $4",
        tenant.0,
        digest,
        owner.kind,
        owner.id
    )
    .fetch_optional(conn)
    .await
}

/// Gives up the bytes of an owner, except those with these digests. What nothing uses any more is deleted.
pub async fn release_except(
    conn: &mut PgConnection,
    tenant: TenantId,
    owner: BlobOwner,
    kept: &[Vec<u8>],
) -> sqlx::Result<()> {
    // Locked before the use is deleted: whoever stores the same bytes meanwhile waits, or has its use counted.
    let released = sqlx::query_scalar!(
        "select b.digest from blobs b
         where b.tenant_id = $1 and b.digest <> all($4) and exists (
             select 1 from blob_uses u where u.tenant_id = $1 and u.digest = b.digest and u.owner = $2
                 and u.owner_id = $3)
         order by b.digest for update",
        tenant.0,
        owner.kind,
        owner.id,
        kept
    )
    .fetch_all(&mut *conn)
    .await?;
    if released.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "delete from blob_uses where tenant_id = $1 and owner = $2 and owner_id = $3 and digest = any($4)",
        tenant.0,
        owner.kind,
        owner.id,
        &released
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from blobs b where b.tenant_id = $1 and b.digest = any($2) and not exists (
             select 1 from blob_uses u where u.tenant_id = $1 and u.digest = b.digest)",
        tenant.0,
        &released
    )
    .execute(conn)
    .await?;
    Ok(())
}
