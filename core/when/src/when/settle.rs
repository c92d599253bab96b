//! From what was heard to instants: all readings are made, and where more than one is left, it is asked.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Zoned};

use super::clocks::{self, Hours};
use super::dates::{self, Dates, Range};
use super::read::Heard;
use super::zones::Named;
use super::{Said, Unclear, When, say};
use nod_contract::clock::Timestamp;
use nod_contract::tool::Choice;

/// The longest something lasts, in minutes: a fortnight.
pub(super) const LONGEST_MINUTES: i64 = 14 * 24 * 60;

/// Years from now in which times are taken: nobody plans for more.
const AHEAD: i16 = 10;
const BACK: i16 = 60;

/// Before this hour it is still the night of the day before.
const NIGHT_ENDS: i8 = 5;

/// More choices are not shown.
const MOST_CHOICES: usize = 6;

/// Hours on the calendar, before any zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Civil {
    At(DateTime),
    Span(DateTime, DateTime),
    Within(DateTime, DateTime),
    Day(Date),
    Days(Date, Date),
}

/// One way to understand it.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    civil: Civil,
    zone: TimeZone,
    /// What tells its button from others: "India".
    hint: Option<String>,
}

impl Reading {
    pub(super) fn at(civil: DateTime, zone: &TimeZone) -> Self {
        Self { civil: Civil::At(civil), zone: zone.clone(), hint: None }
    }
}

/// Of the words, in the zone of `now`.
pub(super) fn settle(heard: &Heard, now: &Zoned) -> Result<Said, Unclear> {
    let today = now.date();
    if let Some(minutes) = heard.from_now {
        return from_now(heard, minutes, now);
    }
    let dates = days(heard, today)?;
    for range in &dates.readings {
        let (Range::Day(date) | Range::Days(date, _) | Range::Within(date, _)) = range;
        not_too_far(*date, now)?;
    }
    let zones = zones(heard, now)?;
    let (civils, mut why) = civils(heard, &dates.readings)?;
    let mut readings = readings(&civils, &zones.0);
    if let Some(why) = dates.no_such {
        let near = readings.iter().flat_map(|reading| expanded(reading).0);
        let choices = choices(near.filter(|(said, _)| !over(said, now)).collect(), now);
        return Err(with_length(Unclear::NoSuchDay { why, choices }, heard.lasts));
    }
    if let Some(Named::Letters { offset, .. }) = &heard.zone {
        seasonal(&mut readings, *offset);
        why = why.or_else(|| Some("Those letters belong to the other half of the year there.".to_owned()));
    }
    let why = dates.why.clone().or(zones.1).or(why);
    let said = one_of(readings, now, dates.back).map_err(|unclear| match unclear {
        Unclear::EitherOf { choices, why: general } => {
            Unclear::EitherOf { choices, why: why.unwrap_or(general) }
        }
        Unclear::Past { was, why, .. } => {
            let was = Box::new(was.lasting(heard.lasts));
            Unclear::Past { was, why, choices: instead(heard, &dates, &zones.0, now) }
        }
        other => other,
    });
    let assumed = [dates.assumed, clock_assumed(heard)].into_iter().flatten().collect::<Vec<_>>();
    let assumed = (!assumed.is_empty()).then(|| assumed.join(" "));
    match said {
        Ok(said) => Ok(Said { assumed, ..said.by_own_clocks(now.time_zone()).lasting(heard.lasts) }),
        Err(unclear) => Err(with_length(unclear, heard.lasts)),
    }
}

/// A choice stands for all that was said, also for how long.
pub(super) fn with_length(mut unclear: Unclear, lasts: Option<SignedDuration>) -> Unclear {
    let Some(lasts) = lasts else { return unclear };
    if let Unclear::NoSuchDay { choices, .. }
    | Unclear::NoSuchHour { choices, .. }
    | Unclear::TwiceThatDay { choices, .. }
    | Unclear::EitherOf { choices, .. }
    | Unclear::Past { choices, .. } = &mut unclear
    {
        for choice in choices {
            choice.value.push_str(&format!(" for {} minutes", lasts.as_mins()));
        }
    }
    unclear
}

