//! Nod's one HTTP server: the liveness and readiness checks, the pages that connect an account, and the platforms'
//! callbacks. It serves nothing else. Pages load nothing from elsewhere and are not cached.

mod connect;
mod connections;
mod cookie;
mod headers;
mod pages;
mod readiness;

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, map_response};
use axum::routing::get;

pub use connect::ConnectPages;
pub use connections::{raise_open_files, serve};
pub use readiness::{PlatformReadiness, Readiness};

/// The body of `/healthz`, so that `nod doctor` knows it reached Nod and not something else.
pub const HEALTH_TEXT: &str = "nod is alive\n";

/// The largest body that any of the pages accepts; a platform's routes have their own limit.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// Builds all routes of the server: our own pages, and the routes that the platforms call. Without `connecting` no
/// account can be connected, and the pages say so.
pub fn router(readiness: Readiness, connecting: Option<ConnectPages>, platforms: Router) -> Router {
    let health = Router::new()
        .route("/healthz", get(|| async { HEALTH_TEXT }))
        .route("/readyz", get(readiness::readyz))
        .with_state(readiness);
    let accounts = match connecting {
        Some(connecting) => connect::routes(Arc::new(connecting)),
        None => connect::not_configured(),
    };
    health
        .merge(accounts)
        .merge(platforms)
        .fallback(|| async { (StatusCode::NOT_FOUND, pages::not_here()) })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn(connections::in_time))
        .layer(map_response(headers::add_security_headers))
}
