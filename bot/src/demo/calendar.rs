//! The entries of the company's calendars when the demo starts: every week's meetings, and some in the coming days. All
//! times are in the owner's time zone, and nothing is at weekends.

use chrono::{DateTime, Utc};
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use nod_sandbox::google::{Google, NewEvent};

use super::company::{self, OUTSIDER};
use Weekday::{Friday, Monday, Thursday, Tuesday, Wednesday};

/// When an event takes place.
enum EventDay {
    Weekly(&'static [Weekday]),
    /// The next such day, or today.
    Next(Weekday),
    /// Only if today is a working day.
    Today,
}

use EventDay::{Next, Today, Weekly};

#[derive(Default)]
struct SeedEvent {
    /// A handle or a full address; the same for guests.
    owner: &'static str,
    title: &'static str,
    /// "15:00–15:30", in the owner's time zone.
    time: &'static str,
    place: &'static str,
    /// Each with their response.
    guests: &'static [(&'static str, &'static str)],
    private: bool,
    free: bool,
}

const YES: &str = "accepted";
const TENTATIVE: &str = "tentative";
const NO: &str = "declined";

const WEEKDAYS: &[Weekday] = &[Monday, Tuesday, Wednesday, Thursday, Friday];

/// The working hours of Lisbon, Stockholm and New York overlap for two hours. Of these, Ana, Bo and Cho are busy for
/// half an hour on Mondays and Tuesdays, all of Wednesdays, none of Thursdays, and the middle of Fridays.
fn entries() -> [(EventDay, SeedEvent); 22] {
    let one = |whose, title, time| SeedEvent { owner: whose, title, time, ..SeedEvent::default() };
    [
        (Weekly(WEEKDAYS), SeedEvent { guests: &[("bo", YES)], ..one("ana", "Stand-up", "09:30–09:45") }),
        (Weekly(&[Tuesday, Thursday]), one("ana", "Focus: launch plan", "10:00–12:00")),
        (
            Weekly(&[Wednesday]),
            SeedEvent { guests: &[("dana", YES)], ..one("ana", "One to one", "11:00–11:30") },
        ),
        (
            Weekly(&[Friday]),
            SeedEvent {
                place: "Room Tejo",
                guests: &[("bo", YES), ("cho", YES)],
                ..one("ana", "Launch review", "14:30–15:30")
            },
        ),
        (Next(Thursday), SeedEvent { private: true, ..one("ana", "Dentist", "12:30–13:30") }),
        (
            Today,
            SeedEvent {
                place: "Room Tejo",
                guests: &[("bo", YES), ("cho", YES)],
                ..one("ana", "Launch check", "15:00–15:30")
            },
        ),
        (Weekly(&[Monday, Wednesday, Friday]), SeedEvent { free: true, ..one("bo", "A run", "12:00–13:00") }),
        (
            Weekly(&[Tuesday]),
            SeedEvent { place: "Room Mälaren", ..one("bo", "Release review", "15:00–15:30") },
        ),
        (
            Weekly(&[Wednesday]),
            SeedEvent { guests: &[("bob.stone", YES)], ..one("bo", "Design review", "15:00–17:00") },
        ),
        (Next(Tuesday), one("bo", "Hand over the old laptop", "09:30–10:00")),
        (Weekly(&[Monday]), one("cho", "Weekly sign-ups", "09:00–09:30")),
        (Weekly(&[Tuesday, Wednesday]), one("cho", "Customer calls", "13:00–14:30")),
        (
            Weekly(&[Thursday]),
            SeedEvent { guests: &[("bob.reyes", YES)], ..one("cho", "Lunch", "12:00–13:00") },
        ),
        (Next(Friday), SeedEvent { free: true, ..one("cho", "Works from home", "") }),
        (
            Next(Thursday),
            SeedEvent {
                place: "Front desk",
                guests: &[(OUTSIDER.0, YES), ("dana", TENTATIVE)],
                ..one("bob.stone", "Visit: Kim Vale, Northwind", "10:00–11:00")
            },
        ),
        (Weekly(&[Monday, Thursday]), one("bob.stone", "Calls with customers", "13:30–16:00")),
        (Next(Tuesday), SeedEvent { guests: &[("bo", NO)], ..one("bob.stone", "Noodles", "13:00–14:00") }),
        (
            Next(Tuesday),
            SeedEvent { guests: &[("bo", YES)], ..one("bob.reyes", "Pricing footnote", "08:30–09:00") },
        ),
        (Weekly(&[Tuesday, Friday]), one("bob.reyes", "Contracts", "10:00–12:00")),
        (Weekly(&[Monday]), one("dana", "Payroll and badges", "09:00–10:30")),
        (Next(Friday), one("dana", "Call the house in Sintra", "16:00–16:30")),
        (Next(Wednesday), one(OUTSIDER.0, "Lawyers: pilot contract", "11:00–12:00")),
    ]
}

/// Fills the calendars, as of `now`.
pub(super) fn seed_calendars(google: &Google, now: DateTime<Utc>) -> Result<(), String> {
    for (day, entry) in entries() {
        let account = address(entry.owner);
        let zone = TimeZone::get(company::zone(&account)).map_err(|error| error.to_string())?;
        let today = Timestamp::from_microsecond(now.timestamp_micros()).map_err(|error| error.to_string())?;
        let Some(first) = day.first_date(today.to_zoned(zone).date()) else { continue };
        let id = google.add_event(&account, &entry.to_event(first, day.rule())?)?;
        for (guest, answer) in entry.guests {
            if !google.respond_as(&address(guest), &id, answer) {
                return Err(format!("{guest} is not asked to “{}”", entry.title));
            }
        }
    }
    Ok(())
}

fn address(who: &str) -> String {
    if who.contains('@') { who.to_owned() } else { company::address(who) }
}

impl EventDay {
    /// Returns the first day; `None` if it does not take place.
    fn first_date(&self, today: Date) -> Option<Date> {
        let coming = |days: &[Weekday]| {
            let mut week = (0..7).filter_map(|more| today.checked_add(more.days()).ok());
            week.find(|day| days.contains(&day.weekday()))
        };
        match self {
            // From the Monday before, so the current week is complete.
            Self::Weekly(days) => {
                let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days());
                let since = days.iter().map(|day| day.to_monday_zero_offset()).min()?;
                monday.ok()?.checked_add(i64::from(since).days()).ok()
            }
            Self::Next(day) => coming(&[*day]),
            Self::Today => coming(WEEKDAYS).filter(|day| *day == today),
        }
    }

