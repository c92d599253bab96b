//! Time on several machines: each has a clock of its own, and undo windows, expiries and reminders follow the
//! database's. (All Nods of a story share its clock, so what follows from that is not played.)

use chrono::TimeDelta;
use nod_bot::database::DatabaseClock;
use nod_contract::clock::{Clock, SystemClock, Timestamp};
use nod_tests::TestDatabase;

/// A machine whose clock is off by this much.
struct Machine(TimeDelta);

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        SystemClock.now() + self.0
    }
}

#[tokio::test]
async fn machines_whose_clocks_differ_agree_on_the_time() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    let here = DatabaseClock::with_machine_clock(Machine(TimeDelta::seconds(-15)), &pool).await.unwrap();
    let there = DatabaseClock::with_machine_clock(Machine(TimeDelta::seconds(15)), &pool).await.unwrap();
    let apart = (here.now() - there.now()).abs();
    assert!(apart < TimeDelta::seconds(2), "{apart}");
}
