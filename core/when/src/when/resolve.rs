//! Resolves a parsed phrase to instants: builds all readings, and returns choices if more than one is left.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Zoned};

use super::dates::{self, DateReadings, Range};
use super::parse::ParsedPhrase;
use super::time_of_day::{self, SpokenHours};
use super::zones::NamedZone;
use super::{ResolvedTime, TimeError, TimeSpec, format};
use nod_contract::clock::Timestamp;
use nod_contract::tool::Choice;

/// The longest duration, in minutes: a fortnight.
pub(super) const MAX_DURATION_MINUTES: i64 = 14 * 24 * 60;

/// Years around the current one that are accepted: no plan reaches further.
const AHEAD: i16 = 10;
const BACK: i16 = 60;

/// Before this hour it is still the night of the previous day.
const NIGHT_ENDS: i8 = 5;

/// The most choices that are shown.
const MAX_CHOICES: usize = 6;

/// Hours on the calendar, before a zone is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CivilTime {
    At(DateTime),
    Span(DateTime, DateTime),
    Within(DateTime, DateTime),
    Day(Date),
    Days(Date, Date),
}

/// One reading of a phrase.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    civil: CivilTime,
    zone: TimeZone,
    /// Distinguishes its button from the others: "India".
    hint: Option<String>,
}

impl Reading {
    pub(super) fn at(civil: DateTime, zone: &TimeZone) -> Self {
        Self { civil: CivilTime::At(civil), zone: zone.clone(), hint: None }
    }
}

/// Resolves a parsed phrase in the zone of `now`.
pub(super) fn resolve_phrase(heard: &ParsedPhrase, now: &Zoned) -> Result<ResolvedTime, TimeError> {
    let today = now.date();
    if let Some(minutes) = heard.from_now {
        return from_now(heard, minutes, now);
    }
    let dates = days(heard, today)?;
    for range in &dates.readings {
        let (Range::Day(date) | Range::Days(date, _) | Range::Within(date, _)) = range;
        check_range(*date, now)?;
    }
    let zones = zones(heard, now)?;
    let (civils, mut why) = civil_times(heard, &dates.readings)?;
    let mut readings = readings(&civils, &zones.0);
    if let Some(why) = dates.no_such_day {
        let near = readings.iter().flat_map(|reading| expand(reading).0);
        let choices = choices(near.filter(|(said, _)| !is_over(said, now)).collect(), now);
        return Err(with_duration(TimeError::NoSuchDay { message: why, choices }, heard.duration));
    }
    if let Some(NamedZone::Letters { offset, .. }) = &heard.zone {
        seasonal(&mut readings, *offset);
        why = why
            .or_else(|| Some("That zone abbreviation is for the other half of the year there.".to_owned()));
    }
    let why = dates.why.clone().or(zones.1).or(why);
    let said = single_or_ambiguous(readings, now, dates.is_past).map_err(|unclear| match unclear {
        TimeError::Ambiguous { choices, message: general } => {
            TimeError::Ambiguous { choices, message: why.unwrap_or(general) }
        }
        TimeError::Past { resolved: was, message: why, .. } => {
            let was = Box::new(was.with_duration(heard.duration));
            TimeError::Past {
                resolved: was,
                message: why,
                choices: future_alternatives(heard, &dates, &zones.0, now),
            }
        }
        other => other,
    });
    let assumed = [dates.assumption, clock_assumption(heard)].into_iter().flatten().collect::<Vec<_>>();
    let assumed = (!assumed.is_empty()).then(|| assumed.join("; "));
    match said {
        Ok(said) => Ok(ResolvedTime {
            assumption: assumed,
            ..said.in_own_zone(now.time_zone()).with_duration(heard.duration)
        }),
        Err(unclear) => Err(with_duration(unclear, heard.duration)),
    }
}

/// Adds the duration: a choice replaces the whole phrase.
pub(super) fn with_duration(mut unclear: TimeError, lasts: Option<SignedDuration>) -> TimeError {
    let Some(lasts) = lasts else { return unclear };
    if let TimeError::NoSuchDay { choices, .. }
    | TimeError::SkippedHour { choices, .. }
    | TimeError::RepeatedHour { choices, .. }
    | TimeError::Ambiguous { choices, .. }
    | TimeError::Past { choices, .. } = &mut unclear
    {
        for choice in choices {
            choice.value.push_str(&format!(" for {} minutes", lasts.as_mins()));
        }
    }
    unclear
}

