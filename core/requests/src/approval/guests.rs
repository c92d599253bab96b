//! The local times of an event for guests who are colleagues with a known zone and their own working hours. About the
//! hours a card says only “outside their working hours”.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use sqlx::PgConnection;

use super::display_limits::check_displayable;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::{EventDetails, Preview};
use nod_people::people::colleagues::{self, Colleague};
use nod_people::people::working_hours;
use nod_when::when;

/// The field with their times.
const FOR_GUESTS: &str = "For guests";
/// The maximum number of guests listed; a card is no timetable.
const MAX_LISTED_GUESTS: usize = 10;
/// The longest name, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Adds the guests' local times that differ from those of `reader` (whose name is `called`); returns the risk lines.
pub async fn add_guest_times(
    conn: &mut PgConnection,
    tenant: TenantId,
    preview: &mut Preview,
    reader: PersonId,
    called: &str,
) -> sqlx::Result<Vec<String>> {
    let Some(gathering) = &preview.event_details else { return Ok(Vec::new()) };
    let Some(here) = working_hours::load_working_times(conn, tenant, &[reader]).await?.remove(&reader) else {
        return Ok(Vec::new());
    };
    let mut known = colleagues::find_by_emails(conn, tenant, &gathering.guests).await?;
    let guests: Vec<Colleague> =
        gathering.guests.iter().filter_map(|guest| known.remove(&guest.to_lowercase())).collect();
    let guests: Vec<Colleague> = guests.into_iter().filter(|guest| guest.working.is_zone_known).collect();
    let mut risks = outside_working_hours(gathering, &guests);
    // Then “at noon” is noon in UTC, which might be noon for none of them.
    if !here.is_zone_known {
        risks
            .push(format!("I don't know the time zone of {called}, so times are in UTC. Set it in settings"));
    }
    if let Some(times) = local_times(gathering, &guests, &here.hours.zone) {
        let mut with = preview.clone();
        with.fields.retain(|(name, _)| name != FOR_GUESTS);
        let at =
            with.fields.iter().position(|(name, _)| name == "Guests").map_or(with.fields.len(), |at| at + 1);
        with.fields.insert(at, (FOR_GUESTS.to_owned(), times));
        // The request itself is shown in full; the local times are added only if there is room.
        if check_displayable(&with).is_ok() {
            *preview = with;
        }
    }
    Ok(risks)
}

/// Returns "Bo Stone 16:00–16:30 CET · Cho Li Sat 00:00–00:30 JST".
fn local_times(gathering: &EventDetails, guests: &[Colleague], reader: &TimeZone) -> Option<String> {
    let (here, _) = span_in_zone(gathering, reader);
    let elsewhere: Vec<String> = guests
        .iter()
        .filter_map(|guest| {
            let (from, to) = span_in_zone(gathering, &guest.working.hours.zone);
            let same = from.datetime() == here.datetime();
            (!same).then(|| format!("{} {}", name(guest), local(&from, &to, &here)))
        })
        .collect();
    join_names(&elsewhere, " · ")
}

/// Returns "Sat 00:00–00:30 JST", without the day if it is the reader's.
fn local(from: &Zoned, to: &Zoned, here: &Zoned) -> String {
    let day = |at: &Zoned, said: bool| if said { at.strftime("%a ").to_string() } else { String::new() };
    let long = to.duration_since(from) >= SignedDuration::from_hours(24);
    format!(
        "{}{}–{}{} {}",
        day(from, long || from.date() != here.date()),
        from.strftime("%H:%M"),
        day(to, long),
        to.strftime("%H:%M"),
        when::zone_label(to)
    )
}

fn outside_working_hours(gathering: &EventDetails, guests: &[Colleague]) -> Vec<String> {
    let mut lines: Vec<String> = guests
        .iter()
        .filter_map(|guest| {
            let (from, to) = span_in_zone(gathering, &guest.working.hours.zone);
            let there = from.strftime("%a %H:%M");
            (!guest.working.hours.is_within(&from, &to))
                .then(|| format!("{}: outside their working hours ({there} there)", name(guest)))
        })
        .collect();
    let more = lines.len().saturating_sub(MAX_LISTED_GUESTS);
    lines.truncate(MAX_LISTED_GUESTS);
    lines.extend((more > 0).then(|| format!("{more} more guests: outside their working hours")));
    lines
}

fn join_names(all: &[String], between: &str) -> Option<String> {
    let said = all.iter().take(MAX_LISTED_GUESTS).map(String::as_str).collect::<Vec<_>>().join(between);
    match all.len() {
        0 => None,
        many if many > MAX_LISTED_GUESTS => {
            Some(format!("{said}{between}and {} more", many - MAX_LISTED_GUESTS))
        }
        _ => Some(said),
    }
}

fn span_in_zone(gathering: &EventDetails, zone: &TimeZone) -> (Zoned, Zoned) {
    (when::to_jiff(gathering.from).to_zoned(zone.clone()), when::to_jiff(gathering.to).to_zoned(zone.clone()))
}

/// Returns the name on one line, at most as long as names can be.
pub(super) fn name(guest: &Colleague) -> String {
    let name = guest.name.split_whitespace().collect::<Vec<_>>().join(" ");
    name.chars().take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use nod_people::people::working_hours::WorkingTime;
    use nod_when::slots::WeeklyHours;

    fn guest(name: &str, zone: &str) -> Colleague {
        let working = WorkingTime {
            hours: WeeklyHours::default_in(TimeZone::get(zone).unwrap()),
            is_zone_known: true,
            buffer: SignedDuration::ZERO,
            notice: SignedDuration::ZERO,
        };
        Colleague { person: Uuid::nil().into(), name: name.to_owned(), working }
    }

    fn event(from: &str, to: &str) -> EventDetails {
        EventDetails { from: from.parse().unwrap(), to: to.parse().unwrap(), guests: Vec::new() }
    }

    #[test]
    fn local_times_are_shown_only_when_they_differ_from_the_readers() {
        let lisbon = TimeZone::get("Europe/Lisbon").unwrap();
        let all = [
            guest("Ana", "Europe/Lisbon"),
            guest("Bo\nStone", "Europe/Berlin"),
            guest("Cho Li", "Asia/Tokyo"),
            guest("Dee", "Europe/London"),
        ];
        let friday = event("2026-03-06T15:00:00Z", "2026-03-06T15:30:00Z");
        assert_eq!(
            local_times(&friday, &all, &lisbon).unwrap(),
            "Bo Stone 16:00–16:30 CET · Cho Li Sat 00:00–00:30 JST"
        );
        assert_eq!(
            outside_working_hours(&friday, &all),
            ["Cho Li: outside their working hours (Sat 00:00 there)"]
        );
        assert_eq!(local_times(&friday, &all[..1], &lisbon), None);
        let long = event("2026-03-06T15:00:00Z", "2026-03-07T15:00:00Z");
        assert_eq!(local_times(&long, &all[1..2], &lisbon).unwrap(), "Bo Stone Fri 16:00–Sat 16:00 CET");
    }

    #[test]
    fn long_guest_lists_are_counted() {
        let all = vec![guest("Cho", "Asia/Tokyo"); 12];
        let friday = event("2026-03-06T15:00:00Z", "2026-03-06T15:30:00Z");
        let said = local_times(&friday, &all, &TimeZone::UTC).unwrap();
        assert!(said.ends_with(" · and 2 more"), "{said}");
        let risks = outside_working_hours(&friday, &all);
        assert_eq!((risks.len(), risks[10].as_str()), (11, "2 more guests: outside their working hours"));
    }
}
