//! The form in which a person sets their working time, and the errors in what they typed.

use jiff::civil::{Time, Weekday};

use super::WorkingHours;
use nod_contract::card::{Field, FieldError};
use nod_when::when::zones;

/// The ids of its fields, in order.
pub const FIELDS: [&str; 5] = ["zone", "days", "hours", "buffer", "notice"];

const DAYS: [(&str, Weekday); 7] = [
    ("Mon", Weekday::Monday),
    ("Tue", Weekday::Tuesday),
    ("Wed", Weekday::Wednesday),
    ("Thu", Weekday::Thursday),
    ("Fri", Weekday::Friday),
    ("Sat", Weekday::Saturday),
    ("Sun", Weekday::Sunday),
];

/// A longer buffer around everything would leave no day, in minutes.
const MAX_BUFFER_MINUTES: i32 = 240;
/// Two weeks, in minutes.
const MAX_NOTICE_MINUTES: i32 = 14 * 24 * 60;

/// The longest input, in characters.
const MAX_INPUT_CHARS: usize = 60;

/// Returns the form, filled in with the current settings.
#[must_use]
pub fn form_fields(settings: &WorkingHours) -> Vec<Field> {
    let field = |id: &str, label: &str, value: String, optional: bool| Field {
        id: id.to_owned(),
        label: label.to_owned(),
        value,
        multiline: false,
        max_chars: MAX_INPUT_CHARS,
        optional,
        accepts_recipients: false,
    };
    let [zone, days, hours, buffer, notice] = FIELDS;
    let between = format!("{}-{}", settings.from.strftime("%H:%M"), settings.to.strftime("%H:%M"));
    vec![
        field(
            zone,
            "Time zone (empty: as in your chat profile)",
            settings.zone.clone().unwrap_or_default(),
            true,
        ),
        field(days, "Working days", days_text(&settings.days), false),
        field(hours, "Working hours", between, false),
        field(buffer, "Free minutes before and after meetings", settings.buffer.to_string(), true),
        field(notice, "Minutes of notice for a meeting", settings.notice.to_string(), true),
    ]
}

impl WorkingHours {
    /// "Mon–Fri 09:00–17:00".
    #[must_use]
    pub fn week(&self) -> String {
        let days = days_text(&self.days).replace('-', "–");
        format!("{days} {}–{}", self.from.strftime("%H:%M"), self.to.strftime("%H:%M"))
    }
}

/// "Mon-Fri", or "Mon, Wed".
fn days_text(days: &[Weekday]) -> String {
    let at: Vec<usize> = (0..7).filter(|at| days.contains(&DAYS[*at].1)).collect();
    match (at.first(), at.last()) {
        (Some(first), Some(last)) if at.len() > 2 && last - first + 1 == at.len() => {
            format!("{}-{}", DAYS[*first].0, DAYS[*last].0)
        }
        _ => at.iter().map(|at| DAYS[*at].0).collect::<Vec<_>>().join(", "),
    }
}

/// Parses what they typed, by the field's id.
///
/// # Errors
/// A sentence for each field that is wrong.
pub fn parse(typed: impl Fn(&str) -> String) -> Result<WorkingHours, Vec<FieldError>> {
    let long = |id: &&str| typed(id).chars().count() > MAX_INPUT_CHARS;
    let long: Vec<FieldError> = FIELDS
        .iter()
        .copied()
        .filter(long)
        .map(|id| FieldError::new(id, format!("{MAX_INPUT_CHARS} characters at most.")))
        .collect();
    if !long.is_empty() {
        return Err(long);
    }
    let zone = match typed("zone").trim() {
        "" => Ok(None),
        name => zones::find_zone(name)
            .map(|zone| Some(zone.iana_name().unwrap_or("UTC").to_owned()))
            .map_err(|unclear| FieldError::new("zone", unclear.message())),
    };
    let days =
        days(&typed("days")).ok_or_else(|| FieldError::new("days", "Use days like “Mon-Fri” or “Mon, Wed”."));
    let hours =
        hours(&typed("hours")).ok_or_else(|| FieldError::new("hours", "Use hours like “09:00-17:00”."));
    let minutes = |id: &'static str, most: i32| match typed(id).trim() {
        "" => Ok(0),
        typed => typed
            .parse()
            .ok()
            .filter(|minutes| (0..=most).contains(minutes))
            .ok_or_else(|| FieldError::new(id, format!("Use minutes, 0 to {most}."))),
    };
    match (zone, days, hours, minutes("buffer", MAX_BUFFER_MINUTES), minutes("notice", MAX_NOTICE_MINUTES)) {
        (Ok(zone), Ok(days), Ok((from, to)), Ok(buffer), Ok(notice)) => {
            Ok(WorkingHours { zone, days, from, to, buffer, notice })
        }
        (zone, days, hours, buffer, notice) => {
            let wrong = [zone.err(), days.err(), hours.err(), buffer.err(), notice.err()];
            Err(wrong.into_iter().flatten().collect())
        }
    }
}