fn from_now(heard: &ParsedPhrase, minutes: i64, now: &Zoned) -> Result<ResolvedTime, TimeError> {
    if heard.day.is_some() || heard.weekday.is_some() || heard.hours.is_some() || heard.part.is_some() {
        return Err(TimeError::not_understood("That gives two different times."));
    }
    let whole = now.with().second(0).subsec_nanosecond(0).build().map_err(out_of_range)?;
    let at = whole.checked_add(SignedDuration::from_mins(minutes)).map_err(out_of_range)?;
    check_range(at.date(), now)?;
    Ok(ResolvedTime::from(TimeSpec::At(at)).with_duration(heard.duration))
}

/// Returns the days of the phrase, or today. A weekday next to a date must be that date's.
fn days(heard: &ParsedPhrase, today: Date) -> Result<DateReadings, TimeError> {
    let Some(day) = &heard.day else {
        if heard.hours.is_none() && heard.part.is_none() && !heard.all_day {
            return Err(TimeError::not_understood("I can't tell when that is."));
        }
        return dates::dates(&dates::DayPhrase::From(0), today);
    };
    let mut dates = dates::dates(day, today)?;
    let Some(weekday) = heard.weekday.filter(|_| dates.no_such_day.is_none()) else { return Ok(dates) };
    let fits = |range: &Range| matches!(range, Range::Day(date) if date.weekday() == weekday);
    if !dates.readings.iter().any(fits) {
        // "Fri 6 Mar" of another year.
        if let Some(other) = dates.alternatives.iter().find(|date| date.weekday() == weekday) {
            dates.readings = vec![Range::Day(*other)];
            return Ok(dates);
        }
        return weekday_mismatch_readings(&dates, weekday, today);
    }
    dates.readings.retain(fits);
    dates.alternatives.retain(|date| date.weekday() == weekday);
    Ok(dates)
}

fn weekday_mismatch_readings(
    dates: &DateReadings,
    weekday: Weekday,
    today: Date,
) -> Result<DateReadings, TimeError> {
    let Some(Range::Day(date)) = dates.readings.first() else {
        return Err(TimeError::not_understood("That gives two different days."));
    };
    let after = date.nth_weekday(1, weekday).map_err(out_of_range)?;
    let before = date.nth_weekday(-1, weekday).map_err(out_of_range)?;
    let mut readings = vec![Range::Day(*date)];
    readings.extend([before, after].into_iter().filter(|near| *near >= today).map(Range::Day));
    let why = format!("{} is a {}.", date.strftime("%-d %B %Y"), date.strftime("%A"));
    Ok(DateReadings { readings, why: Some(why), is_past: true, ..DateReadings::default() })
}

type Zones = (Vec<(TimeZone, Option<String>)>, Option<String>);

fn zones(heard: &ParsedPhrase, now: &Zoned) -> Result<Zones, TimeError> {
    Ok(match &heard.zone {
        None => (vec![(now.time_zone().clone(), None)], None),
        Some(NamedZone::Place(zone) | NamedZone::Letters { place: zone, .. }) => {
            (vec![(zone.clone(), None)], None)
        }
        Some(NamedZone::Either(letters, places)) => {
            let all = places.iter().map(|(zone, place)| (zone.clone(), Some((*place).to_owned()))).collect();
            (all, Some(format!("{letters} is used in more than one place.")))
        }
    })
}

fn readings(civils: &[CivilTime], zones: &[(TimeZone, Option<String>)]) -> Vec<Reading> {
    let of = |civil: &CivilTime| {
        let civil = *civil;
        zones.iter().map(move |(zone, hint)| Reading { civil, zone: zone.clone(), hint: hint.clone() })
    };
    civils.iter().flat_map(of).collect()
}

/// For "3pm CET" in July, adds the reading by CET's own offset to that by Berlin's clocks.
fn seasonal(readings: &mut Vec<Reading>, offset: jiff::tz::Offset) {
    let strict = TimeZone::fixed(offset);
    let other = |reading: &Reading| {
        let (CivilTime::At(at) | CivilTime::Span(at, _) | CivilTime::Within(at, _)) = reading.civil else {
            return None;
        };
        let there = reading.zone.to_ambiguous_zoned(at).compatible().ok()?;
        (there.offset() != offset).then(|| Reading { zone: strict.clone(), ..reading.clone() })
    };
    let more: Vec<Reading> = readings.iter().filter_map(other).collect();
    readings.extend(more);
}

