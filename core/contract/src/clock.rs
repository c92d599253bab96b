//! Time as an argument.

use chrono::{DateTime, Utc};

/// Instants are UTC; zones enter only where a person reads a time.
pub type Timestamp = DateTime<Utc>;

/// Tells the time, so that a test can live through a week in a millisecond.
pub trait Clock: Send + Sync + 'static {
    /// The present instant, at most microseconds fine (what Postgres keeps).
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        use chrono::SubsecRound;
        Utc::now().trunc_subsecs(6)
    }
}