/// Parses "Mon-Fri", "mon, wed", "Sunday to Thursday"; without duplicates, in the order of the week.
fn days(typed: &str) -> Option<Vec<Weekday>> {
    let typed = typed.to_lowercase().replace(['–', '—'], "-").replace(" to ", "-").replace(" and ", ",");
    let at = |name: &str| {
        let name = name.trim();
        let known = |(day, _): &(&str, Weekday)| name.starts_with(&day.to_lowercase()) && name.len() <= 9;
        DAYS.iter().position(known)
    };
    let mut on = [false; 7];
    for part in typed.split([',', ';']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (at(first)?, at(last)?);
        let span = (last + 7 - first) % 7;
        (0..=span).for_each(|step| on[(first + step) % 7] = true);
    }
    Some((0..7).filter(|at| on[*at]).map(|at| DAYS[at].1).collect())
}

/// Parses "09:00-17:00", "9-17", also past midnight.
fn hours(typed: &str) -> Option<(Time, Time)> {
    let typed = typed.replace(['–', '—'], "-").replace(" to ", "-");
    let (from, to) = typed.split_once('-')?;
    let (from, to) = (clock(from)?, clock(to)?);
    (from != to).then_some((from, to))
}

fn clock(typed: &str) -> Option<Time> {
    let (hour, minute) = typed.trim().split_once(':').unwrap_or((typed.trim(), "0"));
    let digits = |part: &str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    match (hour.parse().ok()?, minute.parse().ok()?) {
        (24, 0) => Some(Time::midnight()),
        (hour, minute) => Time::new(hour, minute, 0, 0).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_form(
        zone: &str,
        days: &str,
        hours: &str,
        buffer: &str,
        notice: &str,
    ) -> Result<WorkingHours, Vec<FieldError>> {
        let all = [("zone", zone), ("days", days), ("hours", hours), ("buffer", buffer), ("notice", notice)];
        parse(|id| all.iter().find(|(field, _)| *field == id).unwrap().1.to_owned())
    }

    #[test]
    fn form_fields_parse_back() {
        let night = parse_form("berlin", "Sun-Thu", "22-6:30", "10", "").unwrap();
        assert_eq!(night.zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(days_text(&night.days), "Mon, Tue, Wed, Thu, Sun");
        for settings in [WorkingHours::default(), night] {
            let shown = form_fields(&settings);
            assert!(shown.iter().map(|field| field.id.as_str()).eq(FIELDS));
            let again = parse(|id| shown.iter().find(|field| field.id == id).unwrap().value.clone());
            assert_eq!(again, Ok(settings));
        }
    }

    #[test]
    fn whole_days_end_at_midnight() {
        let late = parse_form("", "Mon, Wed and Friday", "16:00 – 24:00", "", "60").unwrap();
        assert_eq!((late.from, late.to), (Time::constant(16, 0, 0, 0), Time::midnight()));
        assert_eq!(days_text(&late.days), "Mon, Wed, Fri");
    }

    #[test]
    fn each_wrong_field_is_named_with_what_would_be_right() {
        let wrong = parse_form("Europe/Berln", "someday", "9-9", "-1", "a while").unwrap_err();
        let said: Vec<String> = wrong.iter().map(|e| format!("{}: {}", e.field, e.message)).collect();
        assert_eq!(
            said,
            [
                "zone: I don't know the time zone or city “Europe/Berln”. Did you mean Europe/Berlin, \
                 Europe/Dublin, Europe/Belgrade?",
                "days: Use days like “Mon-Fri” or “Mon, Wed”.",
                "hours: Use hours like “09:00-17:00”.",
                "buffer: Use minutes, 0 to 240.",
                "notice: Use minutes, 0 to 20160.",
            ]
        );
    }
}