fn clock_assumption(heard: &ParsedPhrase) -> Option<String> {
    match heard.hours? {
        SpokenHours::At(clock) | SpokenHours::After(clock) | SpokenHours::Before(clock) => {
            clock.assumption(heard.part)
        }
        SpokenHours::Range(from, to) | SpokenHours::Between(from, to)
            if to.half == time_of_day::DayHalf::Unspecified =>
        {
            from.assumption(heard.part)
        }
        SpokenHours::EndOfDay => Some("End of the day: I took 17:00".to_owned()),
        _ => None,
    }
}

/// Returns all hours on all days, and why there are several.
fn civil_times(
    heard: &ParsedPhrase,
    ranges: &[Range],
) -> Result<(Vec<CivilTime>, Option<String>), TimeError> {
    let hours = heard.hours.is_some() || heard.part.is_some();
    if !hours || heard.all_day {
        if heard.hours.is_some() {
            return Err(TimeError::not_understood("That says both an hour and all day."));
        }
        let whole = |range: &Range| match *range {
            Range::Day(day) => CivilTime::Day(day),
            Range::Days(first, last) => CivilTime::Days(first, last),
            Range::Within(first, end) if heard.all_day => {
                CivilTime::Days(first, end.yesterday().unwrap_or(first))
            }
            Range::Within(first, end) => CivilTime::Within(midnight(first), midnight(end)),
        };
        return Ok((ranges.iter().map(whole).collect(), None));
    }
    let mut all = Vec::new();
    let mut why = None;
    for range in ranges {
        let days = match *range {
            Range::Day(day) => vec![day],
            Range::Within(first, end) => {
                why = Some("I can't tell which day that is.".to_owned());
                working_days(first, end).ok_or_else(|| TimeError::not_understood("Which day?"))?
            }
            Range::Days(..) => return Err(TimeError::not_understood("Give me one day with those hours.")),
        };
        for day in days {
            let (civil, asked) = civil_times_on(heard, day)?;
            why = why.or(asked);
            all.extend(civil);
        }
    }
    Ok((all, why))
}

/// Returns the working days of a week, or both days of a weekend.
fn working_days(first: Date, end: Date) -> Option<Vec<Date>> {
    let days: Vec<Date> =
        first.series(jiff::Span::new().days(1)).take_while(|day| *day < end).take(8).collect();
    match days.len() {
        2 => Some(days),
        7 => Some(days.into_iter().take(5).collect()),
        _ => None,
    }
}

fn civil_times_on(heard: &ParsedPhrase, day: Date) -> Result<(Vec<CivilTime>, Option<String>), TimeError> {
    let next = day.tomorrow().map_err(out_of_range)?;
    let part = heard.part;
    let Some(hours) = heard.hours else {
        let Some(part) = part else { return Ok((vec![CivilTime::Day(day)], None)) };
        let (from, to) = part.hours();
        let to = if to == 24 { midnight(next) } else { day.at(to, 0, 0, 0) };
        return Ok((vec![CivilTime::Within(day.at(from, 0, 0, 0), to)], None));
    };
    let each = |clock: time_of_day::ClockTime, make: &dyn Fn(DateTime) -> Option<CivilTime>| {
        let times = clock.candidate_times(part);
        let asked = (times.len() > 1).then(|| clock.am_pm_question());
        (times.into_iter().filter_map(|time| make(day.to_datetime(time))).collect(), asked)
    };
    let both = |from, to, make: fn(DateTime, DateTime) -> CivilTime| {
        let all = time_of_day::range(from, to, part)?;
        let asked = (all.len() > 1).then(|| from.am_pm_question());
        let civil = |(from, to, over): time_of_day::ClockSpan| {
            make(day.to_datetime(from), if over { next } else { day }.to_datetime(to))
        };
        Ok((all.into_iter().map(civil).collect(), asked))
    };
    Ok(match hours {
        // The small hours of a night are on the next day.
        SpokenHours::At(clock) if part == Some(time_of_day::Part::Night) => each(clock, &|at| {
            let at = if at.hour() < NIGHT_ENDS { next.to_datetime(at.time()) } else { at };
            Some(CivilTime::At(at))
        }),
        SpokenHours::At(clock) => each(clock, &|at| Some(CivilTime::At(at))),
        SpokenHours::After(clock) => each(clock, &|at| Some(CivilTime::Within(at, midnight(next)))),
        SpokenHours::Before(clock) => {
            each(clock, &|at| (at > midnight(day)).then(|| CivilTime::Within(midnight(day), at)))
        }
        SpokenHours::Range(from, to) => both(from, to, CivilTime::Span)?,
        SpokenHours::Between(from, to) => both(from, to, CivilTime::Within)?,
        SpokenHours::Either(told, (from, to)) => {
            let (mut all, _) = each(told, &|at| Some(CivilTime::At(at)));
            let spans = both(from, to, CivilTime::Span).map(|(spans, _)| spans).unwrap_or_default();
            all.extend(
                spans.into_iter().filter(|span| matches!(span, CivilTime::Span(_, to) if to.date() == day)),
            );
            (all, Some("That could be one time before the hour, or from one hour to the other.".to_owned()))
        }
        SpokenHours::EndOfDay => (vec![CivilTime::At(day.at(17, 0, 0, 0))], None),
        SpokenHours::Midnight if matches!(heard.day, None | Some(dates::DayPhrase::From(0))) => {
            (vec![CivilTime::At(midnight(next))], None)
        }
        SpokenHours::Midnight => {
            let why = "Midnight could be at the start of that day or the end.".to_owned();
            (vec![CivilTime::At(midnight(day)), CivilTime::At(midnight(next))], Some(why))
        }
    })
}

