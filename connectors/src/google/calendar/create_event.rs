//! `calendar_create_event`: creates an event under an id of ours, so that it happens once: Calendar rejects a second
//! event with that id, even after the first was deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::google::scopes::{EVENTS, FREEBUSY};
use async_trait::async_trait;
use google_calendar3::api::Event;
use jiff::Zoned;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use nod_people::people::colleagues::Colleagues;
use nod_when::slots::{self, Slot};
use nod_when::when::ExactTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::CalendarClient;
use super::new_event::{self, NewEvent, NewEventArguments};
use super::room::Room;
use super::slot_search::{self, SlotSearch};
use super::{conflicts, event_version, event_view};
use crate::google::account::Accounts;
use crate::google::parse_arguments;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "calendar_create_event";
/// The length of a meeting if only a period such as a week was given.
const DEFAULT_MINUTES: i64 = 30;
/// The maximum number of times to choose from.
const MAX_SLOTS: usize = 6;

pub(super) struct CreateEvent {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
    rooms: Arc<[Room]>,
    colleagues: Colleagues,
}

/// The id under which the event is created.
#[derive(Deserialize)]
struct EventHandle {
    id: String,
}

impl CreateEvent {
    pub(super) fn new(accounts: Arc<Accounts>, rooms: Arc<[Room]>, colleagues: Colleagues) -> Self {
        let description = include_str!("../../../prompts/calendar_create_event.md");
        let spec =
            super::spec(NAME, description, "Preparing an event", Reach::Others, new_event::parameters());
        Self { spec, accounts, rooms, colleagues }
    }
}

/// The prefix of the ids of events that Nod creates.
const EVENT_ID_PREFIX: &str = "nod";

#[async_trait]
impl ActTool for CreateEvent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: NewEventArguments = parse_arguments(args)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS, FREEBUSY]).await?;
        if let ExactTime::Within { earliest, latest, phrase: said, .. } = &asked.when {
            return Err(self.offer_slots(cx, &diary, &asked, (earliest, latest), said).await?);
        }
        let zone = event_view::zone(&cx.principal);
        let meeting = NewEvent::new(asked, NAME, diary.address(), &self.rooms, &zone, cx.now)?;
        let preview = meeting.preview(&zone, cx.now)?;
        let mut risks = preview.risks.clone();
        if let Some(room) = &meeting.room {
            risks.extend(conflicts::room_conflict(&diary, room, &meeting.times, &zone).await);
        }
        let mut private_risks =
            conflicts::describe_conflicts(&diary, &meeting.guests, &meeting.times, None, (&zone, cx.now))
                .await;
        if meeting.repeats() {
            private_risks.push("I only checked who is free the first time".to_owned());
        }
        Ok(Preview { risks, private_risks, ..preview })
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("text", fault.to_string())];
        let was = NewEvent::from_payload(payload, NAME).map_err(broken)?;
        let meeting = was.apply_form(filled, now, zone)?;
        let mut preview = meeting.preview(zone, now).map_err(broken)?;
        if (&was.times, &was.guests) != (&meeting.times, &meeting.guests) {
            preview
                .risks
                .push("You edited this, so I haven't checked whether everyone is free then".to_owned());
        }
        Ok(preview)
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, key: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({"id": id(key)}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let (meeting, id) = (NewEvent::from_payload(payload, NAME)?, read(handle)?);
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        meeting.check_account(&diary)?;
        meeting.check_not_started(&event_view::zone(&cx.principal), cx.now)?;
        match Box::pin(diary.insert_event(meeting.to_event(&id, permit.key())?)).await {
            Ok(event) => Ok(receipt(cx, &meeting, &event)),
            // An earlier attempt created it: an id never exists twice.
            Err(trouble) if trouble.is_conflict() => {
                match find_created(cx, &diary, &meeting, &id, permit.key()).await? {
                    EffectLookup::Done(output) => Ok(output),
                    _ => Err(ToolError::UnknownOutcome {
                        reason: "Calendar says it's there but doesn't show it".into(),
                    }),
                }
            }
            Err(trouble) => Err(trouble.into_write_error()),
        }
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let (meeting, id) = (NewEvent::from_payload(payload, NAME)?, read(handle)?);
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        if let Err(fault) = meeting.check_account(&diary) {
            return Ok(EffectLookup::Inconclusive(format!("couldn't check it: {fault}")));
        }
        find_created(cx, &diary, &meeting, &id, key).await
    }
}

