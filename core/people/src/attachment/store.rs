//! The files of conversations, for tools that attach one. The bytes stay on the platform and are fetched when they are
//! needed, so a caller that promised certain bytes has to compare.

use std::fmt;

use sqlx::PgPool;
use uuid::Uuid;

use super::{sql, text};
use nod_contract::chat::{Adapters, DownloadError};
use nod_contract::tool::{ToolContext, ToolError};

/// The wait after the platform did not answer.
const RETRY_AFTER_SECS: u64 = 5;

/// Where the files are stored.
#[derive(Clone)]
pub struct AttachmentStore {
    pool: PgPool,
    adapters: Adapters,
}

/// A file that was attached in a conversation. Its name and kind are chosen by the person who attached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttachment {
    /// Its row.
    pub id: Uuid,
    /// Its file name.
    pub name: String,
    /// Its media type, as the platform reports it.
    pub media_type: String,
}

impl fmt::Debug for AttachmentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shelf")
    }
}

impl AttachmentStore {
    /// Creates it over the rows and the platforms.
    #[must_use]
    pub fn new(pool: PgPool, adapters: Adapters) -> Self {
        Self { pool, adapters }
    }

    /// Returns the newest file of that name which was attached in the conversation of this call.
    ///
    /// # Errors
    /// [`ToolError::NotFound`] if there is none.
    pub async fn find_by_name(&self, cx: &ToolContext, name: &str) -> Result<StoredAttachment, ToolError> {
        let mut conn = self.pool.acquire().await.map_err(database_error)?;
        let found = sql::find_by_name(&mut conn, cx.scope.tenant, cx.scope.case, name.trim()).await;
        found
            .map_err(database_error)?
            .ok_or_else(|| ToolError::NotFound { what: "a file with that name in this chat".into() })
    }

    /// Fetches its current bytes, at most `most`.
    ///
    /// # Errors
    /// [`ToolError::NotFound`] if it no longer exists, [`ToolError::InvalidArguments`] if it is larger.
    pub async fn download(&self, cx: &ToolContext, id: Uuid, most: usize) -> Result<Vec<u8>, ToolError> {
        let gone = || ToolError::NotFound { what: "that file in this chat any more".to_owned() };
        let mut conn = self.pool.acquire().await.map_err(database_error)?;
        let place =
            sql::find_source(&mut conn, cx.scope.tenant, cx.scope.case, id).await.map_err(database_error)?;
        drop(conn);
        let (platform, address, kind) = place.ok_or_else(gone)?;
        let adapter = self.adapters.get(&platform).ok_or_else(gone)?;
        match adapter.download_attachment(&address, most).await {
            Ok(bytes) if text::is_html_page(&bytes, &kind) => Err(gone()),
            Ok(bytes) => Ok(bytes),
            Err(DownloadError::TooLarge) => {
                Err(ToolError::invalid(format!("that file is larger than {} MB", most / 1024 / 1024)))
            }
            Err(DownloadError::Forbidden(_)) => Err(gone()),
            Err(DownloadError::NoResponse(_)) => {
                Err(ToolError::RateLimited { retry_after_secs: RETRY_AFTER_SECS })
            }
        }
    }
}

fn database_error(error: sqlx::Error) -> ToolError {
    ToolError::internal(format!("I can't look up this chat's files right now: {error}"))
}
