//! Whether a platform's events reach this replica. Reported to `/readyz` and to the core, which looks up missed
//! messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::clock::Timestamp;
use nod_inbox::Nod;
use tokio::sync::watch;

use crate::server::PlatformReadiness;

/// How often the ingest watermark is stored: after an absence the lookup goes back this much further.
const WATERMARK_INTERVAL: Duration = Duration::from_secs(20);

/// Whether a platform's events reach this replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IngestStatus {
    /// Not at the moment.
    #[default]
    Disconnected,
    /// Since the connection with this number: events between two numbers may have been missed.
    Receiving(u64),
    /// They reach another replica, and only one can receive them.
    OtherReplica,
}

impl IngestStatus {
    /// Starts a new connection number, unless connected already.
    pub(crate) fn begin_connection(now: &watch::Sender<Self>, times: &mut u64) {
        now.send_if_modified(|hears| {
            let anew = !matches!(hears, Self::Receiving(_));
            if anew {
                *times += 1;
                *hears = Self::Receiving(*times);
            }
            anew
        });
    }
}

/// Whether received events are also stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageStatus {
    /// An event waits to be stored; until it is, the ingest watermark must not advance.
    pub has_pending: bool,
    /// How many events were given up so far: they have to be looked up like any missed message.
    pub dropped_count: u64,
}

/// The number of a connection, and how many events were given up by then.
pub(crate) type Time = (u64, u64);

/// Whether Nod knows every earlier message of a platform at a given time, as far as this replica can tell.
#[derive(Clone)]
pub(crate) struct Whole {
    known: Arc<Mutex<Known>>,
    /// How long after a refusal the platform can deliver an event again, after later ones.
    redelivers: TimeDelta,
}

#[derive(Default)]
struct Known {
    parts: Vec<Part>,
    /// The times of the events that are being stored.
    under_way: Vec<Timestamp>,
    /// The time of the latest event that was not stored.
    refused: Option<Timestamp>,
}

struct Part {
    heard: watch::Receiver<IngestStatus>,
    stored: watch::Receiver<StorageStatus>,
    /// The connection for which the watermark is stored, so that everything missed before it will be looked up.
    written: watch::Receiver<Option<Time>>,
}

impl Whole {
    pub(crate) fn new(redelivers: TimeDelta) -> Self {
        Self { known: Arc::default(), redelivers }
    }

    /// Adds a part. Returns the sender that reports for which connection the watermark is stored.
    pub(crate) fn add_connection(
        &self,
        heard: &watch::Receiver<IngestStatus>,
        stored: &watch::Receiver<StorageStatus>,
    ) -> watch::Sender<Option<Time>> {
        let (written, known) = watch::channel(None);
        self.lock().parts.push(Part { heard: heard.clone(), stored: stored.clone(), written: known });
        written
    }

    /// Returns whether it holds for a message of that time. Missed messages that were recorded may not be looked up
    /// yet; the core knows that.
    pub(crate) fn holds(&self, at: Timestamp) -> bool {
        let known = self.lock();
        let brought_again = known.refused.is_some_and(|refused| at < refused + self.redelivers);
        let overtakes = known.under_way.iter().any(|said| *said <= at);
        !brought_again
            && !overtakes
            && !known.parts.is_empty()
            && known.parts.iter().all(Part::is_watermark_current)
    }

