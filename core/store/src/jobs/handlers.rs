//! Maps each kind of job to its handler.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
}

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
        let kind = claim.payload["work"].as_str().unwrap_or_default();
        match self.0.get(kind) {
            Some(handler) => handler.work(claim).await,
            None => Err(format!("no handler for jobs of the kind {kind:?}").into()),
        }
    }
}
