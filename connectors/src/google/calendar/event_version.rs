//! Checks whether an event is unchanged since it was seen, and whether an effect of ours wrote it: every event that we
//! create or change carries the effect's id in its private properties.

use std::collections::HashMap;

use google_calendar3::api::{Event, EventExtendedProperties};
use nod_contract::tool::{ToolContext, ToolError};
use serde_json::json;

use super::client::CalendarClient;
use super::event_view;
use crate::google::api_error::GoogleApiError;
use nod_contract::digest::digest;
use nod_contract::tool::effect::EffectKey;

const EFFECT: &str = "nodEffect";

/// Returns the private properties that mark an event as written by this effect.
pub(super) fn effect_properties(key: EffectKey) -> EventExtendedProperties {
    let private = HashMap::from([(EFFECT.to_owned(), key.id.to_string())]);
    EventExtendedProperties { private: Some(private), shared: None }
}

/// Returns whether this effect wrote the current version.
pub(super) fn carries(event: &Event, key: EffectKey) -> bool {
    let private = event.extended_properties.as_ref().and_then(|all| all.private.as_ref());
    private.and_then(|all| all.get(EFFECT)).is_some_and(|id| *id == key.id.to_string())
}

/// Rejects an account other than the one on the card.
pub(super) fn check_account(approved: &str, diary: &CalendarClient) -> Result<(), ToolError> {
    if approved.eq_ignore_ascii_case(diary.address()) {
        return Ok(());
    }
    // Everyone sees the approved account on the card; the current account is only for its owner.
    let reason = format!("this was approved for {approved}, but you've connected another account since");
    Err(ToolError::Forbidden { reason })
}

/// Reads the current version of the event with this id.
pub(super) async fn fetch_event(diary: &CalendarClient, id: &str) -> Result<Event, ToolError> {
    let event = diary.fetch_event(id).await.map_err(|trouble| trouble.into_read_error("that event"))?;
    if event_view::is_cancelled(&event) {
        return Err(ToolError::NotFound { what: "it any more: that event was cancelled".into() });
    }
    Ok(event)
}

/// What an event id refers to: a single event, one time of a series, or the whole series.
pub(super) struct EventTarget {
    /// The event to write to.
    pub(super) event: Event,
    /// Which of its times are meant.
    pub(super) times: SeriesScope,
    /// The one instance by which a whole series was named.
    pub(super) instance: Option<Event>,
}

/// Whether a single event, one time of a series or the whole series is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeriesScope {
    /// It takes place once.
    Single,
    /// Only this time.
    ThisOccurrence,
    /// The whole series.
    WholeSeries,
}

impl SeriesScope {
    /// Returns the card's label for the time.
    pub(super) fn time_label(self) -> String {
        if self == Self::WholeSeries { "First" } else { "When" }.to_owned()
    }

    /// Returns the card's field about the other times of a series.
    pub(super) fn field(self) -> Option<(String, String)> {
        let which = match self {
            Self::Single => return None,
            Self::ThisOccurrence => "just this one, the others stay as they are",
            Self::WholeSeries => "every time",
        };
        Some(("Series".to_owned(), which.to_owned()))
    }
}

/// Returns the event that `id` refers to; with `all`, its whole series. The id of a series never stands for one of its
/// times.
pub(super) async fn resolve_target(
    diary: &CalendarClient,
    id: &str,
    all: bool,
) -> Result<EventTarget, ToolError> {
    let event = fetch_event(diary, id).await?;
    let is_series = event_view::is_series(&event);
    match &event.recurring_event_id {
        Some(series) if all => Ok(EventTarget {
            event: fetch_event(diary, series).await?,
            times: SeriesScope::WholeSeries,
            instance: Some(event),
        }),
        Some(_) => Ok(EventTarget { event, times: SeriesScope::ThisOccurrence, instance: None }),
        None if is_series && !all => Err(ToolError::invalid(
            "that id is of a whole series: say `series` where all of its times are meant; one of them has an id of \
             its own, which a look at that day tells",
        )),
        None => Ok(EventTarget {
            event,
            times: if is_series { SeriesScope::WholeSeries } else { SeriesScope::Single },
            instance: None,
        }),
    }
}

/// Returns a digest of what the card shows of an event: a change is approved for this version. Guests' answers are not
/// in it, because they change often.
pub(super) fn fingerprint(event: &Event) -> Result<String, ToolError> {
    let mut guests: Vec<String> = event
        .attendees
        .iter()
        .flatten()
        .filter_map(|guest| guest.email.as_deref())
        .map(str::to_lowercase)
        .collect();
    guests.sort_unstable();
    let shown = json!({
        "title": event.summary, "start": event.start, "end": event.end, "place": event.location,
        "text": event.description, "repeats": event.recurrence, "guests": guests,
    });
    digest(&shown).map_err(|error| ToolError::internal(error.to_string()))
}

/// Returns the event if it is unchanged since it was seen, and the version that guards the next write.
///
/// # Errors
/// [`ToolError::Conflict`] with the current version; [`ToolError::NotFound`] if it is cancelled.
pub(super) async fn fetch_if_unchanged(
    cx: &ToolContext,
    diary: &CalendarClient,
    id: &str,
    seen: &str,
) -> Result<(Event, String), ToolError> {
    let event = fetch_event(diary, id).await?;
    if fingerprint(&event)? != seen {
        let mut now = event_view::list(cx, diary, &[event], false).await;
        now.content["status"] = json!("not_done");
        now.content["why"] = json!("the event was changed in the meantime");
        return Err(ToolError::Conflict { current: Box::new(now) });
    }
    let version =
        event.etag.clone().ok_or_else(|| ToolError::internal("Calendar returned no version of the event"))?;
    Ok((event, version))
}

/// Maps a change that Calendar rejected. If the event changed between the read and the write, a retry reads it again.
pub(super) fn into_write_error(trouble: GoogleApiError) -> ToolError {
    if trouble.is_conflict() {
        ToolError::RateLimited { retry_after_secs: 1 }
    } else {
        trouble.into_write_error()
    }
}
