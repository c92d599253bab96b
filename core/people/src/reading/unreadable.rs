//! A document that ended its reader once is not opened again, for any person, until another version of Nod reads.
//! Everyone gets the same text, which says nothing about other people. That the answer comes sooner can be noticed.

use sha2::{Digest, Sha256};
use sqlx::PgPool;

use super::{Unread, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_contract::wire::{Kind, VERSION};

/// A document by its digest, and the reader that it goes to.
pub(super) struct Document {
    tenant: TenantId,
    digest: Vec<u8>,
    reader: String,
}

impl Document {
    pub(super) fn new(tenant: TenantId, kind: Kind, bytes: &[u8]) -> Self {
        let reader = format!("{VERSION} {kind:?}").to_lowercase();
        Self { tenant, digest: Sha256::digest(bytes).to_vec(), reader }
    }

    /// Returns why it is not opened. If the rows cannot be read, it is opened: its reader keeps it from doing harm.
    pub(super) async fn find_failure(&self, pool: &PgPool) -> Option<Unread> {
        let looked = async {
            let mut conn = pool.acquire().await?;
            sql::find(&mut conn, self.tenant, &self.digest, &self.reader).await
        };
        let why = looked.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look up unreadable documents");
            None
        });
        why.map(|why| if why == "memory" { Unread::Memory } else { Unread::Time })
    }

    pub(super) async fn record_failure(&self, pool: &PgPool, why: &str, now: Timestamp) {
        let written = async {
            let mut conn = pool.acquire().await?;
            sql::insert(&mut conn, self.tenant, &self.digest, &self.reader, why, now).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "could not record an unreadable document");
        }
    }
}
