//! Time, ids and randomness of a story. All are deterministic, and time passes only when the story says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::Ids;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A clock that moves only when the story advances it. It begins on Friday 6 March 2026, 09:30 UTC.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<Mutex<DateTime<Utc>>>);

impl Default for TestClock {
    fn default() -> Self {
        let begin = Utc.with_ymd_and_hms(2026, 3, 6, 9, 30, 0).single().unwrap_or_default();
        Self(Arc::new(Mutex::new(begin)))
    }
}

impl TestClock {
    /// Advances the clock.
    pub fn advance(&self, time: TimeDelta) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ids that count up, and secrets that are digests of the count.
#[derive(Debug, Default)]
pub struct TestIds(AtomicU64);

impl Ids for TestIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(
            (0x0195_0000_0000_7000_8000 << 48) | u128::from(self.0.fetch_add(1, Ordering::Relaxed)),
        )
    }

    fn secret(&self) -> [u8; 32] {
        Sha256::digest(self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes()).into()
    }
}
