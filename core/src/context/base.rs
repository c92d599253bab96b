//! The database, time, ids and jobs.

use std::sync::Arc;

use sqlx::{PgPool, PgTransaction};
use uuid::Uuid;

use crate::clock::{Clock, Timestamp};
use crate::ids::{Ids, TenantId};
use crate::jobs::Jobs;
use crate::store;

/// What everything that is kept needs.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) pool: PgPool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) jobs: Jobs,
    /// The organisation of this installation.
    pub(crate) tenant: TenantId,
}

impl Base {
    /// Begins a transaction for a job.
    pub(crate) async fn begin(&self) -> sqlx::Result<PgTransaction<'static>> {
        store::begin(&self.pool).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A new id of any kind.
    pub(crate) fn id<T: From<Uuid>>(&self) -> T {
        T::from(self.ids.next())
    }
}
