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

/// Whether what is heard is stored, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storing {
    /// Something waits to be stored; until it is, it must not be said that it was heard.
    pub waits: bool,
    /// How much was given up so far: it has to be looked up like anything that was missed.
    pub given_up: u64,
}

/// A platform that is heard, or one of the parts in which it is.
pub(crate) struct Hearing {
    pub(crate) nod: Nod,
    /// Its name in rows, and the workspace there.
    pub(crate) platform: &'static str,
    pub(crate) workspace: String,
    pub(crate) part: u32,
    pub(crate) ready: Platform,
}

impl Hearing {
    /// Tells on, for as long as it is polled.
    pub(crate) async fn keep(self, mut heard: watch::Receiver<Hears>, mut stored: watch::Receiver<Storing>) {
        let mut beat = tokio::time::interval(BEAT);
        let mut caught_up = None;
        let (mut told, mut stores) = (true, true);
        loop {
            let (hears, storing) = (*heard.borrow_and_update(), *stored.borrow_and_update());
            self.ready.connected(hears != Hears::No && !storing.waits);
            if let Some(time) = arrives(hears, storing) {
                let anew = caught_up != Some(time);
                match self.nod.hears(self.platform, &self.workspace, self.part, anew).await {
                    Ok(()) => caught_up = Some(time),
                    Err(error) => {
                        tracing::warn!(platform = self.platform, %error, "not written down that it is heard")
                    }
                }
            }
            tokio::select! {
                changed = heard.changed(), if told => told = changed.is_ok(),
                changed = stored.changed(), if stores => stores = changed.is_ok(),
                _ = beat.tick() => {}
            }
        }
    }
}

/// Since when all that is said arrives, by what has a number; `None` where that cannot be said now.
fn arrives(hears: Hears, storing: Storing) -> Option<(u64, u64)> {
    match hears {
        Hears::Since(time) if !storing.waits => Some((time, storing.given_up)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_not_heard_yet_and_what_was_given_up_is_to_be_looked_up() {
        let (hears, stored) = (Hears::Since(1), Storing::default());
        assert_eq!(arrives(hears, Storing { waits: true, given_up: 0 }), None);
        assert_eq!(arrives(Hears::Elsewhere, stored), None);
        let given_up = Storing { waits: false, given_up: 1 };
        assert_ne!(arrives(hears, stored), arrives(hears, given_up));
    }
}
