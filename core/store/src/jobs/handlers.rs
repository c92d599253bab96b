//! Maps each kind of job to its handler.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::PgConnection;

use super::Claim;

/// The jobs of one ability: an enum, tagged by `work` in JSON. The compiler checks that its handler covers every
/// variant.
pub trait Job: Serialize + DeserializeOwned + Send + Sync {
    /// The kinds, as stored in the rows. No other ability has a kind of the same name.
    const KINDS: &'static [&'static str];
}

/// Runs jobs. It commits the completion of each job itself, together with what the job caused.
#[async_trait]
pub trait JobHandler: Send + Sync {
    /// Returns the kinds of job that it handles.
    fn kinds(&self) -> &'static [&'static str];

    /// Runs one job.
    ///
    /// # Errors
    /// If the job was neither completed nor rescheduled, for a reason that a retry might fix.
    async fn work(&self, claim: &Claim) -> Result<(), WorkError>;

    /// Loads what a first attempt begins with, in the transaction that claimed the job: most often the one that enqueued
    /// it, so that nothing can have changed. [`Claim::take_loaded`] returns it.
    ///
    /// # Errors
    /// If the database failed, which ends the transaction.
    async fn load(&self, _conn: &mut PgConnection, _claim: &Claim) -> sqlx::Result<Option<Loaded>> {
        Ok(None)
    }
}

/// What a handler has loaded for a job.
pub type Loaded = Box<dyn Any + Send>;

/// Why a job failed; the job is retried.
pub type WorkError = Box<dyn std::error::Error + Send + Sync>;

/// Two abilities have a handler for the same kind of job.
#[derive(Debug, thiserror::Error)]
#[error("two abilities handle jobs of the kind {0}")]
pub struct Twice(pub &'static str);

/// The job handlers, by kind.
#[derive(Clone, Default)]
pub struct Handlers(Arc<BTreeMap<&'static str, Arc<dyn JobHandler>>>);

impl Handlers {
    /// Indexes the handlers by kind.
    ///
    /// # Errors
    /// If two of them handle the same kind.
    pub fn new(all: impl IntoIterator<Item = Arc<dyn JobHandler>>) -> Result<Self, Twice> {
        let mut by_kind = BTreeMap::new();
        for handler in all {
            for kind in handler.kinds() {
                if by_kind.insert(*kind, handler.clone()).is_some() {
                    return Err(Twice(kind));
                }
            }
        }
        Ok(Self(Arc::new(by_kind)))
    }

    /// Returns the kinds that have a handler.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(super) async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match self.find(claim) {
            Some(handler) => handler.work(claim).await,
            None => Err(format!("no handler for jobs of the kind {:?}", claim.kind()).into()),
        }
    }

    pub(super) async fn load(&self, conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<()> {
        let loaded = match self.find(claim) {
            Some(handler) if claim.attempt == 1 => handler.load(conn, claim).await,
            _ => Ok(None),
        };
        match loaded {
            Ok(loaded) => claim.set_loaded(loaded),
            // The job itself says what is wrong with its rows; the one that ends here has nothing to do with them.
            Err(error @ (sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. })) => {
                tracing::debug!(job = claim.job, %error, "could not load what a job begins with");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn find(&self, claim: &Claim) -> Option<&Arc<dyn JobHandler>> {
        self.0.get(claim.kind())
    }

    pub(super) fn downgrade(&self) -> WeakHandlers {
        WeakHandlers(Arc::downgrade(&self.0))
    }
}

/// The job handlers, as long as their dispatcher has them: they know the way to it, and would keep each other alive.
pub(super) struct WeakHandlers(Weak<BTreeMap<&'static str, Arc<dyn JobHandler>>>);

impl WeakHandlers {
    pub(super) fn upgrade(&self) -> Option<Handlers> {
        self.0.upgrade().map(Handlers)
    }
}
