//! The dependencies shared by all features: the database, time, ids and jobs.

use std::sync::Arc;

use sqlx::{PgPool, PgTransaction};
use uuid::Uuid;

use crate::jobs::JobNotifier;
use crate::prompt_texts::PromptTexts;
use crate::steps::StepRecord;
use crate::store;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::{Ids, TenantId};

/// The dependencies of everything that is stored.
#[derive(Clone)]
pub struct Base {
    pub pool: PgPool,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub jobs: JobNotifier,
    /// The organisation of this installation.
    pub tenant: TenantId,
    /// What prompts have in common and is stored.
    pub prompt_texts: PromptTexts,
}

impl Base {
    /// Begins a transaction for a job.
    pub async fn begin(&self) -> sqlx::Result<PgTransaction<'static>> {
        store::begin(&self.pool).await
    }

    /// Stores the texts that records of model calls name; see [`PromptTexts`].
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn store_prompt_texts(&self, steps: &[StepRecord]) -> sqlx::Result<()> {
        self.prompt_texts.store(&self.pool, steps, self.now()).await
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns a new id of any kind.
    pub fn id<T: From<Uuid>>(&self) -> T {
        T::from(self.ids.next())
    }
}