impl CreateEvent {
    /// Returns the error that lets the person pick a time or have the others vote: "next week" is not a time for an
    /// event, but a time can be found in it.
    async fn offer_slots(
        &self,
        cx: &ToolContext,
        diary: &CalendarClient,
        asked: &NewEventArguments,
        (earliest, latest): (&Zoned, &Zoned),
        said: &str,
    ) -> Result<ToolError, ToolError> {
        let mut people = asked.guests.clone();
        people.extend(asked.find_room(&self.rooms)?.map(|room| room.address));
        let minutes = asked.minutes.or(asked.when.minutes()).unwrap_or(DEFAULT_MINUTES);
        let search = SlotSearch {
            people: &people,
            earliest,
            latest,
            minutes,
            is_exact: false,
            limit: slots::MAX_SLOTS,
        };
        let found = slot_search::search_slots(cx, diary, &self.colleagues, &search).await?;
        let zone = event_view::zone(&cx.principal);
        let meeting_at = |slot: &Slot| {
            let asked = asked.clone().with_start(slot.from.to_zoned(zone.clone()), minutes);
            NewEvent::new(asked, NAME, diary.address(), &self.rooms, &zone, cx.now)
        };
        let Some(first) = found.slots.first() else {
            return Err(ToolError::invalid(format!("there's no time in “{said}” when everyone is free")));
        };
        // A slot at which the event could not be created is not offered or voted on.
        let slots: Vec<Slot> = found.slots.iter().filter(|slot| meeting_at(slot).is_ok()).cloned().collect();
        let meeting = meeting_at(slots.first().unwrap_or(first))?;
        let choices = slot_search::spread_over_days(cx, &slots, MAX_SLOTS)
            .into_iter()
            .map(|slot| slot_search::choice(cx, slot));
        let unseen = found.unseen.into_iter().map(|one| match &meeting.room {
            Some(room) if room.address.eq_ignore_ascii_case(&one) => format!("the room {}", room.name),
            _ => one,
        });
        Ok(ToolError::AmbiguousTime {
            topic: said.to_owned(),
            title: meeting.title,
            choices: choices.collect(),
            voters: meeting.guests,
            unreadable_calendars: unseen.collect(),
        })
    }
}

/// Returns the event id, made of characters that Calendar accepts: 0–9 and a–v.
fn id(key: EffectKey) -> String {
    format!("{EVENT_ID_PREFIX}{}", key.id.0.simple())
}

/// Returns whether Nod created the event with its person's approval: no one else chooses the id of an event. The
/// instances of a series contain the id of the series.
pub(super) fn was_created_by_nod(event: &Event) -> bool {
    let id = event.recurring_event_id.as_ref().or(event.id.as_ref());
    id.and_then(|id| id.strip_prefix(EVENT_ID_PREFIX)).is_some_and(|rest| uuid::Uuid::try_parse(rest).is_ok())
}

fn read(handle: &Value) -> Result<String, ToolError> {
    let handle = EventHandle::deserialize(handle)
        .map_err(|error| ToolError::internal(format!("the effect's handle cannot be read: {error}")))?;
    Ok(handle.id)
}

/// Looks up whether the event of this id exists and is ours.
async fn find_created(
    cx: &ToolContext,
    diary: &CalendarClient,
    meeting: &NewEvent,
    id: &str,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    match diary.fetch_event(id).await {
        // Cancelled since, by hand: it was created all the same, and is not created a second time.
        Ok(event) if event_version::carries(&event, key) || event_view::is_cancelled(&event) => {
            Ok(EffectLookup::Done(receipt(cx, meeting, &event)))
        }
        Ok(_) => Ok(EffectLookup::Inconclusive("found another event with this one's id".into())),
        Err(trouble) if trouble.is_gone() => Ok(EffectLookup::NotDone),
        Err(trouble) => Err(trouble.into_read_error("the event")),
    }
}

/// Reports what was created, and nothing else from the calendar.
fn receipt(cx: &ToolContext, meeting: &NewEvent, event: &Event) -> ToolOutput {
    let cancelled = event_view::is_cancelled(event);
    let mut content = json!({
        "status": if cancelled { "created, and cancelled since" } else { "created" },
        "id": event.id,
        "link": event.html_link,
        "in": "Calendar",
        "title": meeting.title,
        "when": meeting.times.describe(&event_view::zone(&cx.principal), cx.now),
        "guests": meeting.guests,
    });
    if let Some(room) = &meeting.room {
        let asked = event.attendees.iter().flatten();
        let answer = asked
            .filter(|guest| guest.email.as_deref() == Some(&room.address))
            .find_map(|guest| guest.response_status.clone());
        content["room"] = json!({"name": room.name, "answer": answer});
    }
    if let Some(link) = &event.hangout_link {
        content["meet_link"] = json!(link);
    }
    ToolOutput::trusted(content)
}
