//! `calendar_cancel_event`: cancels an event if it is unchanged since the person saw it, and notifies its guests.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::google::scopes::EVENTS;
use async_trait::async_trait;
use google_calendar3::api::Event;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::privacy::Audience;
use nod_contract::tool::{
    ActTool, ActionLabels, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::event_change::{event_schema, series_schema};
use super::event_version::{self, EventTarget, SeriesScope};
use super::event_view;
use crate::google::account::Accounts;
use crate::google::parse_arguments;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "calendar_cancel_event";
const SCHEMA: u32 = 1;

pub(super) struct CancelEvent {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    event: String,
    #[serde(default)]
    series: bool,
}

/// The payload that the person approves.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelPayload {
    schema: u32,
    tool: String,
    account: String,
    event: String,
    #[serde(rename = "seen")]
    fingerprint: String,
    #[serde(rename = "known_as")]
    event_title: String,
    /// When it was to take place, for readers of the cancellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "known_at")]
    event_time: Option<String>,
}

impl CancelEvent {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"event": event_schema(), "series": series_schema()},
            "required": ["event"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/calendar_cancel_event.md");
        Self {
            spec: super::spec(NAME, description, "Cancelling an event", Reach::Others, parameters),
            accounts,
        }
    }
}

#[async_trait]
impl ActTool for CancelEvent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: Arguments = parse_arguments(args)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        let EventTarget { event, times, .. } =
            event_version::resolve_target(&diary, &asked.event, asked.series).await?;
        if !event_view::is_organized_by_owner(&event) {
            let reason = "only its organiser can cancel it. You can decline it instead".to_owned();
            return Err(ToolError::Forbidden { reason });
        }
        let cancel = CancelPayload {
            schema: SCHEMA,
            tool: NAME.to_owned(),
            account: diary.address().to_owned(),
            event: event.id.clone().unwrap_or_default(),
            fingerprint: event_version::fingerprint(&event)?,
            event_title: event_view::title(&event),
            event_time: event_view::describe_event_time(cx, &event),
        };
        build_preview(cx, &cancel, &event, times)
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new("title", "There's nothing to edit here. Deny it instead.")])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, _: Permit) -> ToolResult {
        let cancel = CancelPayload::from_payload(payload)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        event_version::check_account(&cancel.account, &diary)?;
        let (_, version) =
            match event_version::fetch_if_unchanged(cx, &diary, &cancel.event, &cancel.fingerprint).await {
                // An earlier attempt cancelled it, or a person did by hand a moment before.
                Err(ToolError::NotFound { .. }) => return Ok(receipt(cx, &cancel)),
                still => still?,
            };
        match diary.delete_event(&cancel.event, &version).await {
            Ok(()) => Ok(receipt(cx, &cancel)),
            Err(trouble) if trouble.is_gone() => Ok(receipt(cx, &cancel)),
            Err(trouble) => Err(event_version::into_write_error(trouble)),
        }
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        _: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let cancel = CancelPayload::from_payload(payload)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        if let Err(fault) = event_version::check_account(&cancel.account, &diary) {
            return Ok(EffectLookup::Inconclusive(format!("couldn't check it: {fault}")));
        }
        match diary.fetch_event(&cancel.event).await {
            Ok(event) if event_view::is_cancelled(&event) => Ok(EffectLookup::Done(receipt(cx, &cancel))),
            Ok(_) => Ok(EffectLookup::NotDone),
            Err(trouble) if trouble.is_gone() => Ok(EffectLookup::Done(receipt(cx, &cancel))),
            Err(trouble) => Err(trouble.into_read_error("the event")),
        }
    }
}

impl CancelPayload {
    fn from_payload(payload: &Value) -> Result<Self, ToolError> {
        let cancel = Self::deserialize(payload)
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if cancel.schema != SCHEMA || cancel.tool != NAME {
            return Err(ToolError::internal("I can't read this request any more. Please ask me again"));
        }
        Ok(cancel)
    }
}

fn build_preview(
    cx: &ToolContext,
    cancel: &CancelPayload,
    event: &Event,
    which: SeriesScope,
) -> Result<Preview, ToolError> {
    let payload = serde_json::to_value(cancel).map_err(|error| ToolError::internal(error.to_string()))?;
    let words = ActionLabels {
        approve: "Approve & cancel event".into(),
        in_progress: "Cancelling…".into(),
        done: "Cancelled".into(),
        not_done: "Not cancelled".into(),
        noun: "event".into(),
    };
    let guests = event_view::other_guests(event);
    let question = if which == SeriesScope::WholeSeries {
        "Cancel every time of this event?"
    } else {
        "Cancel this event?"
    };
    let when = cancel.event_time.clone().unwrap_or_default();
    let mut fields = vec![
        ("Calendar".into(), cancel.account.clone()),
        ("Title".into(), cancel.event_title.clone()),
        (which.time_label(), when.clone()),
    ];
    fields.extend(which.field());
    fields.push(("Guests".into(), guests.join(", ")));
    Ok(Preview {
        summary: Some(event_view::event_summary("Cancel", which, &cancel.event_title, &when, &guests)),
        fields,
        topic: Some(cancel.event.clone()),
        account: cancel.account.clone(),
        recipients: guests,
        audience: Audience::Person(cx.principal.person),
        provenance: event_view::provenance(std::slice::from_ref(event)),
        ..Preview::new(payload, question, words)
    })
}

fn receipt(cx: &ToolContext, cancel: &CancelPayload) -> ToolOutput {
    let content = json!({
        "status": "cancelled", "id": cancel.event, "title": cancel.event_title, "when": cancel.event_time,
    });
    ToolOutput::trusted(content).private_to(cx.principal.person)
}
