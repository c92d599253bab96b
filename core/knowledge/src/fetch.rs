//! The bytes of a document: downloaded once and kept at once, because the platform's address does not work for long.

use uuid::Uuid;

use crate::document::{Document, ReadOutcome};
use crate::job::MAX_ATTEMPTS;
use crate::sql;
use nod_contract::chat::Attachment;
use nod_contract::ids::TenantId;
use nod_people::attachment::{self, FetchError};
use nod_people::context::Chat;
use nod_store::blobs::{self, BlobOwner};
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// The largest file that is kept, in bytes.
pub(crate) const MAX_BYTES: usize = 20 * 1024 * 1024;

/// Returns the bytes of a document, or how reading it ended without them.
///
/// # Errors
/// If the platform does not give them now.
pub(crate) async fn load_or_download(
    core: &Chat,
    claim: &Claim,
    document: &Document,
) -> Result<Result<Vec<u8>, ReadOutcome>, WorkError> {
    if let Some(digest) = &document.wanted_digest
        && let Some(bytes) = load(core, claim.tenant, document.id, digest).await?
    {
        return Ok(match find_same_content(core, claim.tenant, document, digest).await? {
            Some(outcome) => Err(outcome),
            None => Ok(bytes),
        });
    }
    download(core, claim, document).await
}

/// Returns that another document here says the same. A new version of a document takes the place of the earlier one even
/// then.
async fn find_same_content(
    core: &Chat,
    tenant: TenantId,
    document: &Document,
    digest: &[u8],
) -> sqlx::Result<Option<ReadOutcome>> {
    if document.generation > 0 {
        return Ok(None);
    }
    let mut conn = core.pool.acquire().await?;
    let title = sql::find_same_content(&mut conn, tenant, document, digest).await?;
    Ok(title.map(|title| ReadOutcome::SameContent { title, digest: digest.to_vec() }))
}

/// Returns the bytes that an earlier attempt, or an earlier version, kept.
async fn load(core: &Chat, tenant: TenantId, document: Uuid, digest: &[u8]) -> sqlx::Result<Option<Vec<u8>>> {
    let mut conn = core.pool.acquire().await?;
    blobs::load(&mut conn, tenant, BlobOwner::document(document), digest).await
}

/// Downloads a document and keeps its bytes. What the same version or another document here says is not kept again.
async fn download(
    core: &Chat,
    claim: &Claim,
    document: &Document,
) -> Result<Result<Vec<u8>, ReadOutcome>, WorkError> {
    let file = Attachment {
        name: document.title.clone(),
        media_type: document.media_type.clone(),
        size: 0,
        url: Some(document.url.clone()),
    };
    let bytes = match attachment::fetch(core, &document.platform, &file, MAX_BYTES).await {
        Ok(bytes) => bytes,
        Err(FetchError { is_transient: true, .. }) if claim.attempt < MAX_ATTEMPTS => {
            return Err("the platform did not give the file".into());
        }
        Err(error) => return Ok(Err(ReadOutcome::Failed(error.reason))),
    };
    let digest = blobs::digest_of(&bytes);
    if document.generation > 0
        && document.digest.as_ref() == Some(&digest)
        && load(core, claim.tenant, document.id, &digest).await?.is_some()
    {
        return Ok(Err(ReadOutcome::SameContent { title: document.title.clone(), digest }));
    }
    if let Some(outcome) = find_same_content(core, claim.tenant, document, &digest).await? {
        return Ok(Err(outcome));
    }
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::store_bytes(&mut tx, claim.tenant, document, &bytes, core.now()).await?;
    tx.commit().await?;
    Ok(Ok(bytes))
}