fn from_now(heard: &Heard, minutes: i64, now: &Zoned) -> Result<Said, Unclear> {
    if heard.day.is_some() || heard.weekday.is_some() || heard.hours.is_some() || heard.part.is_some() {
        return Err(Unclear::not("It says two times."));
    }
    let whole = now.with().second(0).subsec_nanosecond(0).build().map_err(too_far)?;
    let at = whole.checked_add(SignedDuration::from_mins(minutes)).map_err(too_far)?;
    not_too_far(at.date(), now)?;
    Ok(Said::from(When::At(at)).lasting(heard.lasts))
}

/// The days that were said, or today; a weekday beside a date must be that date's.
fn days(heard: &Heard, today: Date) -> Result<Dates, Unclear> {
    let Some(day) = &heard.day else {
        if heard.hours.is_none() && heard.part.is_none() && !heard.all_day {
            return Err(Unclear::not("It does not say when."));
        }
        return dates::dates(&dates::Day::From(0), today);
    };
    let mut dates = dates::dates(day, today)?;
    let Some(weekday) = heard.weekday.filter(|_| dates.no_such.is_none()) else { return Ok(dates) };
    let fits = |range: &Range| matches!(range, Range::Day(date) if date.weekday() == weekday);
    if !dates.readings.iter().any(fits) {
        // "Fri 6 Mar" of another year.
        if let Some(other) = dates.instead.iter().find(|date| date.weekday() == weekday) {
            dates.readings = vec![Range::Day(*other)];
            return Ok(dates);
        }
        return mismatch(&dates, weekday, today);
    }
    dates.readings.retain(fits);
    dates.instead.retain(|date| date.weekday() == weekday);
    Ok(dates)
}

fn mismatch(dates: &Dates, weekday: Weekday, today: Date) -> Result<Dates, Unclear> {
    let Some(Range::Day(date)) = dates.readings.first() else {
        return Err(Unclear::not("It says two days."));
    };
    let after = date.nth_weekday(1, weekday).map_err(too_far)?;
    let before = date.nth_weekday(-1, weekday).map_err(too_far)?;
    let mut readings = vec![Range::Day(*date)];
    readings.extend([before, after].into_iter().filter(|near| *near >= today).map(Range::Day));
    let why = format!("{} is a {}.", date.strftime("%-d %B %Y"), date.strftime("%A"));
    Ok(Dates { readings, why: Some(why), back: true, ..Dates::default() })
}

type Zones = (Vec<(TimeZone, Option<String>)>, Option<String>);

fn zones(heard: &Heard, now: &Zoned) -> Result<Zones, Unclear> {
    Ok(match &heard.zone {
        None => (vec![(now.time_zone().clone(), None)], None),
        Some(Named::Place(zone) | Named::Letters { place: zone, .. }) => (vec![(zone.clone(), None)], None),
        Some(Named::Either(letters, places)) => {
            let all = places.iter().map(|(zone, place)| (zone.clone(), Some((*place).to_owned()))).collect();
            (all, Some(format!("{letters} is the time of several places.")))
        }
    })
}

fn readings(civils: &[Civil], zones: &[(TimeZone, Option<String>)]) -> Vec<Reading> {
    let of = |civil: &Civil| {
        let civil = *civil;
        zones.iter().map(move |(zone, hint)| Reading { civil, zone: zone.clone(), hint: hint.clone() })
    };
    civils.iter().flat_map(of).collect()
}

/// "3pm CET" in July: what the clocks in Berlin show, or CET to the letter?
fn seasonal(readings: &mut Vec<Reading>, offset: jiff::tz::Offset) {
    let strict = TimeZone::fixed(offset);
    let other = |reading: &Reading| {
        let (Civil::At(at) | Civil::Span(at, _) | Civil::Within(at, _)) = reading.civil else { return None };
        let there = reading.zone.to_ambiguous_zoned(at).compatible().ok()?;
        (there.offset() != offset).then(|| Reading { zone: strict.clone(), ..reading.clone() })
    };
    let more: Vec<Reading> = readings.iter().filter_map(other).collect();
    readings.extend(more);
}

