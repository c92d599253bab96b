//! Documents that the operator keeps from files, without a chat.

use nod_contract::chat::Attachment;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{Ids, TenantId};
use nod_contract::vector_store::Reader;
use nod_store::blobs;
use nod_store::jobs::sql as jobs;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::{Document, NewDocument, Readers, Status};
use crate::job::lane;
use crate::{sql, version};

/// The largest file that is kept, in bytes.
pub const MAX_BYTES: usize = crate::fetch::MAX_BYTES;

/// The `platform` of these documents.
const PLATFORM: &str = "file";

/// A file to keep.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// A file of the same name, for the same reader, is its earlier version.
    pub name: &'a str,
    pub reader: Reader,
    pub bytes: &'a [u8],
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It will be read.
    Queued(Uuid),
    /// A document here says the same already.
    Known { title: String },
}

/// How far a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Reading,
    /// It can be found.
    Indexed {
        passages: i32,
    },
    /// With the end of a sentence.
    Failed {
        reason: String,
    },
    /// It was removed meanwhile.
    Gone,
}

/// Keeps a file and has it read.
///
/// # Errors
/// If the database does not answer; nothing has changed then.
pub async fn add_file(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &dyn Ids,
    file: &NewFile<'_>,
    now: Timestamp,
) -> sqlx::Result<Added> {
    // In the same order as by the job.
    jobs::lock_lane(conn, tenant, lane(tenant)).await?;
    let documents = sql::list(conn, tenant, &Readers::of_reader(file.reader)).await?;
    let digest = blobs::digest_of(file.bytes);
    let known = documents.iter().find(|one| one.title.to_lowercase() == file.name.to_lowercase());
    let is_same = |one: &&Document| {
        one.generation > 0 && one.status == Status::Indexed && one.digest.as_ref() == Some(&digest)
    };
    if let Some(same) = known.filter(|one| is_same(one)).or_else(|| documents.iter().find(is_same)) {
        return Ok(Added::Known { title: same.title.clone() });
    }
    let attachment = Attachment {
        name: file.name.to_owned(),
        media_type: String::new(),
        size: i64::try_from(file.bytes.len()).unwrap_or(i64::MAX),
        url: None,
    };
    let new = NewDocument {
        reader: file.reader,
        added_by: None,
        platform: PLATFORM,
        file: &attachment,
        url: "",
        delivery: None,
        now,
    };
    let document = version::begin(conn, tenant, ids, known, &new).await?;
    sql::store_bytes(conn, tenant, &document, file.bytes, "", now).await?;
    Ok(Added::Queued(document.id))
}

/// Returns how far a document is.
///
/// # Errors
/// If the database does not answer.
pub async fn load_progress(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
) -> sqlx::Result<Progress> {
    let Some(document) = sql::load(conn, tenant, document).await? else { return Ok(Progress::Gone) };
    Ok(match document.status {
        Status::Indexing => Progress::Reading,
        Status::Indexed => Progress::Indexed { passages: document.chunk_count },
        Status::Failed => {
            Progress::Failed { reason: document.reason.unwrap_or_else(|| "it could not be read".to_owned()) }
        }
    })
}