fn midnight(day: Date) -> DateTime {
    day.to_datetime(Time::midnight())
}

/// Returns the choices if the time has passed.
fn future_alternatives(
    heard: &ParsedPhrase,
    dates: &DateReadings,
    zones: &[(TimeZone, Option<String>)],
    now: &Zoned,
) -> Vec<Choice> {
    // The afternoon of the same day, if neither am nor pm was given.
    let late = match heard.hours {
        Some(SpokenHours::At(clock))
            if clock.half == time_of_day::DayHalf::Unspecified && clock.hour < 12 =>
        {
            Some(SpokenHours::At(time_of_day::ClockTime { half: time_of_day::DayHalf::Pm, ..clock }))
        }
        _ => None,
    };
    let mut all = Vec::new();
    if let Some(hours) = late
        && let Ok((civils, _)) =
            civil_times(&ParsedPhrase { hours: Some(hours), ..heard.clone() }, &dates.readings)
    {
        let said = readings(&civils, zones).into_iter().flat_map(|reading| expand(&reading).0);
        all.extend(said.filter(|(said, _)| !is_over(said, now)));
    }
    let days: Vec<Range> = dates.alternatives.iter().map(|day| Range::Day(*day)).collect();
    if let Ok((civils, _)) = civil_times(heard, &days) {
        all.extend(readings(&civils, zones).into_iter().flat_map(|reading| expand(&reading).0));
    }
    choices(all, now)
}

type LabelledTime = (ResolvedTime, Option<String>);

/// Returns the only reading left, or choices.
pub(super) fn single_or_ambiguous(
    readings: Vec<Reading>,
    now: &Zoned,
    back: bool,
) -> Result<ResolvedTime, TimeError> {
    let several = readings.len() > 1;
    let mut odd = None;
    let mut all: Vec<LabelledTime> = Vec::new();
    for reading in &readings {
        let (said, how) = expand(reading);
        odd = odd.or(how);
        for (said, hint) in said {
            if !all.iter().any(|(other, _)| is_same_instant(other, &said)) {
                all.push((said, hint));
            }
        }
    }
    if !back && all.iter().any(|(said, _)| !is_over(said, now)) {
        all.retain(|(said, _)| !is_over(said, now));
    }
    if all.len() == 1 && odd.as_ref().is_none_or(|(gap, _)| !*gap) {
        let said = all.swap_remove(0).0;
        if back || !is_over(&said, now) {
            return Ok(said);
        }
        let why = format!("{} has passed.", said.format(zone_of(&said, now), timestamp(now)));
        return Err(TimeError::Past { message: why, resolved: Box::new(said), choices: Vec::new() });
    }
    if all.is_empty() {
        return Err(TimeError::not_understood("That's too far away, or it ends before it starts."));
    }
    if all.iter().all(|(said, _)| is_over(said, now)) && !back {
        let was = all[0].0.clone();
        let why = format!("{} has passed.", was.format(zone_of(&was, now), timestamp(now)));
        return Err(TimeError::Past { message: why, resolved: Box::new(was), choices: choices(all, now) });
    }
    let choices = choices(all, now);
    Err(match odd {
        Some((true, why)) if !several => TimeError::SkippedHour { message: why, choices },
        Some((false, why)) if !several => TimeError::RepeatedHour { message: why, choices },
        _ => TimeError::Ambiguous { message: "That could mean more than one time.".to_owned(), choices },
    })
}

