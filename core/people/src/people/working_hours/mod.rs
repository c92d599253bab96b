//! When a person works, as stored in Nod's settings: their zone, days and hours, the buffer that they want around
//! events, and how much notice. Only they see it; others learn free, busy, or "out of hours".

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

pub use form::{FIELDS, form_fields, parse};

/// What a person set, or the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingHours {
    /// The IANA name; `None`: as their platform reports.
    pub zone: Option<String>,
    /// The days on which they work.
    pub days: Vec<Weekday>,
    /// The start of work, in local time.
    pub from: Time,
    /// The end of work; if it is not later, on the next day.
    pub to: Time,
    /// The free time that they want around all their events, in minutes.
    pub buffer: i32,
    /// How long in advance they want to know, in minutes.
    pub notice: i32,
}

impl Default for WorkingHours {
    fn default() -> Self {
        let WeeklyHours { days, from, to, .. } = WeeklyHours::default_in(TimeZone::UTC);
        Self { zone: None, days, from, to, buffer: 0, notice: 0 }
    }
}

/// A person's working time, as [`nod_when::slots`] needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingTime {
    pub hours: WeeklyHours,
    /// Whether they set the zone or their platform reported it; otherwise it is UTC.
    pub is_zone_known: bool,
    pub buffer: SignedDuration,
    pub notice: SignedDuration,
}

impl WorkingHours {
    /// Returns the working time in their own zone, or in the one that the platform reports.
    fn resolve_working_time(&self, told: Option<&str>) -> WorkingTime {
        let named = self.zone.as_deref().or(told);
        let zone = named.and_then(|name| TimeZone::get(name).ok());
        let (zone_known, zone) = (zone.is_some(), zone.unwrap_or(TimeZone::UTC));
        let minutes = |minutes: i32| SignedDuration::from_mins(minutes.into());
        WorkingTime {
            hours: WeeklyHours { zone, days: self.days.clone(), from: self.from, to: self.to },
            is_zone_known: zone_known,
            buffer: minutes(self.buffer),
            notice: minutes(self.notice),
        }
    }
}

/// Returns the working times of the first [`MAX_PEOPLE`] people, in one query. Unknown people are left out.
pub async fn load_working_times(
    conn: &mut PgConnection,
    tenant: TenantId,
    people: &[PersonId],
) -> sqlx::Result<HashMap<PersonId, WorkingTime>> {
    let rows = sql::load_many(conn, tenant, &people[..people.len().min(MAX_PEOPLE)]).await?;
    Ok(rows
        .into_iter()
        .map(|(person, told, set)| (person, set.resolve_working_time(told.as_deref())))
        .collect())
}

/// Returns what one person set, and the zone that their platform reports.
pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<(WorkingHours, Option<String>)> {
    let mut rows = sql::load_many(conn, tenant, &[person]).await?;
    Ok(rows.pop().map(|(_, told, set)| (set, told)).unwrap_or_default())
}

/// Stores what they set, replacing earlier settings.
pub async fn save(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    settings: &WorkingHours,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::upsert(conn, tenant, person, settings, now).await
}

/// Returns 570 for 09:30.
fn minute(time: Time) -> i16 {
    i16::from(time.hour()) * 60 + i16::from(time.minute())
}

/// Returns 09:30 for 570.
fn time(minute: i16) -> Time {
    Time::midnight().wrapping_add(i64::from(minute).minutes())
}
