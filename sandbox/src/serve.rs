//! Serves a router on a loopback port, and can close a connection without an answer.
//!
//! `axum::serve` always answers; a vendor that crashes does not. A response that carries [`DropConnection`] in its
//! extensions closes the connection instead.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures::stream;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tower::ServiceExt;

use crate::Fault;

/// Marks a response that must not be sent: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
pub struct DropConnection;

/// Returns a response that closes the connection.
#[must_use]
pub fn drop_connection() -> axum::response::Response {
    let mut response = StatusCode::OK.into_response();
    response.extensions_mut().insert(DropConnection);
    response
}

/// Runs `work` (the operation's effect and its answer) with a planned fault.
pub async fn respond_with_fault<F>(fault: Option<Fault>, work: F) -> axum::response::Response
where
    F: Future<Output = axum::response::Response>,
{
    match fault {
        None => work.await,
        Some(Fault::Status { code, retry_after } | Fault::ErrorReason { code, retry_after, .. }) => {
            status_response(code, retry_after)
        }
        Some(Fault::DropConnection) => drop_connection(),
        Some(Fault::DropResponse) => {
            work.await;
            drop_connection()
        }
        Some(Fault::HangBefore) => std::future::pending().await,
        Some(Fault::HangAfter) => {
            work.await;
            std::future::pending().await
        }
        Some(Fault::HoldResponse(mut released)) => {
            let response = work.await;
            // Nothing is ever sent on it: it ends when the story lets go.
            while released.changed().await.is_ok() {}
            response
        }
        Some(Fault::DelayResponse(long)) => {
            tokio::time::sleep(long.min(Duration::from_secs(120))).await;
            work.await
        }
    }
}

fn status_response(code: u16, retry_after: Option<u64>) -> axum::response::Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// A running server; dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: AbortHandle,
    time_spent: Spent,
}

/// Microseconds spent on making answers, so that a benchmark can separate them from the program's own time.
type Spent = Arc<AtomicU64>;

impl Server {
    /// Binds a free loopback port and serves `router` on it.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start(router: Router) -> std::io::Result<Self> {
        Self::start_with(router, Protocol::Http1).await
    }

    /// Same, over HTTP/2 without TLS, as gRPC needs it.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start_http2(router: Router) -> std::io::Result<Self> {
        Self::start_with(router, Protocol::Http2).await
    }

    async fn start_with(router: Router, protocol: Protocol) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let spent = Spent::default();
        let task = tokio::spawn(accept_loop(listener, router, protocol, spent.clone())).abort_handle();
        Ok(Self { address, task, time_spent: spent })
    }

    /// Returns `http://127.0.0.1:port`, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the total time that was spent on making answers.
    #[must_use]
    pub fn total_response_time(&self) -> Duration {
        Duration::from_micros(self.time_spent.load(Ordering::Relaxed))
    }

    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept_loop(listener: TcpListener, router: Router, protocol: Protocol, spent: Spent) {
    // Dropping the set with this task closes every connection too.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(serve_connection(TokioIo::new(stream), router.clone(), protocol, spent.clone()));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn serve_connection(
    io: TokioIo<tokio::net::TcpStream>,
    router: Router,
    protocol: Protocol,
    spent: Spent,
) {
    // Over HTTP/2, a failed answer ends its stream alone.
    let dropped = Arc::new(Notify::new());
    let notify = dropped.clone();
    let service = hyper::service::service_fn(move |request| {
        let (router, spent, dropped) = (router.clone(), spent.clone(), notify.clone());
        async move {
            let begun = Instant::now();
            let response: Result<Response<_>, Infallible> = router.oneshot(request).await;
            let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or_default();
            spent.fetch_add(took, Ordering::Relaxed);
            match response {
                Ok(response) if response.extensions().get::<DropConnection>().is_some() => {
                    dropped.notify_one();
                    Err("dropped")
                }
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        }
    });
    match protocol {
        Protocol::Http1 => {
            let _ = http1::Builder::new().serve_connection(io, service).with_upgrades().await;
        }
        Protocol::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service);
            tokio::select! {
                _ = connection => {}
                () = dropped.notified() => {}
            }
        }
    }
}

/// Returns a response that repeats the same bytes without end.
pub(crate) fn endless_response(bytes: Vec<u8>) -> axum::response::Response {
    let bytes = Bytes::from(bytes);
    let chunks = stream::unfold((), move |()| {
        let chunk = bytes.clone();
        async move {
            tokio::time::sleep(Duration::from_micros(100)).await;
            Some((Ok::<_, Infallible>(chunk), ()))
        }
    });
    Body::from_stream(chunks).into_response()
}
