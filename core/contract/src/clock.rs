//! Time as an explicit dependency.

use chrono::{DateTime, Utc};

/// Instants are in UTC; zones are applied only when a person reads a time.
pub type Timestamp = DateTime<Utc>;

/// Tells the time, so that a test can simulate a week in a millisecond.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current instant, to the microsecond at most (the precision of Postgres).
    fn now(&self) -> Timestamp;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        use chrono::SubsecRound;
        Utc::now().trunc_subsecs(6)
    }
}
