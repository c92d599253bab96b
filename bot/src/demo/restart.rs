//! Nod's own part of the demo: stopped and started again on the same database while the stage stays up, so that the
//! visitor sees what survives. All of it is one process; a real restart would be a new one.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::clock::Clock;
use nod_contract::ids::SystemIds;
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

/// Sent to the page unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct NodStatus {
    /// Whether it is ready.
    pub up: bool,
    /// How often it was stopped.
    pub stops: u32,
}

/// Stops and restarts Nod; for the page.
#[derive(Debug, Clone)]
pub(super) struct RestartControl {
    nod: watch::Sender<NodStatus>,
    restart_requested: Arc<Notify>,
}

impl RestartControl {
    pub(super) fn new() -> Self {
        Self { nod: watch::Sender::new(NodStatus { up: false, stops: 0 }), restart_requested: Arc::default() }
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
                if self.nod().stops == 0 {
                    handbook::keep(&database.pool, clock.now()).await?;
                    app.nod.wake();
                }
                tokio::select! {
                    // Work that does not finish in time is dropped with the app, like in a kill.
                    () = self.wait_for_restart(ready()) => drop(tokio::time::timeout(SHUTDOWN_TIMEOUT, app.stop()).await),
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
