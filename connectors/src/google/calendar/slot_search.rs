//! Finds times at which several people are free, from the busy times of their calendars (without any details) and the
//! working hours that Nod stores for them.

use google_calendar3::api::FreeBusyCalendar;
use jiff::{SignedDuration, Timestamp, Zoned};
use nod_contract::tool::{Choice, ToolContext, ToolError};
use nod_people::people::colleagues::Colleagues;
use nod_people::people::working_hours::WorkingTime;
use nod_when::slots::{self, Attendee, Interval, Slot, SlotQuery};
use nod_when::when;

use super::client::CalendarClient;
use super::event_time::{instant, utc};
use super::event_view;

/// Slots begin on the half hour, short ones on the quarter hour.
const STEP: i64 = 30;
const SHORT_SLOT_STEP_MINUTES: i64 = 15;
/// The maximum number of slots per day to choose from.
const MAX_PER_DAY: usize = 2;

/// What to search for.
pub(super) struct SlotSearch<'a> {
    pub(super) people: &'a [String],
    pub(super) earliest: &'a Zoned,
    pub(super) latest: &'a Zoned,
    pub(super) minutes: i64,
    /// The hour was named, so it is tried whatever the step is.
    pub(super) is_exact: bool,
    pub(super) limit: usize,
}

/// The result of a search.
pub(super) struct SlotSearchResult {
    pub(super) slots: Vec<Slot>,
    /// People whose calendars we are not allowed to see.
    pub(super) unseen: Vec<String>,
}

/// Finds the best times for the person and these others.
pub(super) async fn search_slots(
    cx: &ToolContext,
    diary: &CalendarClient,
    colleagues: &Colleagues,
    search: &SlotSearch<'_>,
) -> Result<SlotSearchResult, ToolError> {
    let own = diary.address().to_lowercase();
    let mut all = vec![own.clone()];
    all.extend(search.people.iter().map(|one| one.to_lowercase()).filter(|one| *one != own));
    all.dedup();
    if all.len() > slots::MAX_PEOPLE {
        return Err(ToolError::invalid(slots::SlotQueryError::TooManyPeople.to_string()));
    }
    let known = colleagues.find_by_emails(cx.scope.tenant, &all).await;
    let known = known
        .map_err(|error| ToolError::internal(format!("I can't read the working hours right now: {error}")))?;
    let far = || ToolError::invalid("that's too far away");
    // The asker is identified by their id, whatever their account's address is.
    let asker = colleagues.find_working_time(cx.scope.tenant, cx.principal.person).await;
    let asker = asker
        .map_err(|error| ToolError::internal(format!("I can't read the working hours right now: {error}")))?;
    let working = |address: &String| match &asker {
        Some(working) if *address == own => Some(working),
        _ => known.get(address).map(|known| &known.working),
    };
    // The range is wider than the window, because events next to it might need a buffer.
    let buffer = all.iter().filter_map(working).map(|working| working.buffer).max().unwrap_or_default();
    let from = search.earliest.timestamp().checked_sub(buffer).ok().and_then(utc).ok_or_else(far)?;
    let until = search.latest.timestamp().checked_add(buffer).ok().and_then(utc).ok_or_else(far)?;
    // Checked before Calendar is queried, so that an invalid search costs no request.
    let wish = to_slot_query(cx, search)?;
    let busy = diary
        .query_free_busy(&all, from, until)
        .await
        .map_err(|trouble| trouble.into_read_error("the calendars"))?;
    let busy = busy.calendars.unwrap_or_default();
    let mut unseen = Vec::new();
    let mut people = Vec::new();
    for address in &all {
        let calendar =
            busy.get(address).filter(|calendar| calendar.errors.as_ref().is_none_or(Vec::is_empty));
        if calendar.is_none() {
            unseen.push(address.clone());
        }
        let person = Participant {
            name: match known.get(address) {
                Some(known) => &known.name,
                None if *address == own => &cx.principal.name,
                None => address,
            },
            working: working(address),
            is_asker: *address == own,
        };
        people.push(person.attends(calendar));
    }
    let slots =
        slots::find_slots(&wish, &people).map_err(|refused| ToolError::invalid(refused.to_string()))?;
    Ok(SlotSearchResult { slots, unseen })
}

