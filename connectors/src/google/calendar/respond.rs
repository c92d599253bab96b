//! `calendar_respond`: answers an invitation, and notifies its organiser.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::google::scopes::EVENTS;
use async_trait::async_trait;
use google_calendar3::api::{Event, EventAttendee};
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
use super::{event_view, new_event};
use crate::google::account::Accounts;
use crate::google::parse_arguments;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "calendar_respond";
const SCHEMA: u32 = 1;
const NOTE_CHARS: usize = 500;

pub(super) struct Respond {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    event: String,
    #[serde(default)]
    series: bool,
    answer: Attendance,
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Attendance {
    Yes,
    No,
    Maybe,
}

/// The payload that the person approves.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResponsePayload {
    schema: u32,
    tool: String,
    account: String,
    /// The guest who answers; it might be another address of the account.
    #[serde(default)]
    guest: Option<String>,
    event: String,
    #[serde(rename = "seen")]
    fingerprint: String,
    #[serde(rename = "known_as")]
    event_title: String,
    /// When it takes place, for readers of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "known_at")]
    event_time: Option<String>,
    answer: Attendance,
    note: Option<String>,
}

impl Respond {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "event": event_schema(),
                "series": series_schema(),
                "answer": {"type": "string", "enum": ["yes", "no", "maybe"]},
                "note": {"type": "string", "minLength": 1, "maxLength": NOTE_CHARS,
                    "description": "What the organiser reads beside it; only where the person wants to say something."},
            },
            "required": ["event", "answer"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/calendar_respond.md");
        let doing = "Preparing your answer";
        Self { spec: super::spec(NAME, description, doing, Reach::Others, parameters), accounts }
    }
}

#[async_trait]
impl ActTool for Respond {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: Arguments = parse_arguments(args)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        let EventTarget { event, times, .. } =
            event_version::resolve_target(&diary, &asked.event, asked.series).await?;
        let own = event_view::own_attendee(&event).filter(|_| !event_view::is_organized_by_owner(&event));
        let own = own.ok_or_else(|| {
            ToolError::invalid("you're not a guest of that event, so there's nothing to answer")
        })?;
        if own.response_status.as_deref() == Some(asked.answer.as_response_status()) && asked.note.is_none() {
            return Err(ToolError::invalid("you've already given that answer"));
        }
        let note = asked.note.map(|note| new_event::validate_line("note", &note, NOTE_CHARS)).transpose()?;
        let response = ResponsePayload {
            schema: SCHEMA,
            tool: NAME.to_owned(),
            account: diary.address().to_owned(),
            event: event.id.clone().unwrap_or_default(),
            guest: own.email.clone(),
            fingerprint: event_version::fingerprint(&event)?,
            event_title: event_view::title(&event),
            event_time: event_view::describe_event_time(cx, &event),
            answer: asked.answer,
            note,
        };
        build_preview(cx, &response, &event, times)
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new("answer", "Tell me in the chat which answer you'd like to give.")])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        let response = ResponsePayload::from_payload(payload)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        event_version::check_account(&response.account, &diary)?;
        let (_, version) =
            event_version::fetch_if_unchanged(cx, &diary, &response.event, &response.fingerprint).await?;
        match diary.patch_event(&response.event, &version, &response.to_patch(permit.key())).await {
            Ok(_) => Ok(receipt(cx, &response)),
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
        let response = ResponsePayload::from_payload(payload)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        if let Err(fault) = event_version::check_account(&response.account, &diary) {
            return Ok(EffectLookup::Inconclusive(format!("couldn't check it: {fault}")));
        }
        let event = diary
            .fetch_event(&response.event)
            .await
            .map_err(|trouble| trouble.into_read_error("the event"))?;
        Ok(match event_view::own_attendee(&event) {
            Some(own) if response.is(own) => EffectLookup::Done(receipt(cx, &response)),
            _ => EffectLookup::NotDone,
        })
    }
}

impl Attendance {
    /// Returns Calendar's name of the answer.
    fn as_response_status(self) -> &'static str {
        match self {
            Self::Yes => "accepted",
            Self::No => "declined",
            Self::Maybe => "tentative",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::Maybe => "Maybe",
        }
    }
}

impl ResponsePayload {
    fn from_payload(payload: &Value) -> Result<Self, ToolError> {
        let response = Self::deserialize(payload)
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if response.schema != SCHEMA || response.tool != NAME {
            return Err(ToolError::internal("I can't read this request any more. Please ask me again"));
        }
        Ok(response)
    }

    /// Builds a patch with only the person's own answer; Calendar leaves the other guests unchanged.
    fn to_patch(&self, key: EffectKey) -> Event {
        let own = EventAttendee {
            email: Some(self.guest.as_ref().unwrap_or(&self.account).clone()),
            response_status: Some(self.answer.as_response_status().to_owned()),
            comment: self.note.clone(),
            ..EventAttendee::default()
        };
        Event {
            attendees: Some(vec![own]),
            attendees_omitted: Some(true),
            extended_properties: Some(event_version::effect_properties(key)),
            ..Event::default()
        }
    }

    fn is(&self, own: &EventAttendee) -> bool {
        own.response_status.as_deref() == Some(self.answer.as_response_status())
            && (self.note.is_none() || own.comment == self.note)
    }
}

fn build_preview(
    cx: &ToolContext,
    response: &ResponsePayload,
    event: &Event,
    which: SeriesScope,
) -> Result<Preview, ToolError> {
    let payload = serde_json::to_value(response).map_err(|error| ToolError::internal(error.to_string()))?;
    let words = ActionLabels {
        approve: format!("Approve & answer {}", response.answer.label()),
        in_progress: "Answering…".into(),
        done: "Answered".into(),
        not_done: "Not answered".into(),
        noun: "invitation".into(),
    };
    let organizer = event_view::organizer(event);
    let question = match which {
        SeriesScope::WholeSeries => "Answer every time of this invitation?",
        SeriesScope::Single | SeriesScope::ThisOccurrence => "Answer this invitation?",
    };
    let when = response.event_time.clone().unwrap_or_default();
    let mut fields = vec![
        ("Calendar".into(), response.account.clone()),
        ("Title".into(), response.event_title.clone()),
        (which.time_label(), when.clone()),
    ];
    fields.extend(which.field());
    fields.extend(organizer.iter().map(|organizer| ("From".to_owned(), organizer.clone())));
    let alias = response.guest.iter().find(|guest| !guest.eq_ignore_ascii_case(&response.account));
    fields.extend(alias.map(|alias| ("As".to_owned(), alias.clone())));
    fields.push(("Answer".into(), response.answer.label().to_owned()));
    fields.extend(response.note.iter().map(|note| ("Note".to_owned(), note.clone())));
    let does = format!("Answer {} to", response.answer.label().to_lowercase());
    let recipients: Vec<String> = organizer.into_iter().collect();
    Ok(Preview {
        summary: Some(event_view::event_summary(&does, which, &response.event_title, &when, &recipients)),
        fields,
        topic: Some(response.event.clone()),
        account: response.account.clone(),
        recipients,
        audience: Audience::Person(cx.principal.person),
        provenance: event_view::provenance(std::slice::from_ref(event)),
        ..Preview::new(payload, question, words)
    })
}

fn receipt(cx: &ToolContext, response: &ResponsePayload) -> ToolOutput {
    let content = json!({
        "status": "answered", "id": response.event, "title": response.event_title, "when": response.event_time,
        "answer": response.answer,
    });
    ToolOutput::trusted(content).private_to(cx.principal.person)
}