    /// Marks that an event of that time is about to be stored. If it is not stored, it counts as refused.
    pub(crate) fn begin_storing(&self, at: Timestamp) -> Begun {
        self.lock().under_way.push(at);
        Begun { whole: self.clone(), at, stored: false }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    fn is_watermark_current(&self) -> bool {
        let hears = *self.heard.borrow();
        let time = complete_since(hears, *self.stored.borrow());
        hears == IngestStatus::OtherReplica || time.is_some() && time == *self.written.borrow()
    }
}

/// See [`Whole::begin`].
pub(crate) struct Begun {
    whole: Whole,
    at: Timestamp,
    stored: bool,
}

impl Begun {
    pub(crate) fn stored(mut self) {
        self.stored = true;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut known = self.whole.lock();
        if let Some(own) = known.under_way.iter().position(|at| *at == self.at) {
            known.under_way.swap_remove(own);
        }
        if !self.stored {
            known.refused = known.refused.max(Some(self.at));
        }
    }
}

/// A connected platform, or one of its parts.
pub(crate) struct IngestMonitor {
    pub(crate) nod: Nod,
    /// Its name in rows, and its workspace.
    pub(crate) platform: &'static str,
    pub(crate) workspace: String,
    pub(crate) shard: u32,
    pub(crate) ready: PlatformReadiness,
    pub(crate) written: watch::Sender<Option<Time>>,
}

impl IngestMonitor {
    /// Reports the state for as long as it is polled.
    pub(crate) async fn run(
        self,
        mut heard: watch::Receiver<IngestStatus>,
        mut stored: watch::Receiver<StorageStatus>,
    ) {
        let mut beat = tokio::time::interval(WATERMARK_INTERVAL);
        let (mut told, mut stores) = (true, true);
        loop {
            let (hears, storing) = (*heard.borrow_and_update(), *stored.borrow_and_update());
            if let Some(time) = complete_since(hears, storing) {
                let anew = *self.written.borrow() != Some(time);
                match self.nod.record_ingest(self.platform, &self.workspace, self.shard, anew).await {
                    Ok(()) => drop(self.written.send_replace(Some(time))),
                    Err(error) => {
                        tracing::warn!(platform = self.platform, %error, "could not record the ingest time")
                    }
                }
            }
            let time = complete_since(hears, storing);
            self.ready.set_connected(
                hears == IngestStatus::OtherReplica || time.is_some() && time == *self.written.borrow(),
            );
            tokio::select! {
                changed = heard.changed(), if told => told = changed.is_ok(),
                changed = stored.changed(), if stores => stores = changed.is_ok(),
                _ = beat.tick() => {}
            }
        }
    }
}

/// Returns the connection since which all events arrive; `None` if they do not all arrive now.
fn complete_since(hears: IngestStatus, storing: StorageStatus) -> Option<Time> {
    match hears {
        IngestStatus::Receiving(time) if !storing.has_pending => Some((time, storing.dropped_count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_whole_before_it_is_written_down_or_after_something_was_refused() {
        let whole = Whole::new(TimeDelta::minutes(10));
        let (heard, hears) = watch::channel(IngestStatus::Receiving(1));
        let (_stored, storing) = watch::channel(StorageStatus::default());
        let at = Timestamp::default();
        assert!(!whole.holds(at));
        let written = whole.add_connection(&hears, &storing);
        assert!(!whole.holds(at));
        written.send_replace(Some((1, 0)));
        assert!(whole.holds(at));
        heard.send_replace(IngestStatus::Receiving(2));
        assert!(!whole.holds(at));
        written.send_replace(Some((2, 0)));
        let begun = whole.begin_storing(at);
        assert!(!whole.holds(at), "somebody's words are being stored");
        begun.stored();
        assert!(whole.holds(at));
        drop(whole.begin_storing(at));
        assert!(!whole.holds(at + TimeDelta::minutes(9)));
        assert!(whole.holds(at + TimeDelta::minutes(10)));
    }

    #[test]
    fn pending_events_hold_the_watermark_and_dropped_ones_reset_it() {
        let (hears, stored) = (IngestStatus::Receiving(1), StorageStatus::default());
        assert_eq!(complete_since(hears, StorageStatus { has_pending: true, dropped_count: 0 }), None);
        assert_eq!(complete_since(IngestStatus::OtherReplica, stored), None);
        let given_up = StorageStatus { has_pending: false, dropped_count: 1 };
        assert_ne!(complete_since(hears, stored), complete_since(hears, given_up));
    }
}