    /// Returns the rule as Calendar writes it (RFC 5545).
    fn rule(&self) -> Option<String> {
        let Self::Weekly(days) = self else { return None };
        let short = |day: &Weekday| {
            ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
                [usize::from(day.to_monday_zero_offset().unsigned_abs())]
        };
        Some(format!("RRULE:FREQ=WEEKLY;BYDAY={}", days.iter().map(short).collect::<Vec<_>>().join(",")))
    }
}

impl SeedEvent {
    fn to_event(&self, day: Date, rule: Option<String>) -> Result<NewEvent, String> {
        let (start, end) = match self.time.split_once('–') {
            Some((from, to)) => (format!("{day} {from}"), format!("{day} {to}")),
            None => (day.to_string(), day.tomorrow().map_err(|error| error.to_string())?.to_string()),
        };
        Ok(NewEvent {
            title: self.title.to_owned(),
            start,
            end,
            guests: self.guests.iter().map(|(guest, _)| address(guest)).collect(),
            location: self.place.to_owned(),
            recurrence: rule.into_iter().collect(),
            free: self.free,
            private: self.private,
            ..NewEvent::default()
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use jiff::Zoned;
    use nod_sandbox::google::GoogleConfig;

    use super::*;

    const THREE: [&str; 3] = ["ana", "bo", "cho"];

    fn chrono(at: &Zoned) -> DateTime<Utc> {
        DateTime::from_timestamp(at.timestamp().as_second(), 0).unwrap()
    }

    /// Everyone's calendars, as they are if the demo starts at `now`.
    async fn seeded_calendars(now: DateTime<Utc>) -> Google {
        let config = GoogleConfig {
            accounts: company::accounts(),
            clock: Arc::new(move || now),
            ..GoogleConfig::default()
        };
        let google = Google::start(config).await.unwrap();
        seed_calendars(&google, now).unwrap();
        google
    }

    fn works_at(who: &str, at: &Zoned) -> bool {
        let there = at.with_time_zone(TimeZone::get(company::zone(&company::address(who))).unwrap());
        (9..17).contains(&there.hour()) && there.weekday().to_monday_zero_offset() < 5
    }

    fn is_free(google: &Google, who: &str, from: &Zoned, to: &Zoned) -> bool {
        let there = google.events_between(&company::address(who), chrono(from), chrono(to));
        there.iter().all(|event| event.free || event.response(&company::address(who)) == Some(NO))
    }

    #[tokio::test]
    async fn on_whatever_day_it_starts_three_can_meet_the_week_after_but_not_at_any_time() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // In these weeks the clocks go back, in New York a week later than in Europe.
        let first: Zoned = "2026-10-17T12:00[Europe/Lisbon]".parse().unwrap();
        for start in (0..21).map(|days| first.checked_add(days.days()).unwrap()) {
            let google = seeded_calendars(chrono(&start)).await;
            let monday =
                start.date().nth_weekday(1, Monday).unwrap().to_zoned(start.time_zone().clone()).unwrap();
            let halves = (0..5 * 48).map(|half| monday.checked_add((30 * half).minutes()).unwrap());
            let end = |from: &Zoned| from.checked_add(45.minutes()).unwrap();
            let last = |from: &Zoned| from.checked_add(44.minutes()).unwrap();
            let working =
                |from: &Zoned| THREE.iter().all(|who| works_at(who, from) && works_at(who, &last(from)));
            let common: Vec<Zoned> = halves.filter(working).collect();
            let free =
                common.iter().filter(|from| THREE.iter().all(|who| is_free(&google, who, from, &end(from))));
            let free = free.count();
            assert!(free > 1 && free < common.len(), "{start}: {free} of {}", common.len());
        }
    }

    #[tokio::test]
    async fn nobody_has_an_appointment_at_a_weekend() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let saturday: Zoned = "2026-10-17T12:00[Europe/Lisbon]".parse().unwrap();
        let google = seeded_calendars(chrono(&saturday)).await;
        let end = saturday.checked_add(4.weeks()).unwrap();
        for account in company::accounts() {
            let zone = TimeZone::get(&account.time_zone).unwrap();
            let all = google.events_between(&account.email, chrono(&saturday), chrono(&end));
            // Who tries to trick Nod has mailboxes and no meetings.
            let has_calendar = ![company::SWINDLER.0, company::LOOT.0].contains(&account.email.as_str());
            assert_eq!(!all.is_empty(), has_calendar, "{}", account.email);
            for event in all {
                let start: Timestamp = event.start.to_rfc3339().parse().unwrap();
                let day = start.to_zoned(zone.clone()).weekday();
                assert!(
                    day.to_monday_zero_offset() < 5,
                    "{}: {} on {day:?}",
                    account.email,
                    event.describe_time()
                );
            }
        }
    }
}
