//! Socket Mode: keeps one connection open, and opens the next before the last one ends.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::{Connection, Phase, SocketConfig};
use crate::ingest_status::IngestStatus;

/// The first and the longest delay between two dials.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// How long a connection that Slack is closing can still deliver events.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// After a connection shorter than this, the next dial is not immediate.
const MIN_CONNECTION_LIFE: Duration = Duration::from_secs(1);

/// A running listener; it stops when it is dropped.
pub struct Listener {
    status: watch::Receiver<IngestStatus>,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Listener {
    pub(super) fn start(line: SocketConfig) -> Self {
        let stop = CancellationToken::new();
        let (connected, watched) = watch::channel(IngestStatus::Disconnected);
        let task = tokio::spawn(run_listener(line, connected, stop.clone()));
        Self { status: watched, stop: stop.drop_guard(), task }
    }

    /// Whether Slack's events reach this replica now.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<IngestStatus> {
        self.status.clone()
    }

    /// Closes the connection. Slack redelivers unacknowledged events to the next connection.
    pub async fn shutdown(self) {
        drop(self.stop);
        let _ = self.task.await;
    }
}

async fn run_listener(line: SocketConfig, connected: watch::Sender<IngestStatus>, stop: CancellationToken) {
    let mut standing: Option<Connection> = None;
    let mut leaving = JoinSet::new();
    let mut pause = PAUSE.0;
    let mut times = 0;
    loop {
        let fresh = Connection::dial(&line, pause);
        let opened = tokio::select! {
            opened = run_while_watching(standing.as_ref(), &connected, fresh.opens()) => opened,
            () = stop.cancelled() => false,
        };
        if !opened {
            fresh.close().await;
            if stop.is_cancelled() {
                break;
            }
            pause = (pause * 2).min(PAUSE.1);
            connected.send_replace(IngestStatus::Disconnected);
            tracing::warn!(?pause, "could not connect to Slack; retrying");
            continue;
        }
        pause = PAUSE.0;
        // The next connection is open before the last one ends, so nothing is missed between them.
        IngestStatus::begin_connection(&connected, &mut times);
        if let Some(last) = standing.take() {
            leaving.spawn(drain_and_close(last, stop.clone()));
        }
        let since = tokio::time::Instant::now();
        let ended = tokio::select! {
            phase = fresh.wait_for_close() => phase,
            () = stop.cancelled() => Phase::Open,
        };
        standing = Some(fresh);
        match ended {
            Phase::Closing => {}
            Phase::Closed | Phase::Drained => {
                connected.send_replace(IngestStatus::Disconnected);
                tracing::info!("lost the connection to Slack");
            }
            _ => break,
        }
        if since.elapsed() < MIN_CONNECTION_LIFE {
            run_while_watching(standing.as_ref(), &connected, tokio::time::sleep(MIN_CONNECTION_LIFE)).await;
        }
    }
    connected.send_replace(IngestStatus::Disconnected);
    if let Some(last) = standing {
        last.close().await;
    }
    // They were told to stop at the same time.
    while leaving.join_next().await.is_some() {}
}

/// Runs `work` while the last connection, which Slack is closing, can still deliver events. Once it is gone, events are
/// missed; they are looked up after the next connection is open.
async fn run_while_watching<T>(
    last: Option<&Connection>,
    connected: &watch::Sender<IngestStatus>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    let Some(last) = last else { return work.await };
    tokio::select! {
        biased;
        () = last.wait_until_closed() => {}
        done = &mut work => return done,
    }
    connected.send_replace(IngestStatus::Disconnected);
    tracing::info!("the Slack connection closed before its replacement was ready");
    work.await
}

/// Lets the last connection deliver what is in transit, then closes it.
async fn drain_and_close(last: Connection, stop: CancellationToken) {
    tokio::select! {
        _ = last.wait_for_phase(Phase::Closed, DRAIN_TIMEOUT) => {}
        () = stop.cancelled() => {}
    }
    last.close().await;
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
