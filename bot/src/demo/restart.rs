//! Nod's own part of the demo: stopped, or dropped in the middle of its work, and started again on the same database while
//! the stage stays up, so that the visitor sees what survives. All of it is one process; a real restart would be a new
//! one, and a real kill ends one (the stories in `tests/stories/crash` do that).

use std::sync::Arc;
use std::time::Duration;

use nod_contract::clock::Clock;
use nod_contract::ids::SystemIds;
use nod_sandbox::Fault;
use nod_sandbox::google::Google;
use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::handbook;
use crate::app;
use crate::config::Config;
use crate::database::{self, Database, DatabaseClock};

/// Long enough to see that it is down, and to write to it meanwhile.
const DOWNTIME: Duration = Duration::from_secs(5);
/// Work in progress at a stop can finish within this; after it, it is aborted.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// The call in the middle of which Nod is killed: Gmail has sent the email, and Nod has not heard so.
const SEND: &str = "gmail.users.drafts.send";
const PAUSE: Duration = Duration::from_millis(20);

/// Sent to the page unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct NodStatus {
    /// Whether it is ready.
    pub up: bool,
    /// How often it was stopped.
    pub stops: u32,
    /// How often it was killed.
    pub kills: u32,
    /// Whether it will be killed while it sends the next email.
    pub is_armed: bool,
}

/// Stops and restarts Nod; for the page.
#[derive(Debug, Clone)]
pub(super) struct RestartControl {
    nod: watch::Sender<NodStatus>,
    restart_requested: Arc<Notify>,
    kill_requested: Arc<Notify>,
}

impl RestartControl {
    pub(super) fn new() -> Self {
        let nod = NodStatus { up: false, stops: 0, kills: 0, is_armed: false };
        Self {
            nod: watch::Sender::new(nod),
            restart_requested: Arc::default(),
            kill_requested: Arc::default(),
        }
    }

    pub(super) fn nod(&self) -> NodStatus {
        *self.nod.borrow()
    }

    /// Requests a restart of Nod; returns false if it is not up.
    pub(super) fn pull(&self) -> bool {
        let pulled = self.nod.send_if_modified(|nod| {
            let up = std::mem::take(&mut nod.up);
            nod.stops += u32::from(up);
            up
        });
        if pulled {
            self.restart_requested.notify_one();
        }
        pulled
    }

    /// Kills Nod as soon as Gmail has sent the next email; returns false if it is not up, or armed already.
    pub(super) fn arm(&self, google: &Google) -> bool {
        let armed = self.nod.send_if_modified(|nod| {
            let can = nod.up && !nod.is_armed;
            nod.is_armed |= can;
            can
        });
        if armed {
            let (control, faults) = (self.clone(), google.faults.clone());
            faults.next(SEND, Fault::HangAfter);
            tokio::spawn(async move {
                while faults.unused().iter().any(|planned| planned.starts_with(SEND)) {
                    tokio::time::sleep(PAUSE).await;
                }
                control.nod.send_modify(|nod| {
                    nod.up = false;
                    nod.is_armed = false;
                    nod.kills += 1;
                });
                control.kill_requested.notify_one();
            });
        }
        armed
    }

    /// Runs Nod until `stop`, again after each requested restart. `ready` resolves when Nod is ready.
    pub(super) async fn run<R: Future<Output = ()>>(
        &self,
        config: Config,
        stop: CancellationToken,
        ready: impl Fn() -> R,
    ) -> anyhow::Result<()> {
        let database = Database::open(&config).await?;
        let kept = async {
            database::migrate(&database.pool).await?;
            let clock = DatabaseClock::follow(&database.pool, stop.clone()).await?;
            while !stop.is_cancelled() {
                let (pool, ids) = (database.pool.clone(), Arc::new(SystemIds));
                let app = app::start(&config, pool, clock.clone(), ids, Vec::new()).await?;
                if self.nod().stops + self.nod().kills == 0 {
                    handbook::keep(&database.pool, clock.now()).await?;
                    app.nod.wake();
                }
                tokio::select! {
                    // Work that does not finish in time is dropped with the app, like in a kill.
                    () = self.wait_for_restart(ready()) => drop(tokio::time::timeout(SHUTDOWN_TIMEOUT, app.stop()).await),
                    () = self.kill_requested.notified() => drop(app),
                    () = stop.cancelled() => app.stop().await,
                }
                tokio::select! {
                    () = tokio::time::sleep(DOWNTIME) => {}
                    () = stop.cancelled() => {}
                }
            }
            Ok(())
        };
        let ended = kept.await;
        database.close().await;
        ended
    }

    async fn wait_for_restart(&self, ready: impl Future<Output = ()>) {
        ready.await;
        self.nod.send_modify(|nod| nod.up = true);
        self.restart_requested.notified().await;
    }
}