fn clock_assumed(heard: &Heard) -> Option<String> {
    match heard.hours? {
        Hours::At(clock) | Hours::After(clock) | Hours::Before(clock) => clock.assumed(heard.part),
        Hours::Range(from, to) | Hours::Between(from, to) if to.half == clocks::Half::Open => {
            from.assumed(heard.part)
        }
        Hours::EndOfDay => Some("The end of the day is taken as 17:00.".to_owned()),
        _ => None,
    }
}

/// All hours of all days, and why there are several.
fn civils(heard: &Heard, ranges: &[Range]) -> Result<(Vec<Civil>, Option<String>), Unclear> {
    let hours = heard.hours.is_some() || heard.part.is_some();
    if !hours || heard.all_day {
        if heard.hours.is_some() {
            return Err(Unclear::not("It says both an hour and all day."));
        }
        let whole = |range: &Range| match *range {
            Range::Day(day) => Civil::Day(day),
            Range::Days(first, last) => Civil::Days(first, last),
            Range::Within(first, end) if heard.all_day => {
                Civil::Days(first, end.yesterday().unwrap_or(first))
            }
            Range::Within(first, end) => Civil::Within(midnight(first), midnight(end)),
        };
        return Ok((ranges.iter().map(whole).collect(), None));
    }
    let mut all = Vec::new();
    let mut why = None;
    for range in ranges {
        let days = match *range {
            Range::Day(day) => vec![day],
            Range::Within(first, end) => {
                why = Some("It does not say on which day.".to_owned());
                working(first, end).ok_or_else(|| Unclear::not("Say on which day."))?
            }
            Range::Days(..) => return Err(Unclear::not("Say one day when you say hours.")),
        };
        for day in days {
            let (civil, asked) = on_day(heard, day)?;
            why = why.or(asked);
            all.extend(civil);
        }
    }
    Ok((all, why))
}

/// The days of a week on which people work, or both of a weekend.
fn working(first: Date, end: Date) -> Option<Vec<Date>> {
    let days: Vec<Date> =
        first.series(jiff::Span::new().days(1)).take_while(|day| *day < end).take(8).collect();
    match days.len() {
        2 => Some(days),
        7 => Some(days.into_iter().take(5).collect()),
        _ => None,
    }
}

fn on_day(heard: &Heard, day: Date) -> Result<(Vec<Civil>, Option<String>), Unclear> {
    let next = day.tomorrow().map_err(too_far)?;
    let part = heard.part;
    let Some(hours) = heard.hours else {
        let Some(part) = part else { return Ok((vec![Civil::Day(day)], None)) };
        let (from, to) = part.hours();
        let to = if to == 24 { midnight(next) } else { day.at(to, 0, 0, 0) };
        return Ok((vec![Civil::Within(day.at(from, 0, 0, 0), to)], None));
    };
    let each = |clock: clocks::Clock, make: &dyn Fn(DateTime) -> Option<Civil>| {
        let times = clock.times(part);
        let asked = (times.len() > 1).then(|| clock.asked());
        (times.into_iter().filter_map(|time| make(day.to_datetime(time))).collect(), asked)
    };
    let both = |from, to, make: fn(DateTime, DateTime) -> Civil| {
        let all = clocks::range(from, to, part)?;
        let asked = (all.len() > 1).then(|| from.asked());
        let civil = |(from, to, over): clocks::Between| {
            make(day.to_datetime(from), if over { next } else { day }.to_datetime(to))
        };
        Ok((all.into_iter().map(civil).collect(), asked))
    };
    Ok(match hours {
        // A night's small hours are those of the next day.
        Hours::At(clock) if part == Some(clocks::Part::Night) => each(clock, &|at| {
            let at = if at.hour() < NIGHT_ENDS { next.to_datetime(at.time()) } else { at };
            Some(Civil::At(at))
        }),
        Hours::At(clock) => each(clock, &|at| Some(Civil::At(at))),
        Hours::After(clock) => each(clock, &|at| Some(Civil::Within(at, midnight(next)))),
        Hours::Before(clock) => {
            each(clock, &|at| (at > midnight(day)).then(|| Civil::Within(midnight(day), at)))
        }
        Hours::Range(from, to) => both(from, to, Civil::Span)?,
        Hours::Between(from, to) => both(from, to, Civil::Within)?,
        Hours::Either(told, (from, to)) => {
            let (mut all, _) = each(told, &|at| Some(Civil::At(at)));
            let spans = both(from, to, Civil::Span).map(|(spans, _)| spans).unwrap_or_default();
            all.extend(
                spans.into_iter().filter(|span| matches!(span, Civil::Span(_, to) if to.date() == day)),
            );
            (all, Some("That can be one time, before the hour, or from one hour to the other.".to_owned()))
        }
        Hours::EndOfDay => (vec![Civil::At(day.at(17, 0, 0, 0))], None),
        Hours::Midnight if matches!(heard.day, None | Some(dates::Day::From(0))) => {
            (vec![Civil::At(midnight(next))], None)
        }
        Hours::Midnight => {
            let why = "Midnight can be the one at which that day begins, or ends.".to_owned();
            (vec![Civil::At(midnight(day)), Civil::At(midnight(next))], Some(why))
        }
    })
}