fn to_slot_query(cx: &ToolContext, search: &SlotSearch<'_>) -> Result<SlotQuery, ToolError> {
    let now = instant(cx.now).ok_or_else(|| ToolError::internal("there's no such time"))?;
    let step = if search.minutes < STEP { SHORT_SLOT_STEP_MINUTES } else { STEP };
    let wish = SlotQuery {
        now,
        window: Interval { from: search.earliest.timestamp(), to: search.latest.timestamp() },
        duration: SignedDuration::from_mins(search.minutes),
        step: SignedDuration::from_mins(step),
        preferred_start: search.is_exact.then(|| search.earliest.timestamp()),
        zone: event_view::zone(&cx.principal),
        limit: search.limit,
    };
    // Without attendees: this only checks that the search is valid.
    slots::find_slots(&wish, &[]).map_err(|refused| ToolError::invalid(refused.to_string()))?;
    Ok(wish)
}

/// What is known of one attendee.
struct Participant<'a> {
    name: &'a str,
    working: Option<&'a WorkingTime>,
    /// The person who asks: slots are shown by their clocks.
    is_asker: bool,
}

impl Participant<'_> {
    fn attends(&self, calendar: Option<&FreeBusyCalendar>) -> Attendee {
        let period = |period: &google_calendar3::api::TimePeriod| {
            Some(Interval { from: instant(period.start?)?, to: instant(period.end?)? })
        };
        // Working hours are unknown without a known zone. The asker then reads the slots in UTC, and is told so.
        let hours = self.working.filter(|working| working.is_zone_known || self.is_asker);
        Attendee {
            name: self.name.to_owned(),
            hours: hours.map(|working| working.hours.clone()),
            busy: calendar
                .and_then(|one| one.busy.as_ref())
                .into_iter()
                .flatten()
                .filter_map(period)
                .collect(),
            buffer: self.working.map_or(SignedDuration::ZERO, |working| working.buffer),
            notice: self.working.map_or(SignedDuration::ZERO, |working| working.notice),
        }
    }
}

/// Spreads the slots over several days: at most two per day, as long as there are enough. Slots outside a person's
/// working hours are dropped if there are slots within the hours of all.
pub(super) fn spread_over_days<'a>(cx: &ToolContext, slots: &'a [Slot], most: usize) -> Vec<&'a Slot> {
    let zone = event_view::zone(&cx.principal);
    let day = |slot: &Slot| slot.from.to_zoned(zone.clone()).date();
    let in_hours = slots.iter().any(|slot| slot.out_of_hours.is_empty());
    let (mut first, mut more): (Vec<&Slot>, Vec<&Slot>) = (Vec::new(), Vec::new());
    for slot in slots.iter().filter(|slot| slot.out_of_hours.is_empty() || !in_hours) {
        let same_day = first.iter().filter(|other| day(other) == day(slot)).count();
        if same_day < MAX_PER_DAY { first.push(slot) } else { more.push(slot) }
    }
    let mut some: Vec<&Slot> = first.into_iter().chain(more).take(most).collect();
    some.sort_by_key(|slot| slot.from);
    some
}

/// Formats a slot as a choice: the label of the button and its value.
pub(super) fn choice(cx: &ToolContext, slot: &Slot) -> Choice {
    let zone = event_view::zone(&cx.principal);
    let zoned = |at: Timestamp| at.to_zoned(zone.clone());
    let (from, to) = (zoned(slot.from), zoned(slot.to));
    let said = when::format_span(&from, &to, &zone, cx.now);
    let label = match slot.out_of_hours.as_slice() {
        [] => said,
        names => format!("{said} · outside {}'s hours", names.join(", ")),
    };
    Choice { label, value: format!("{from}/{to}") }
}
