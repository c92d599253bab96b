//! The production clock: the machine's, corrected by its offset from the database's. An undo window or an expiry that
//! one replica stored therefore ends at the same instant on every other. Reading the time never queries the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use nod_contract::clock::{Clock, SystemClock, Timestamp};
use sqlx::PgPool;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often the offset is measured. A machine's clock can be changed at any time; the old offset is used that long.
const EVERY: Duration = Duration::from_secs(30);
/// Round trips per measurement. The shortest one is the most accurate.
const TRIES: usize = 5;
/// A smaller difference is ignored: no deadline is finer, and the time advances evenly.
const SMALL: TimeDelta = TimeDelta::milliseconds(50);
/// The clock stops rather than going back, up to this much. A larger step back means that a wrong machine clock was
/// corrected; stopping for that long would be worse.
const STANDS_STILL: TimeDelta = TimeDelta::seconds(1);

/// The database's clock, read without a query.
#[derive(Debug)]
pub struct DatabaseClock<M = SystemClock> {
    machine: M,
    /// The database's time minus the machine's, in microseconds.
    offset: AtomicI64,
    /// The latest time that was returned, in microseconds since 1970.
    told: AtomicI64,
}

/// How far the database's clock is from a machine's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offset {
    /// The database's time minus the machine's.
    pub by: TimeDelta,
    /// The maximum error of the measurement: half of the round trip.
    pub within: TimeDelta,
}

impl DatabaseClock {
    /// Measures once, and then regularly until `stop`.
    ///
    /// # Errors
    /// If the database does not answer now. If it does not answer later, the offset stays unchanged.
    pub async fn follow(pool: &PgPool, stop: CancellationToken) -> sqlx::Result<Arc<Self>> {
        let clock = Arc::new(Self::measured(pool).await?);
        let (following, pool) = (clock.clone(), pool.clone());
        tokio::spawn(async move { stop.run_until_cancelled(following.remeasure_periodically(&pool)).await });
        Ok(clock)
    }

    /// Measures once, for a short command.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn measured(pool: &PgPool) -> sqlx::Result<Self> {
        Self::with_machine_clock(SystemClock, pool).await
    }
}

impl<M: Clock> DatabaseClock<M> {
    /// Measures once how far that clock is from the database's.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn with_machine_clock(machine: M, pool: &PgPool) -> sqlx::Result<Self> {
        let clock = Self::uncorrected(machine);
        clock.measure(pool).await?;
        Ok(clock)
    }

    fn uncorrected(machine: M) -> Self {
        Self { machine, offset: AtomicI64::new(0), told: AtomicI64::new(i64::MIN) }
    }

    async fn remeasure_periodically(&self, pool: &PgPool) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if let Err(error) = self.measure(pool).await {
                tracing::warn!(%error, "could not read the database's clock; keeping the offset");
            }
        }
    }

    /// Measures again.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn measure(&self, pool: &PgPool) -> sqlx::Result<()> {
        self.correct(offset(pool, &self.machine).await?);
        Ok(())
    }

    /// Adopts a measured offset if it differs from the current one by more than the measurement's error.
    fn correct(&self, seen: Offset) {
        let by = TimeDelta::microseconds(self.offset.load(Ordering::Relaxed));
        if (seen.by - by).abs() > seen.within.max(SMALL) {
            self.offset.store(micros(seen.by), Ordering::Relaxed);
            tracing::info!(
                milliseconds = seen.by.num_milliseconds(),
                "using the database's clock with this offset"
            );
        }
    }
}

impl<M: Clock> Clock for DatabaseClock<M> {
    fn now(&self) -> Timestamp {
        let machine = self.machine.now().timestamp_micros();
        let now = machine.saturating_add(self.offset.load(Ordering::Relaxed));
        let told = self.told.fetch_max(now, Ordering::Relaxed);
        let now = match told.saturating_sub(now) {
            back if back > micros(STANDS_STILL) && told > i64::MIN => {
                self.told.store(now, Ordering::Relaxed);
                now
            }
            _ => now.max(told),
        };
        DateTime::from_timestamp_micros(now).unwrap_or_else(|| self.machine.now())
    }
}

fn micros(time: TimeDelta) -> i64 {
    time.num_microseconds().unwrap_or_default()
}

/// Queries the database's time and assumes that it was read halfway through the round trip.
pub(crate) async fn offset(pool: &PgPool, machine: &impl Clock) -> sqlx::Result<Offset> {
    // Waiting for a connection is not part of the round trip.
    let mut connection = pool.acquire().await?;
    let mut best: Option<Offset> = None;
    for _ in 0..TRIES {
        let (before, begun) = (machine.now(), Instant::now());
        let theirs: DateTime<Utc> =
            sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut *connection).await?;
        let within = TimeDelta::from_std(begun.elapsed() / 2).unwrap_or(TimeDelta::MAX);
        let seen = Offset { by: theirs - (before + within), within };
        best = Some(best.filter(|best| best.within <= within).unwrap_or(seen));
    }
    best.ok_or(sqlx::Error::RowNotFound)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone)]
    struct Machine(Arc<Mutex<Timestamp>>);

    impl Clock for Machine {
        fn now(&self) -> Timestamp {
            self.0.lock().map_or(DateTime::UNIX_EPOCH, |now| *now)
        }
    }

    impl Machine {
        fn pass(&self, milliseconds: i64) {
            if let Ok(mut now) = self.0.lock() {
                *now += TimeDelta::milliseconds(milliseconds);
            }
        }
    }

    fn corrected() -> (Machine, DatabaseClock<Machine>) {
        let machine = Machine(Arc::new(Mutex::new(DateTime::UNIX_EPOCH)));
        (machine.clone(), DatabaseClock::uncorrected(machine))
    }

    fn offset_in_millis(by: i64, within: i64) -> Offset {
        Offset { by: TimeDelta::milliseconds(by), within: TimeDelta::milliseconds(within) }
    }

    fn at<M: Clock>(clock: &DatabaseClock<M>) -> i64 {
        clock.now().timestamp_millis()
    }

    #[test]
    fn what_is_measured_is_followed_and_the_error_of_it_is_not() {
        let (machine, clock) = corrected();
        clock.correct(offset_in_millis(40, 1));
        assert_eq!(at(&clock), 0);
        clock.correct(offset_in_millis(300, 400));
        assert_eq!(at(&clock), 0);
        clock.correct(offset_in_millis(30_000, 1));
        assert_eq!(at(&clock), 30_000);
        machine.pass(500);
        assert_eq!(at(&clock), 30_500);
        clock.correct(offset_in_millis(30_040, 1));
        assert_eq!(at(&clock), 30_500);
    }

    #[test]
    fn time_stands_still_rather_than_going_back_a_little() {
        let (machine, clock) = corrected();
        clock.correct(offset_in_millis(10_000, 1));
        assert_eq!(at(&clock), 10_000);
        clock.correct(offset_in_millis(9_200, 1));
        assert_eq!(at(&clock), 10_000);
        machine.pass(500);
        assert_eq!(at(&clock), 10_000);
        machine.pass(500);
        assert_eq!(at(&clock), 10_200);
    }

    #[test]
    fn a_clock_that_was_set_wrong_is_put_right() {
        let (machine, clock) = corrected();
        assert_eq!(at(&clock), 0);
        // The machine's clock is set an hour ahead; the next measurement corrects it.
        machine.pass(3_600_000);
        assert_eq!(at(&clock), 3_600_000);
        clock.correct(offset_in_millis(-3_600_000, 1));
        assert_eq!(at(&clock), 0);
        machine.pass(20);
        assert_eq!(at(&clock), 20);
    }
}
