//! A fake Qdrant over its gRPC, with exact scores.
//!
//! It carries out what Nod asks a store of vectors for and refuses all else. What the real server would do, but no story
//! may ask for (a search without a tenant, a write that is not waited for), is refused too, and recorded in
//! [`Qdrant::violations`].

mod collections;
mod filter;
mod middleware;
mod points;
mod refusal;
mod service;
mod state;
#[cfg(test)]
mod tests;
mod vectors;

use std::sync::Arc;

use crate::fault::Faults;
use crate::serve::Server;
use state::Shared;

/// What the fake says it is.
const VERSION: &str = "1.20.0";

/// The configuration of the fake.
#[derive(Debug, Clone, Default)]
pub struct QdrantConfig {
    /// The only key that is accepted; none is asked for if `None`.
    pub api_key: Option<String>,
}

/// A handle on the running fake; clones share it. The port closes when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Qdrant {
    shared: Arc<Shared>,
    server: Arc<Server>,
}

impl Qdrant {
    /// Starts the fake on a free loopback port.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start(config: QdrantConfig) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(config.api_key, VERSION));
        let server = Arc::new(Server::start_http2(service::routes(&shared)).await?);
        Ok(Self { shared, server })
    }

    /// Returns `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the planned faults. Operations are named after service and method: `points.upsert`,
    /// `points.query_batch`, `collections.get`, `qdrant.health_check`. A status is given as HTTP has it; 429 is
    /// *resource exhausted*. (The client asks again by itself, once, where a connection broke.)
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Sets the version that the fake says it is.
    pub fn set_version(&self, version: &str) {
        self.shared.state().version = version.to_owned();
    }

    /// Makes the next writes be answered as accepted and not yet made.
    pub fn acknowledge_only(&self, times: usize) {
        self.shared.state().acknowledged_only = times;
    }

    /// Forgets all collections, as a server does that lost its disk.
    pub fn clear(&self) {
        self.shared.state().collections.clear();
    }

    /// Returns the names of the collections.
    #[must_use]
    pub fn collections(&self) -> Vec<String> {
        self.shared.state().collections.keys().cloned().collect()
    }

    /// Returns how many points all collections have.
    #[must_use]
    pub fn point_count(&self) -> usize {
        self.shared.state().collections.values().map(|collection| collection.points.len()).sum()
    }

    /// Returns the operations that reached the fake, in order.
    #[must_use]
    pub fn operations(&self) -> Vec<String> {
        self.shared.state().operations.clone()
    }

    /// Returns what was asked for and no story may ask for.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }
}
