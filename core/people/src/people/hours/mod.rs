//! When somebody works, as kept in Nod's settings: their zone, days and hours, what they want free around things, and
//! how early they want to know. Theirs alone to see; others learn free, busy, or "out of hours".

mod form;
mod sql;

use std::collections::HashMap;

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, ToSpan as _};
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_when::slots::{MAX_PEOPLE, WeeklyHours};

pub use form::{FIELDS, read, shown};

/// What somebody set, or would if they set nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// IANA's name; `None`: as their platform tells.
    pub zone: Option<String>,
    /// The days on which they work.
    pub days: Vec<Weekday>,
    /// From when, by their clocks.
    pub from: Time,
    /// Until when; where it is not later, on the day after.
    pub to: Time,
    /// What they want free around everything they have, in minutes.
    pub buffer: i32,
    /// How long before it they want to know, in minutes.
    pub notice: i32,
}

impl Default for Settings {
    fn default() -> Self {
        let WeeklyHours { days, from, to, .. } = WeeklyHours::default_in(TimeZone::UTC);
        Self { zone: None, days, from, to, buffer: 0, notice: 0 }
    }
}

/// Somebody's working time, ready for [`nod_when::slots`].
#[derive(Debug, Clone, PartialEq)]
pub struct Working {
    pub hours: WeeklyHours,
    /// Whether they or their platform told the zone; else UTC stands for it.
    pub zone_known: bool,
    pub buffer: SignedDuration,
    pub notice: SignedDuration,
}

impl Settings {
    /// In their own zone, or where the platform says they are.
    fn working(&self, told: Option<&str>) -> Working {
        let named = self.zone.as_deref().or(told);
        let zone = named.and_then(|name| TimeZone::get(name).ok());
        let (zone_known, zone) = (zone.is_some(), zone.unwrap_or(TimeZone::UTC));
        let minutes = |minutes: i32| SignedDuration::from_mins(minutes.into());
        Working {
            hours: WeeklyHours { zone, days: self.days.clone(), from: self.from, to: self.to },
            zone_known,
            buffer: minutes(self.buffer),
            notice: minutes(self.notice),
        }
    }
}

/// The working times of several people, in one query; of the first [`MAX_PEOPLE`]. Who is not known is left out.
pub async fn working(
    conn: &mut PgConnection,
    tenant: TenantId,
    people: &[PersonId],
) -> sqlx::Result<HashMap<PersonId, Working>> {
    let rows = sql::several(conn, tenant, &people[..people.len().min(MAX_PEOPLE)]).await?;
    Ok(rows.into_iter().map(|(person, told, set)| (person, set.working(told.as_deref()))).collect())
}

/// What one person set, and the zone that their platform tells.
pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<(Settings, Option<String>)> {
    let mut rows = sql::several(conn, tenant, &[person]).await?;
    Ok(rows.pop().map(|(_, told, set)| (set, told)).unwrap_or_default())
}

/// Keeps what they set in place of what was there.
pub async fn keep(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    settings: &Settings,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::keep(conn, tenant, person, settings, now).await
}

/// 09:30 is 570.
fn minute(time: Time) -> i16 {
    i16::from(time.hour()) * 60 + i16::from(time.minute())
}

/// 570 is 09:30.
fn time(minute: i16) -> Time {
    Time::midnight().wrapping_add(i64::from(minute).minutes())
}
