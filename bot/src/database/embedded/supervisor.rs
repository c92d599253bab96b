//! Keeps one server running: a thread that starts it, restarts it if it exits by itself, and stops it gracefully on
//! request. The thread lives as long as the server, because the kernel ends the server with it.

use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::cluster::Server;
use super::process::signal;

/// How often a running server is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The delay between an exit and the next start.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a graceful stop can take, and then an immediate one.
const FAST_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);
const IMMEDIATE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    exit_message: Option<String>,
    pid: Option<u32>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps, or wakes early to stop. Returns whether to stop.
    fn sleep_or_stop(&self, length: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, length, |state| !state.stopping);
        waited.unwrap_or_else(PoisonError::into_inner).0.stopping
    }
}

impl Supervisor {
    pub(super) fn start(server: Server) -> Self {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || supervise(&server, &theirs))
            .map_err(|error| shared.lock().exit_message = Some(error.to_string()))
            .ok();
        Self { shared, thread }
    }

    /// Returns what the server logged when it last exited by itself; `None` while it runs.
    pub(super) fn exit_message(&self) -> Option<String> {
        self.shared.lock().exit_message.clone()
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> Option<u32> {
        self.shared.lock().pid
    }

    /// Stops the server and waits.
    pub(super) fn stop(mut self) {
        self.request_stop();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that ran the embedded database panicked");
        }
    }

    fn request_stop(&self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.request_stop();
    }
}

fn supervise(server: &Server, shared: &Shared) {
    loop {
        let said = match server.spawn() {
            Ok((child, log)) => {
                let mut state = shared.lock();
                state.pid = Some(child.id());
                drop(state);
                match watch(child, shared) {
                    WatchOutcome::Stopped => return,
                    WatchOutcome::Exited => log.last_lines(),
                }
            }
            Err(error) => error.to_string(),
        };
        let mut state = shared.lock();
        let first = state.exit_message.replace(said).is_none();
        state.pid = None;
        drop(state);
        if first {
            tracing::warn!("the embedded database exited; restarting it");
        }
        if shared.sleep_or_stop(PAUSE) {
            return;
        }
    }
}

enum WatchOutcome {
    Stopped,
    Exited,
}

fn watch(mut child: Child, shared: &Shared) -> WatchOutcome {
    let begun = Instant::now();
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            return WatchOutcome::Exited;
        }
        // A server that refuses to start exits within moments; one that still runs has started.
        if begun.elapsed() > Duration::from_secs(1) {
            shared.lock().exit_message = None;
        }
        if shared.sleep_or_stop(POLL_INTERVAL) {
            stop(&mut child);
            return WatchOutcome::Stopped;
        }
    }
}

/// Stops gracefully first (clients are disconnected, everything is written), then immediately (the next start
/// recovers).
fn stop(child: &mut Child) {
    for (how, patience) in
        [(Signal::SIGINT, FAST_SHUTDOWN_TIMEOUT), (Signal::SIGQUIT, IMMEDIATE_SHUTDOWN_TIMEOUT)]
    {
        if let Err(error) = signal(child, how) {
            tracing::warn!(%error, "could not signal the embedded database");
        }
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    tracing::error!("the embedded database did not stop; killing it");
    if let Err(error) = child.kill().and_then(|()| child.wait()) {
        tracing::error!(%error, "could not kill the embedded database");
    }
}
