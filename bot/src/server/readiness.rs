//! Whether Nod is ready: the database answers and the platforms are connected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::timeout;

/// How long the database can take to answer.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(1);

/// What `/readyz` checks.
#[derive(Debug, Clone)]
pub struct Readiness {
    pool: PgPool,
    platforms: Arc<Mutex<Connected>>,
}

/// Whether each part of each platform is connected.
type Connected = BTreeMap<(&'static str, u32), bool>;

/// The handle with which the adapter of a platform, or of one of its parts, reports when it is connected.
#[derive(Debug, Clone)]
pub struct PlatformReadiness {
    shard: (&'static str, u32),
    platforms: Arc<Mutex<Connected>>,
}

impl Readiness {
    /// Creates it for a pool, without any platform yet.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool, platforms: Arc::default() }
    }

    /// Adds a part of a platform that must be connected, and is not yet.
    #[must_use]
    pub fn platform(&self, name: &'static str, part: u32) -> PlatformReadiness {
        let part = (name, part);
        lock(&self.platforms).entry(part).or_insert(false);
        PlatformReadiness { shard: part, platforms: Arc::clone(&self.platforms) }
    }

    /// Returns what is not ready, as in `/readyz`; empty if Nod is ready.
    pub async fn list_missing(&self) -> Vec<String> {
        let asked = sqlx::query("SELECT 1").execute(&self.pool);
        let database = match timeout(DATABASE_TIMEOUT, asked).await {
            Ok(Ok(_)) => None,
            _ => Some("database".to_owned()),
        };
        let platforms = lock(&self.platforms);
        let away = platforms.iter().filter(|(_, connected)| !**connected).map(|((name, _), _)| *name);
        let away: BTreeSet<&str> = away.collect();
        database.into_iter().chain(away.into_iter().map(str::to_owned)).collect()
    }
}

impl PlatformReadiness {
    /// Reports whether it is connected.
    pub fn set_connected(&self, connected: bool) {
        lock(&self.platforms).insert(self.shard, connected);
    }
}

fn lock(platforms: &Mutex<Connected>) -> MutexGuard<'_, Connected> {
    platforms.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, Json<Value>) {
    let missing = readiness.list_missing().await;
    let status = if missing.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": missing.is_empty(), "not_ready": missing })))
}
