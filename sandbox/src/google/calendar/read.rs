//! Reads of events: one, a list, the instances of a series, and busy times.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::entry::Entry;
use super::event_json::Viewpoint;
use super::middleware::ApiRequest;
use super::moment::{instant, stamp, zone};
use super::rejection;
use super::store::{Calendars, Owner};
use crate::google::response::{Outcome, Rejection};

const LIST_SIZE: usize = 250;
/// How far a list without an end expands series.
const UNROLLED: SignedDuration = SignedDuration::from_hours(24 * 730);
/// Google does not document the limit of a query for busy times; callers were rejected at about three months.
const MAX_QUERY_RANGE: SignedDuration = SignedDuration::from_hours(24 * 60);
const MAX_CALENDARS: usize = 50;

pub(super) fn get(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let calendar = ask.calendar(all)?;
    let entry = all.find(&calendar, ask.event()).ok_or_else(rejection::not_found)?;
    Ok(Some(all.show(&entry, &ask.to_view(all, &calendar)?)))
}

/// The time range of a list.
struct Window {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Window {
    fn read(ask: &ApiRequest<'_>) -> Result<Self, Rejection> {
        let (from, to) = (ask.instant("timeMin")?, ask.instant("timeMax")?);
        match (from, to) {
            (Some(from), Some(to)) if from >= to => Err(rejection::empty_range()),
            (from, to) => Ok(Self { from, to }),
        }
    }

