//! Nod's one HTTP server: whether it is alive and ready, the pages that connect an account, and what the
//! platforms bring. Everything else is not there. Pages load nothing from elsewhere and are kept by nobody.

mod connect;
mod connections;
mod cookie;
mod headers;
mod pages;
mod ready;

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

pub use connect::Connecting;
pub use connections::{raise_open_files, serve};
pub use ready::{Platform, Readiness};

/// What `/healthz` says, so that `nod doctor` knows it reached Nod and not something else.
pub const ALIVE: &str = "nod is alive\n";

/// The largest body that any of the pages takes; a platform's routes have a limit of their own.
const LARGEST_BODY: usize = 16 * 1024;

/// Everything the server answers: our own pages, and the routes of the platforms that call us. Without
/// `connecting` no account can be connected, and the pages say so.
pub fn router(readiness: Readiness, connecting: Option<Connecting>, platforms: Router) -> Router {
    let health = Router::new()
        .route("/healthz", get(|| async { ALIVE }))
        .route("/readyz", get(ready::readyz))
        .with_state(readiness);
    let accounts = match connecting {
        Some(connecting) => connect::routes(Arc::new(connecting)),
        None => connect::not_configured(),
    };
    health
        .merge(accounts)
        .merge(platforms)
        .fallback(|| async { (StatusCode::NOT_FOUND, pages::not_here()) })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn(connections::in_time))
        .layer(map_response(headers::guard))
}
