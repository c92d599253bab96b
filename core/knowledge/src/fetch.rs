//! The bytes of a document: downloaded once and kept at once, because the platform's address does not work for long.

use uuid::Uuid;

use crate::document::Document;
use crate::job::MAX_ATTEMPTS;
use crate::sql;
use crate::version::{Outcome, find_same_content};
use nod_contract::chat::Attachment;
use nod_contract::ids::TenantId;
use nod_contract::web::{WebError, WebFetcher, WebPage};
use nod_people::attachment::{self, FetchError};
use nod_people::context::Chat;
use nod_store::blobs::{self, BlobOwner};
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// The largest file that is kept, in bytes.
pub(crate) const MAX_BYTES: usize = 20 * 1024 * 1024;

/// The `platform` of a document that is read from its address on the web.
pub(crate) const WEB: &str = "web";

/// The bytes of a document, and what its platform or server says they are.
pub(crate) struct Fetched {
    pub(crate) bytes: Vec<u8>,
    pub(crate) media_type: String,
}

/// Returns the bytes of a document, or how reading it ended without them.
///
/// # Errors
/// If the platform does not give them now.
pub(crate) async fn load_or_download(
    core: &Chat,
    web: &dyn WebFetcher,
    claim: &Claim,
    document: &Document,
) -> Result<Result<Fetched, Outcome>, WorkError> {
    if let Some(digest) = &document.wanted_digest
        && let Some(bytes) = load(core, claim.tenant, document.id, digest).await?
    {
        return Ok(match find_same_content(core, claim.tenant, document, digest).await? {
            Some(outcome) => Err(outcome),
            None => Ok(Fetched { bytes, media_type: document.media_type.clone() }),
        });
    }
    download(core, web, claim, document).await
}

/// Returns the bytes that an earlier attempt, or an earlier version, kept.
async fn load(core: &Chat, tenant: TenantId, document: Uuid, digest: &[u8]) -> sqlx::Result<Option<Vec<u8>>> {
    let mut conn = core.pool.acquire().await?;
    blobs::load(&mut conn, tenant, BlobOwner::document(document), digest).await
}

/// Downloads a document and keeps its bytes. What the same version or another document here says is not kept again.
async fn download(
    core: &Chat,
    web: &dyn WebFetcher,
    claim: &Claim,
    document: &Document,
) -> Result<Result<Fetched, Outcome>, WorkError> {
    let fetched = if document.platform == WEB {
        fetch_page(web, document).await
    } else {
        fetch_file(core, document).await
    };
    let Fetched { bytes, media_type } = match fetched {
        Ok(fetched) => fetched,
        Err(FetchError { is_transient: true, .. }) if claim.attempt < MAX_ATTEMPTS => {
            return Err("its bytes did not come".into());
        }
        Err(error) => return Ok(Err(Outcome::Failed(error.reason))),
    };
    let digest = blobs::digest_of(&bytes);
    if document.generation > 0
        && document.digest.as_ref() == Some(&digest)
        && load(core, claim.tenant, document.id, &digest).await?.is_some()
    {
        return Ok(Err(Outcome::SameContent { title: document.title.clone(), digest }));
    }
    if let Some(outcome) = find_same_content(core, claim.tenant, document, &digest).await? {
        return Ok(Err(outcome));
    }
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::store_bytes(&mut tx, claim.tenant, document, &bytes, &media_type, core.now()).await?;
    tx.commit().await?;
    Ok(Ok(Fetched { bytes, media_type }))
}

async fn fetch_file(core: &Chat, document: &Document) -> Result<Fetched, FetchError> {
    let media_type = document.media_type.clone();
    let url = Some(document.url.clone());
    let file = Attachment { name: document.title.clone(), media_type: media_type.clone(), size: 0, url };
    let bytes = attachment::fetch(core, &document.platform, &file, MAX_BYTES).await?;
    Ok(Fetched { bytes, media_type })
}

async fn fetch_page(web: &dyn WebFetcher, document: &Document) -> Result<Fetched, FetchError> {
    let page = web.fetch(&document.url, MAX_BYTES).await;
    let WebPage { bytes, media_type } = page.map_err(|error| {
        if let WebError::Unavailable(reason) = &error {
            tracing::warn!(reason, document = %document.id, "an address did not answer");
        }
        FetchError { is_transient: matches!(error, WebError::Unavailable(_)), reason: error.to_string() }
    })?;
    Ok(Fetched { bytes, media_type })
}