/// Compares the instants; their zones can differ.
fn is_same_instant(one: &ResolvedTime, other: &ResolvedTime) -> bool {
    one.time == other.time
}

fn zone_of<'a>(said: &'a ResolvedTime, now: &'a Zoned) -> &'a TimeZone {
    match &said.time {
        TimeSpec::At(at) => at.time_zone(),
        TimeSpec::Span { from, .. } | TimeSpec::Within { from, .. } => from.time_zone(),
        TimeSpec::Day(_) | TimeSpec::Days { .. } => now.time_zone(),
    }
}

fn choices(all: Vec<LabelledTime>, now: &Zoned) -> Vec<Choice> {
    let choice = |(said, hint): LabelledTime| {
        let label = said.format(zone_of(&said, now), timestamp(now));
        let label = match hint {
            Some(hint) => format!("{label} ({hint})"),
            None => label,
        };
        Choice { label, value: said.to_parseable_text() }
    };
    all.into_iter().take(MAX_CHOICES).map(choice).collect()
}

fn timestamp(now: &Zoned) -> Timestamp {
    Timestamp::from_timestamp_micros(now.timestamp().as_microsecond()).unwrap_or_default()
}

fn is_over(said: &ResolvedTime, now: &Zoned) -> bool {
    match &said.time {
        TimeSpec::At(at) => at < now && !at_this_minute(at, now),
        TimeSpec::Span { to, .. } | TimeSpec::Within { to, .. } => to <= now,
        TimeSpec::Day(day) | TimeSpec::Days { last: day, .. } => *day < now.date(),
    }
}

fn at_this_minute(at: &Zoned, now: &Zoned) -> bool {
    now.timestamp().duration_since(at.timestamp()) < SignedDuration::from_mins(1)
}

/// Returns the times of a reading: two if the clocks change then, with `true` if they skip it.
fn expand(reading: &Reading) -> (Vec<LabelledTime>, Option<(bool, String)>) {
    let zone = &reading.zone;
    let label = |when: TimeSpec| (ResolvedTime::from(when), reading.hint.clone());
    match reading.civil {
        CivilTime::Day(day) => (vec![label(TimeSpec::Day(day))], None),
        CivilTime::Days(first, last) => (vec![label(TimeSpec::Days { first, last })], None),
        CivilTime::Within(from, to) => {
            // The ends of a range are not exact to the minute.
            let ends = |at: DateTime| zone.to_ambiguous_zoned(at).compatible().ok();
            let when = ends(from).zip(ends(to)).filter(|(from, to)| from < to);
            (when.map(|(from, to)| label(TimeSpec::Within { from, to })).into_iter().collect(), None)
        }
        CivilTime::At(at) => {
            let (at, odd) = instants(at, zone);
            (at.into_iter().map(|at| label(TimeSpec::At(at))).collect(), odd)
        }
        CivilTime::Span(from, to) => {
            let ((from, odd), (to, too)) = (instants(from, zone), instants(to, zone));
            let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (from.clone(), to.clone())));
            let spans =
                pairs.filter(|(from, to)| from < to).map(|(from, to)| label(TimeSpec::Span { from, to }));
            (spans.collect(), odd.or(too))
        }
    }
}

fn instants(at: DateTime, zone: &TimeZone) -> (Vec<Zoned>, Option<(bool, String)>) {
    let ambiguous = zone.to_ambiguous_zoned(at);
    let gap = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } => {
            return (ambiguous.unambiguous().into_iter().collect(), None);
        }
        AmbiguousOffset::Gap { .. } => true,
        AmbiguousOffset::Fold { .. } => false,
    };
    let both: Vec<Zoned> = [ambiguous.clone().earlier(), ambiguous.later()].into_iter().flatten().collect();
    let (day, hour) = (at.strftime("%a %-d %b"), at.strftime("%H:%M"));
    let place = both.first().map_or_else(String::new, format::place);
    let why = match gap {
        true => format!("{hour} doesn't exist on {day} {place}: the clocks go forward."),
        false => format!("{hour} happens twice on {day} {place}: the clocks go back."),
    };
    (both, Some((gap, why)))
}

pub(super) fn check_range(date: Date, now: &Zoned) -> Result<Date, TimeError> {
    let years = now.year() - BACK..=now.year() + AHEAD;
    match years.contains(&date.year()) {
        true => Ok(date),
        false => Err(TimeError::not_understood(format!("The year {} is too far away.", date.year()))),
    }
}

fn out_of_range<E>(_: E) -> TimeError {
    TimeError::not_understood("That's too far away.")
}
