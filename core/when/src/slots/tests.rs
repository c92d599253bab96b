//! Weeks of made-up people, and properties of all of them.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{Attendee, Interval, Slot, SlotQuery, SlotQueryError, WeeklyHours, find_slots};

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn at(local: &str, name: &str) -> Timestamp {
    local.parse::<DateTime>().unwrap().to_zoned(zone(name)).unwrap().timestamp()
}

fn between(from: &str, to: &str, name: &str) -> Interval {
    Interval { from: at(from, name), to: at(to, name) }
}

fn person(name: &str, there: &str) -> Attendee {
    Attendee {
        name: name.to_owned(),
        hours: Some(WeeklyHours::default_in(zone(there))),
        busy: Vec::new(),
        buffer: SignedDuration::ZERO,
        notice: SignedDuration::ZERO,
    }
}

/// A query of a requester in Berlin: three one-hour slots in the week from Monday, 9 March, every half hour.
fn query() -> SlotQuery {
    SlotQuery {
        now: at("2026-03-06T12:00", "Europe/Berlin"),
        window: between("2026-03-09T00:00", "2026-03-14T00:00", "Europe/Berlin"),
        duration: SignedDuration::from_hours(1),
        step: SignedDuration::from_mins(30),
        preferred_start: None,
        zone: zone("Europe/Berlin"),
        limit: 3,
    }
}

#[test]
fn preferred_start_ignores_the_step() {
    let quarter_past = between("2026-03-10T15:15", "2026-03-10T16:15", "Europe/Berlin");
    let wish = SlotQuery { window: quarter_past, ..query() };
    assert!(find_and_format(&wish, &[person("Ana", "Europe/Berlin")]).is_empty());
    let named = SlotQuery { preferred_start: Some(quarter_past.from), ..wish };
    assert_eq!(find_and_format(&named, &[person("Ana", "Europe/Berlin")]), ["Tue 10 Mar 15:15–16:15"]);
}

fn format_slots(slots: &[Slot], name: &str) -> Vec<String> {
    let line = |slot: &Slot| {
        let (from, to) = (slot.from.to_zoned(zone(name)), slot.to.to_zoned(zone(name)));
        let off = if slot.out_of_hours.is_empty() {
            String::new()
        } else {
            format!(" !{}", slot.out_of_hours.join(","))
        };
        format!("{}–{}{off}", from.strftime("%a %-d %b %H:%M"), to.strftime("%H:%M"))
    };
    slots.iter().map(line).collect()
}

fn find_and_format(wish: &SlotQuery, people: &[Attendee]) -> Vec<String> {
    format_slots(&find_slots(wish, people).unwrap(), "Europe/Berlin")
}

#[test]
fn the_earliest_free_hours_come_first() {
    let mut ana = person("Ana", "Europe/Berlin");
    let bo = person("Bo", "Europe/Berlin");
    ana.busy = vec![between("2026-03-09T09:30", "2026-03-09T11:00", "Europe/Berlin")];
    assert_eq!(
        find_and_format(&query(), &[ana, bo]),
        ["Mon 9 Mar 11:00–12:00", "Mon 9 Mar 12:00–13:00", "Mon 9 Mar 13:00–14:00"]
    );
}

#[test]
fn each_person_has_their_own_hours() {
    // 09:00–17:00 in New York is 14:00–22:00 in Berlin that week: New York's clocks have changed, Berlin's have not.
    let people = [person("Ana", "Europe/Berlin"), person("Bo", "America/New_York")];
    assert_eq!(
        find_and_format(&query(), &people),
        ["Mon 9 Mar 14:00–15:00", "Mon 9 Mar 15:00–16:00", "Mon 9 Mar 16:00–17:00"]
    );
}

#[test]
fn slot_outside_hours_names_the_people_concerned() {
    let people =
        [person("Ana", "Europe/Berlin"), person("Bo", "America/New_York"), person("Cy", "Asia/Tokyo")];
    assert_eq!(
        find_and_format(&query(), &people),
        ["Mon 9 Mar 14:00–15:00 !Cy", "Mon 9 Mar 15:00–16:00 !Cy", "Mon 9 Mar 16:00–17:00 !Cy"]
    );
}

#[test]
fn buffer_applies_on_both_sides() {
    let mut ana = person("Ana", "Europe/Berlin");
    ana.buffer = SignedDuration::from_mins(15);
    ana.busy = vec![between("2026-03-09T10:00", "2026-03-09T11:00", "Europe/Berlin")];
    assert_eq!(find_and_format(&SlotQuery { limit: 1, ..query() }, &[ana]), ["Mon 9 Mar 11:30–12:30"]);
}

#[test]
fn notice_period_is_respected() {
    let mut ana = person("Ana", "Europe/Berlin");
    ana.notice = SignedDuration::from_hours(4 * 24);
    assert_eq!(find_and_format(&SlotQuery { limit: 1, ..query() }, &[ana]), ["Tue 10 Mar 12:00–13:00"]);
}

