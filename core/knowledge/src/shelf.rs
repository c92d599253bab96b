//! Documents that the operator keeps from files, without a chat.

use std::collections::HashMap;

use nod_contract::chat::Attachment;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{Ids, TenantId};
use nod_contract::vector_store::Reader;
use nod_store::blobs;
use nod_store::jobs::sql as jobs;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::{Document, NewDocument, Status};
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
    /// With when a step of it was last done.
    Reading { changed_at: Timestamp },
    /// It can be found.
    Indexed { passages: i32 },
    /// With the end of a sentence.
    Failed { reason: String },
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
    let known = sql::find_by_title(conn, tenant, file.reader, file.name).await?;
    let digest = blobs::digest_of(file.bytes);
    let is_same = |one: &Document| {
        one.generation > 0 && one.status == Status::Indexed && one.digest.as_ref() == Some(&digest)
    };
    let same = match known.as_ref().filter(|one| is_same(one)) {
        Some(same) => Some(same.title.clone()),
        // A new version takes the place of the earlier one even if another document says the same.
        None if known.as_ref().is_some_and(|known| known.generation > 0) => None,
        None => {
            let but = known.as_ref().map_or(Uuid::nil(), |known| known.id);
            sql::find_same_content(conn, tenant, (file.reader, but), &digest).await?
        }
    };
    if let Some(title) = same {
        return Ok(Added::Known { title });
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
    let document = version::begin(conn, tenant, ids, known.as_ref(), &new).await?;
    sql::store_bytes(conn, tenant, &document, file.bytes, "", now).await?;
    Ok(Added::Queued(document.id))
}

/// Returns how far documents are. Those that are missing were removed meanwhile.
///
/// # Errors
/// If the database does not answer.
pub async fn load_progress(
    conn: &mut PgConnection,
    tenant: TenantId,
    documents: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, Progress>> {
    let rows = sql::list_progress(conn, tenant, documents).await?;
    let progress = |row: sql::ProgressRow| match Status::from_name(&row.status) {
        Status::Indexing => Progress::Reading { changed_at: row.updated_at },
        Status::Indexed => Progress::Indexed { passages: row.chunk_count },
        Status::Failed => {
            Progress::Failed { reason: row.reason.unwrap_or_else(|| "it could not be read".to_owned()) }
        }
    };
    Ok(rows.into_iter().map(|row| (row.id, progress(row))).collect())
}
