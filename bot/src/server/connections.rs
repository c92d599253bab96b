//! The connections of the one server: how many are open at once, and how long each can take. Owns its loop and knows no
//! route. Connections that strangers hold open never take resources that the database and the platforms need.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long the head of a request can take, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head, in bytes. Links carry a token, and browsers send cookies of other pages of the host.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long a whole request can take, from its head to its answer.
const WHOLE: Duration = Duration::from_secs(30);
/// How long a connection can live: a client that does not read its answer is disconnected too.
const LIFE: Duration = Duration::from_secs(10 * 60);
/// How long requests in progress can take once a connection is shutting down.
const FAREWELL: Duration = Duration::from_secs(8);
/// The maximum number of connections, however many files can be open.
const MAX_CONNECTIONS: usize = 512;
/// The minimum number, however few files can be open.
const MIN_CONNECTIONS: usize = 8;
/// Open files that are reserved for the database, the platforms, Google and the model.
const OTHERS: usize = 256;
/// The pause after an accept that failed for lack of file descriptors: some are closed meanwhile.
const SHORT: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets requests in progress finish. Above the maximum, new connections wait in the backlog.
/// There is no limit per IP address: behind a proxy all clients have the same.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(max_connections(open_file_limit())));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let place = places.clone().acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        let Some((place, accepted)) = stop.run_until_cancelled(accepted).await else { break };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    converse(stream, router, stop).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                sleep(SHORT).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves one connection until either side ends it.
async fn converse(stream: TcpStream, router: Router, stop: CancellationToken) {
    // Without a timer hyper does not enforce the timeout of the head.
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_header_size(MAX_HEAD_BYTES);
    let served = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => Some(ended),
        () = stop.cancelled() => None,
        () = sleep(LIFE) => None,
    };
    let ended = match ended {
        Some(ended) => Ok(ended),
        None => {
            served.as_mut().graceful_shutdown();
            timeout(FAREWELL, served).await
        }
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended"),
        Err(_) => tracing::debug!("closed a connection after the shutdown timeout"),
    }
}

/// Ends a request that takes too long.
pub(super) async fn in_time(request: Request, next: Next) -> Result<Response, Infallible> {
    let answer = timeout(WHOLE, next.run(request)).await;
    Ok(answer.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response()))
}

/// Returns the maximum number of connections. It leaves half of the free files to the work that they cause.
fn max_connections(soft_limit: usize) -> usize {
    (soft_limit.saturating_sub(OTHERS) / 2).clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
}

/// Returns how many files this process can open.
fn open_file_limit() -> usize {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    usize::try_from(soft).unwrap_or(usize::MAX)
}

/// Raises the limit of open files to the maximum; many systems start with a lower one.
///
/// # Errors
/// If the system refuses.
pub fn raise_open_files() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_keep_their_files() {
        assert_eq!(max_connections(usize::MAX), 512);
        assert_eq!(max_connections(1280), 512);
        assert_eq!(max_connections(1024), 384);
        assert_eq!(max_connections(256), 8);
        assert_eq!(max_connections(0), 8);
    }
}