    fn expansion_end(&self, now: Timestamp) -> Timestamp {
        let begins = self.from.map_or(now, |from| from.max(now));
        self.to.unwrap_or(begins.checked_add(UNROLLED).unwrap_or(Timestamp::MAX))
    }
}

pub(super) fn list(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let calendar = ask.calendar(all)?;
    let look = ask.to_view(all, &calendar)?;
    let window = Window::read(ask)?;
    let (single, deleted) = (ask.flag("singleEvents"), ask.flag("showDeleted"));
    let since = ask.instant("updatedMin")?;
    let until = window.expansion_end(ask.now);
    let shown = |entry: &Entry| {
        let in_window = match entry.recurrence.is_empty() {
            true => entry.span.overlaps(window.from, window.to, &look.zone),
            false => all
                .instances(entry, until)
                .iter()
                .any(|one| one.span.overlaps(window.from, window.to, &look.zone)),
        };
        let gone = entry.is_gone_for(&calendar);
        let exception = entry.series.is_some() && !single;
        in_window
            && (!gone || deleted || exception || since.is_some())
            && since.is_none_or(|since| entry.updated >= since)
    };
    let candidates = if single {
        all.expand_series(&calendar, until)
    } else {
        all.list_in_calendar(&calendar).cloned().collect()
    };
    let mut found: Vec<Entry> = candidates
        .into_iter()
        .filter(|entry| shown(entry) && matches_filters(entry, all, ask, &calendar))
        .collect();
    match ask.param("orderBy") {
        None => {}
        Some("startTime") if single => {
            found.sort_by_key(|entry| (entry.span.start.at(&look.zone), entry.id.clone()))
        }
        Some("updated") => found.sort_by_key(|entry| entry.updated),
        Some(_) => {
            return Err(rejection::invalid(
                "The requested ordering is not available for the particular query.",
            ));
        }
    }
    page(all, ask, &look, &found)
}

fn matches_filters(entry: &Entry, all: &Calendars, ask: &ApiRequest<'_>, calendar: &str) -> bool {
    let own = entry.copies.get(calendar).map(|copy| &copy.own);
    let has = |map: Option<&serde_json::Map<String, Value>>, kind: &str, wanted: &str| {
        let (name, value) = wanted.split_once('=').unwrap_or((wanted, ""));
        map.and_then(|map| map.get(kind)).is_some_and(|some| some[name] == json!(value))
    };
    let types = ask.params("eventTypes");
    ask.param("iCalUID").is_none_or(|uid| entry.uid == uid)
        && (types.is_empty() || types.contains(&"default"))
        && ask.params("privateExtendedProperty").iter().all(|wanted| has(own, "private", wanted))
        && ask
            .params("sharedExtendedProperty")
            .iter()
            .all(|wanted| has(Some(&entry.fields), "shared", wanted))
        && ask.param("q").is_none_or(|q| speaks_of(entry, all, q))
}

fn speaks_of(entry: &Entry, all: &Calendars, q: &str) -> bool {
    let mut words: Vec<&str> = ["summary", "description", "location"].map(|field| entry.text(field)).to_vec();
    for guest in &entry.guests {
        words.extend([guest.email.as_str(), guest.name.as_deref().unwrap_or_default()]);
    }
    words.push(&entry.organizer);
    words.extend(all.owner(&entry.organizer).map(|owner| owner.name.as_str()));
    let words = words.join("\n").to_lowercase();
    q.to_lowercase().split_whitespace().all(|term| words.contains(term))
}

pub(super) fn instances(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let calendar = ask.calendar(all)?;
    let look = ask.to_view(all, &calendar)?;
    let window = Window::read(ask)?;
    let series = all.find(&calendar, ask.event()).ok_or_else(rejection::not_found)?;
    if series.recurrence.is_empty() {
        return Err(rejection::invalid("The event does not repeat"));
    }
    let mut found = all.instances(&series, window.expansion_end(ask.now));
    found.extend(all.exceptions(&series).filter(|entry| entry.copies.contains_key(&calendar)).cloned());
    found.retain(|entry| {
        (ask.flag("showDeleted") || !entry.is_gone_for(&calendar))
            && entry.span.overlaps(window.from, window.to, &look.zone)
    });
    found.sort_by_key(|entry| entry.span.start.at(&look.zone));
    page(all, ask, &look, &found)
}

fn page(all: &Calendars, ask: &ApiRequest<'_>, look: &Viewpoint, found: &[Entry]) -> Outcome {
    let (from, size) = ask.page(LIST_SIZE)?;
    let items: Vec<Value> = found.iter().skip(from).take(size).map(|entry| all.show(entry, look)).collect();
    let owner = all.owner(&look.calendar).ok_or_else(rejection::not_found)?;
    let latest = all.list_in_calendar(&look.calendar).map(|entry| entry.updated).max().unwrap_or(ask.now);
    let mut answer = json!({
        "kind": "calendar#events",
        "etag": format!("\"p{}\"", latest.as_microsecond()),
        "summary": owner.name,
        "updated": stamp(latest, &TimeZone::UTC),
        "timeZone": look.zone.iana_name().unwrap_or("UTC"),
        "accessRole": if look.calendar == look.reader { "owner" } else { "reader" },
        "defaultReminders": [{"method": "popup", "minutes": 10}],
        "items": items,
    });
    if from + size < found.len() {
        answer["nextPageToken"] = json!(format!("p{}", from + size));
    }
    Ok(Some(answer))
}

pub(super) fn busy(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let at = |name: &str| {
        let text = ask.body[name].as_str().ok_or_else(|| rejection::required(format!("Missing {name}.")))?;
        instant(text).ok_or_else(|| rejection::invalid(format!("Invalid value for: {name}")))
    };
    let (from, to) = (at("timeMin")?, at("timeMax")?);
    if from >= to {
        return Err(rejection::empty_range());
    }
    if to.duration_since(from) > MAX_QUERY_RANGE {
        return Err(rejection::long_range());
    }
    let shown = match ask.body["timeZone"].as_str() {
        None => TimeZone::UTC,
        Some(name) => zone(name).ok_or_else(|| rejection::invalid("Invalid value for: timeZone"))?,
    };
    let items = ask.body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let most = ask.body["calendarExpansionMax"].as_i64().and_then(|most| usize::try_from(most).ok());
    if items.is_empty() || items.len() > most.unwrap_or(MAX_CALENDARS).min(MAX_CALENDARS) {
        return Err(rejection::invalid("The number of calendars is not allowed"));
    }
    let mut calendars = serde_json::Map::new();
    for item in items {
        let id = item["id"].as_str().ok_or_else(|| rejection::required("Missing calendar id."))?;
        let told = match find_visible_owner(all, ask, id) {
            Some(owner) => {
                let periods = all.busy_times(owner, from, to).into_iter();
                let period = |(start, end)| json!({"start": stamp(start, &shown), "end": stamp(end, &shown)});
                json!({"busy": periods.map(period).collect::<Vec<_>>()})
            }
            None => json!({"errors": [{"domain": "global", "reason": "notFound"}], "busy": []}),
        };
        calendars.insert(id.to_owned(), told);
    }
    Ok(Some(json!({
        "kind": "calendar#freeBusy",
        "timeMin": stamp(from, &shown),
        "timeMax": stamp(to, &shown),
        "calendars": calendars,
    })))
}

/// Returns the owner of a calendar whose busy times the caller can see: in the same domain, or shared with the caller.
fn find_visible_owner<'a>(all: &'a Calendars, ask: &ApiRequest<'_>, id: &str) -> Option<&'a Owner> {
    let me = all.owner(&ask.account.email)?;
    let owner = if id == "primary" { me } else { all.owner(id)? };
    (owner.domain == me.domain || all.is_shared(&owner.email, &me.email)).then_some(owner)
}

impl Calendars {
    /// Returns every event that begins before `until`, with series expanded.
    pub(super) fn expand_series(&self, calendar: &str, until: Timestamp) -> Vec<Entry> {
        let one_by_one = |entry: &Entry| match entry.recurrence.is_empty() {
            true => vec![entry.clone()],
            false => self.instances(entry, until),
        };
        self.list_in_calendar(calendar).flat_map(one_by_one).collect()
    }

    /// Returns the events that block time in a calendar.
    pub(super) fn busy_entries(&self, calendar: &str, until: Timestamp) -> Vec<Entry> {
        let blocks = |entry: &Entry| {
            let own = entry.copies.get(calendar).map(|copy| &copy.own);
            let declined = entry.guest(calendar).is_some_and(|guest| guest.response == "declined");
            let transparent = own.is_some_and(|own| own.get("transparency") == Some(&json!("transparent")));
            !entry.is_gone_for(calendar) && !declined && !transparent
        };
        self.expand_series(calendar, until).into_iter().filter(blocks).collect()
    }

    fn busy_times(&self, owner: &Owner, from: Timestamp, to: Timestamp) -> Vec<(Timestamp, Timestamp)> {
        let zone = owner.zone();
        let mut periods: Vec<(Timestamp, Timestamp)> = self
            .busy_entries(&owner.email, to)
            .iter()
            .filter(|entry| entry.span.overlaps(Some(from), Some(to), &zone))
            .map(|entry| (entry.span.start.at(&zone).max(from), entry.span.end.at(&zone).min(to)))
            .collect();
        periods.sort();
        let mut merged: Vec<(Timestamp, Timestamp)> = Vec::new();
        for (start, end) in periods {
            match merged.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => merged.push((start, end)),
            }
        }
        merged
    }
}