#[test]
fn unknown_hours_restrict_nothing() {
    let guest = Attendee { hours: None, ..person("Guest", "UTC") };
    assert_eq!(find_and_format(&SlotQuery { limit: 1, ..query() }, &[guest]), ["Mon 9 Mar 00:00–01:00"]);
}

#[test]
fn steps_follow_the_askers_clock() {
    let there = "Asia/Kathmandu";
    let wish = SlotQuery {
        zone: zone(there),
        window: between("2026-03-09T00:00", "2026-03-10T00:00", there),
        ..query()
    };
    let slots = find_slots(&wish, &[person("Ana", there)]).unwrap();
    assert_eq!(format_slots(&slots, there)[0], "Mon 9 Mar 09:00–10:00");
}

#[test]
fn night_work_goes_over_midnight_and_the_clocks_going_forward() {
    let night = WeeklyHours {
        days: vec![Weekday::Saturday],
        from: Time::constant(22, 0, 0, 0),
        to: Time::constant(6, 0, 0, 0),
        ..WeeklyHours::default_in(zone("Europe/Berlin"))
    };
    let ana = Attendee { hours: Some(night), ..person("Ana", "Europe/Berlin") };
    let wish = SlotQuery {
        window: between("2026-03-29T01:00", "2026-03-29T07:00", "Europe/Berlin"),
        duration: SignedDuration::from_hours(2),
        step: SignedDuration::from_hours(1),
        ..query()
    };
    // 02:00 does not exist that night, so two hours from 01:00 end at 04:00.
    assert_eq!(find_and_format(&wish, &[ana]), ["Sun 29 Mar 01:00–04:00", "Sun 29 Mar 04:00–06:00"]);
}

#[test]
fn invalid_query_is_rejected() {
    let many = vec![person("Ana", "UTC"); 51];
    assert_eq!(find_slots(&query(), &many), Err(SlotQueryError::TooManyPeople));
    let ends_first = SlotQuery { window: between("2026-03-10T00:00", "2026-03-09T00:00", "UTC"), ..query() };
    assert_eq!(find_slots(&ends_first, &[]), Err(SlotQueryError::Window));
    let long = SlotQuery { window: between("2026-03-10T00:00", "2026-06-09T00:00", "UTC"), ..query() };
    assert_eq!(find_slots(&long, &[]), Err(SlotQueryError::Window));
    assert_eq!(
        find_slots(&SlotQuery { duration: SignedDuration::ZERO, ..query() }, &[]),
        Err(SlotQueryError::Length)
    );
    assert_eq!(
        find_slots(&SlotQuery { step: SignedDuration::ZERO, ..query() }, &[]),
        Err(SlotQueryError::Step)
    );
}

const ZONES: &[&str] = &["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"];

proptest! {
    #[test]
    fn slot_is_free_for_everybody_and_reports_out_of_hours(
        start in 1_700_000_000_i64..1_900_000_000,
        days in 1_i64..62,
        lasts in 5_i64..600,
        step in 5_i64..120,
        people in prop::collection::vec(
            (0..ZONES.len(), prop::collection::vec((0_i64..62 * 1440, 1_i64..2000), 0..40), 0_i64..60), 0..6),
    ) {
        let base = Timestamp::from_second(start).unwrap();
        let minutes = SignedDuration::from_mins;
        let people: Vec<Attendee> = people.into_iter().enumerate().map(|(at, (there, busy, buffer))| Attendee {
            name: at.to_string(),
            busy: busy.into_iter().map(|(from, long)| {
                let from = base + minutes(from);
                Interval { from, to: from + minutes(long) }
            }).collect(),
            buffer: minutes(buffer),
            ..person("", ZONES[there])
        }).collect();
        let wish = SlotQuery {
            now: base,
            window: Interval { from: base, to: base + minutes(days * 1440) },
            duration: minutes(lasts),
            step: minutes(step),
            limit: 20,
            ..query()
        };
        let slots = find_slots(&wish, &people).unwrap();
        prop_assert!(slots.is_sorted_by_key(|slot| (slot.out_of_hours.len(), slot.from)));
        for slot in &slots {
            prop_assert!(slot.from >= base && slot.to <= wish.window.to);
            prop_assert_eq!(slot.to.duration_since(slot.from), wish.duration);
            for person in &people {
                for busy in &person.busy {
                    prop_assert!(busy.to + person.buffer <= slot.from || slot.to + person.buffer <= busy.from);
                }
                let hours = person.hours.as_ref().unwrap();
                let there = |at: Timestamp| at.to_zoned(hours.zone.clone());
                let works = hours.is_within(&there(slot.from), &there(slot.to));
                prop_assert_eq!(works, !slot.out_of_hours.contains(&person.name));
            }
        }
        for (one, other) in slots.iter().flat_map(|one| slots.iter().map(move |other| (one, other))) {
            prop_assert!(one == other || one.to <= other.from || other.to <= one.from);
        }
        prop_assert_eq!(find_slots(&wish, &people).unwrap(), slots);
    }
}
