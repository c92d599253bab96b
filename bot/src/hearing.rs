//! Whether what people do on a platform reaches this replica: told to `/readyz`, and to the core, which looks up
//! what was missed.

use std::time::Duration;

use nod_core::Nod;
use tokio::sync::watch;

use crate::server::Platform;

/// How often it is written down that events arrive: after an absence it is looked back so much further.
const BEAT: Duration = Duration::from_secs(20);

/// Whether a platform's events reach this replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hears {
    /// Not now.
    #[default]
    No,
    /// Since it began, for the so-manieth time: between two numbers something may have been missed.
    Since(u64),
    /// They reach another replica, and only one may hear them.
    Elsewhere,
}

impl Hears {
    /// Begins to hear, if it did not.
    pub(crate) fn begin(now: &watch::Sender<Self>, times: &mut u64) {
        now.send_if_modified(|hears| {
            let anew = !matches!(hears, Self::Since(_));
            if anew {
                *times += 1;
                *hears = Self::Since(*times);
            }
            anew
        });
    }
}

/// A platform that is heard.
pub(crate) struct Hearing {
    pub(crate) nod: Nod,
    /// Its name in rows, and the workspace there.
    pub(crate) platform: &'static str,
    pub(crate) workspace: String,
    pub(crate) ready: Platform,
}

impl Hearing {
    /// Tells on, for as long as it is polled.
    pub(crate) async fn keep(self, mut heard: watch::Receiver<Hears>) {
        let mut beat = tokio::time::interval(BEAT);
        let mut caught_up = None;
        let mut told = true;
        loop {
            let hears = *heard.borrow_and_update();
            self.ready.connected(hears != Hears::No);
            if let Hears::Since(time) = hears {
                let anew = caught_up != Some(time);
                match self.nod.hears(self.platform, &self.workspace, anew).await {
                    Ok(()) => caught_up = Some(time),
                    Err(error) => {
                        tracing::warn!(platform = self.platform, %error, "not written down that it is heard")
                    }
                }
            }
            tokio::select! {
                changed = heard.changed(), if told => told = changed.is_ok(),
                _ = beat.tick() => {}
            }
        }
    }
}