fn midnight(day: Date) -> DateTime {
    day.to_datetime(Time::midnight())
}

/// The choices where what was said is over.
fn instead(heard: &Heard, dates: &Dates, zones: &[(TimeZone, Option<String>)], now: &Zoned) -> Vec<Choice> {
    // The other half of the same day, where none was said.
    let late = match heard.hours {
        Some(Hours::At(clock)) if clock.half == clocks::Half::Open && clock.hour < 12 => {
            Some(Hours::At(clocks::Clock { half: clocks::Half::Pm, ..clock }))
        }
        _ => None,
    };
    let mut all = Vec::new();
    if let Some(hours) = late
        && let Ok((civils, _)) = civils(&Heard { hours: Some(hours), ..heard.clone() }, &dates.readings)
    {
        let said = readings(&civils, zones).into_iter().flat_map(|reading| expanded(&reading).0);
        all.extend(said.filter(|(said, _)| !over(said, now)));
    }
    let days: Vec<Range> = dates.instead.iter().map(|day| Range::Day(*day)).collect();
    if let Ok((civils, _)) = civils(heard, &days) {
        all.extend(readings(&civils, zones).into_iter().flat_map(|reading| expanded(&reading).0));
    }
    choices(all, now)
}

type Labelled = (Said, Option<String>);

/// What is left of the readings: one, or a question.
pub(super) fn one_of(readings: Vec<Reading>, now: &Zoned, back: bool) -> Result<Said, Unclear> {
    let several = readings.len() > 1;
    let mut odd = None;
    let mut all: Vec<Labelled> = Vec::new();
    for reading in &readings {
        let (said, how) = expanded(reading);
        odd = odd.or(how);
        for (said, hint) in said {
            if !all.iter().any(|(other, _)| same(other, &said)) {
                all.push((said, hint));
            }
        }
    }
    if !back && all.iter().any(|(said, _)| !over(said, now)) {
        all.retain(|(said, _)| !over(said, now));
    }
    if all.len() == 1 && odd.as_ref().is_none_or(|(gap, _)| !*gap) {
        let said = all.swap_remove(0).0;
        if back || !over(&said, now) {
            return Ok(said);
        }
        let why = format!("{} is over.", said.say(zone_of(&said, now), timestamp(now)));
        return Err(Unclear::Past { why, was: Box::new(said), choices: Vec::new() });
    }
    if all.is_empty() {
        return Err(Unclear::not("That is too far off, or ends before it begins."));
    }
    if all.iter().all(|(said, _)| over(said, now)) && !back {
        let was = all[0].0.clone();
        let why = format!("{} is over.", was.say(zone_of(&was, now), timestamp(now)));
        return Err(Unclear::Past { why, was: Box::new(was), choices: choices(all, now) });
    }
    let choices = choices(all, now);
    Err(match odd {
        Some((true, why)) if !several => Unclear::NoSuchHour { why, choices },
        Some((false, why)) if !several => Unclear::TwiceThatDay { why, choices },
        _ => Unclear::EitherOf { why: "That can be read in several ways.".to_owned(), choices },
    })
}

