//! Who does which kind of job.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Claim;

/// The jobs of one ability: an enum, whose variants are told apart by `work` in JSON. The compiler is the checklist of
/// those who do them.
pub trait Job: Serialize + DeserializeOwned + Send + Sync {
    /// The kinds, as rows name them. No other ability has a kind of the same name.
    const KINDS: &'static [&'static str];
}

/// Does jobs. It commits the end of each itself, together with what the job caused.
#[async_trait]
pub trait JobHandler: Send + Sync {
    /// Which ones.
    fn kinds(&self) -> &'static [&'static str];

    /// Does one of them.
    ///
    /// # Errors
    /// When it neither ended nor put itself off, for a reason that time may mend.
    async fn work(&self, claim: &Claim) -> Result<(), WorkError>;
}

/// Why a job could not be done now; it is tried again.
pub type WorkError = Box<dyn std::error::Error + Send + Sync>;

/// Two abilities want to do the same kind of job.
#[derive(Debug, thiserror::Error)]
#[error("two abilities do jobs of the kind {0}")]
pub struct Twice(pub &'static str);

/// Whoever does jobs, by kind.
#[derive(Clone, Default)]
pub struct Handlers(Arc<BTreeMap<&'static str, Arc<dyn JobHandler>>>);

impl Handlers {
    /// From everybody who does some.
    ///
    /// # Errors
    /// When two do the same.
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

    /// What is done here.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(super) async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        let kind = claim.payload["work"].as_str().unwrap_or_default();
        match self.0.get(kind) {
            Some(handler) => handler.work(claim).await,
            None => Err(format!("nobody here does jobs of the kind {kind:?}").into()),
        }
    }
}