/// The same instants, in whichever zone they were said.
fn same(one: &Said, other: &Said) -> bool {
    one.when == other.when
}

fn zone_of<'a>(said: &'a Said, now: &'a Zoned) -> &'a TimeZone {
    match &said.when {
        When::At(at) => at.time_zone(),
        When::Span { from, .. } | When::Within { from, .. } => from.time_zone(),
        When::Day(_) | When::Days { .. } => now.time_zone(),
    }
}

fn choices(all: Vec<Labelled>, now: &Zoned) -> Vec<Choice> {
    let choice = |(said, hint): Labelled| {
        let label = said.say(zone_of(&said, now), timestamp(now));
        let label = match hint {
            Some(hint) => format!("{label} ({hint})"),
            None => label,
        };
        Choice { label, value: said.exact() }
    };
    all.into_iter().take(MOST_CHOICES).map(choice).collect()
}

fn timestamp(now: &Zoned) -> Timestamp {
    Timestamp::from_timestamp_micros(now.timestamp().as_microsecond()).unwrap_or_default()
}

fn over(said: &Said, now: &Zoned) -> bool {
    match &said.when {
        When::At(at) => at < now && !at_this_minute(at, now),
        When::Span { to, .. } | When::Within { to, .. } => to <= now,
        When::Day(day) | When::Days { last: day, .. } => *day < now.date(),
    }
}

fn at_this_minute(at: &Zoned, now: &Zoned) -> bool {
    now.timestamp().duration_since(at.timestamp()) < SignedDuration::from_mins(1)
}

/// The instants of a reading. Two where the clocks change then: with `true` where they jump over it.
fn expanded(reading: &Reading) -> (Vec<Labelled>, Option<(bool, String)>) {
    let zone = &reading.zone;
    let label = |when: When| (Said::from(when), reading.hint.clone());
    match reading.civil {
        Civil::Day(day) => (vec![label(When::Day(day))], None),
        Civil::Days(first, last) => (vec![label(When::Days { first, last })], None),
        Civil::Within(from, to) => {
            // Its ends are not meant to the minute.
            let ends = |at: DateTime| zone.to_ambiguous_zoned(at).compatible().ok();
            let when = ends(from).zip(ends(to)).filter(|(from, to)| from < to);
            (when.map(|(from, to)| label(When::Within { from, to })).into_iter().collect(), None)
        }
        Civil::At(at) => {
            let (at, odd) = instants(at, zone);
            (at.into_iter().map(|at| label(When::At(at))).collect(), odd)
        }
        Civil::Span(from, to) => {
            let ((from, odd), (to, too)) = (instants(from, zone), instants(to, zone));
            let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (from.clone(), to.clone())));
            let spans = pairs.filter(|(from, to)| from < to).map(|(from, to)| label(When::Span { from, to }));
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
    let place = both.first().map_or_else(String::new, say::place);
    let why = match gap {
        true => format!("{hour} does not exist on {day} {place}: the clocks go forward."),
        false => format!("{hour} comes twice on {day} {place}: the clocks go back."),
    };
    (both, Some((gap, why)))
}

pub(super) fn not_too_far(date: Date, now: &Zoned) -> Result<Date, Unclear> {
    let years = now.year() - BACK..=now.year() + AHEAD;
    match years.contains(&date.year()) {
        true => Ok(date),
        false => Err(Unclear::not(format!("The year {} is too far off.", date.year()))),
    }
}

fn too_far<E>(_: E) -> Unclear {
    Unclear::not("That is too far off.")
}
