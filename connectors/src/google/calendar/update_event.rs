//! `calendar_update_event`: changes an event if it is unchanged since the person saw it. Its ETag guards the write, so
//! other people's changes are not overwritten, and ours is not made twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::google::scopes::{EVENTS, FREEBUSY};
use async_trait::async_trait;
use google_calendar3::api::Event;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use serde_json::{Value, json};

use super::event_change::{self, EventChange, EventChangeArguments};
use super::event_version::{self, SeriesScope};
use super::{conflicts, event_view};
use crate::google::account::Accounts;
use crate::google::parse_arguments;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "calendar_update_event";

pub(super) struct UpdateEvent {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl UpdateEvent {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/calendar_update_event.md");
        let spec =
            super::spec(NAME, description, "Preparing the change", Reach::Others, event_change::parameters());
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for UpdateEvent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: EventChangeArguments = parse_arguments(args)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS, FREEBUSY]).await?;
        let meant = event_version::resolve_target(&diary, &asked.event, asked.series).await?;
        let zone = event_view::zone(&cx.principal);
        let change = EventChange::new(asked, &meant, NAME, diary.address(), (&zone, cx.now))?;
        let mut preview = change.preview(cx, &meant)?;
        match change.new_times() {
            // The first time might be long past, so busy guests then do not matter.
            Some(_) if meant.times == SeriesScope::WholeSeries => {
                preview
                    .private_risks
                    .push("I haven't checked who is busy at every one of its times".to_owned());
            }
            Some(times) => {
                let (guests, but) = (change.new_guests(&meant.event), Some(&meant.event));
                preview.private_risks =
                    conflicts::describe_conflicts(&diary, &guests, times, but, (&zone, cx.now)).await;
            }
            None => {}
        }
        Ok(preview)
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new("title", "Tell me in the chat what should be different.")])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        let change = EventChange::from_payload(payload, NAME)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        change.check_account(&diary)?;
        let (now, version) =
            event_version::fetch_if_unchanged(cx, &diary, &change.event, &change.fingerprint).await?;
        change.check_not_started(&now, &event_view::zone(&cx.principal), cx.now)?;
        let written = change.to_patch(&now, permit.key())?;
        let done = match EventChange::replacement_event(&now, &written) {
            Some(whole) => diary.update_event(&change.event, &version, &whole).await,
            None => diary.patch_event(&change.event, &version, &written).await,
        };
        match done {
            Ok(event) => Ok(receipt(cx, &event)),
            Err(trouble) => Err(event_version::into_write_error(trouble)),
        }
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let change = EventChange::from_payload(payload, NAME)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        if let Err(fault) = change.check_account(&diary) {
            return Ok(EffectLookup::Inconclusive(format!("couldn't check it: {fault}")));
        }
        match diary.fetch_event(&change.event).await {
            Ok(event) if event_version::carries(&event, key) => Ok(EffectLookup::Done(receipt(cx, &event))),
            // Whatever it is now: the next attempt reads before it writes, and its ETag prevents overwriting newer
            // changes.
            Ok(_) => Ok(EffectLookup::NotDone),
            Err(trouble) => Err(trouble.into_read_error("the event")),
        }
    }
}

/// Reports the current event. It is from the person's calendar, so only they can read it.
fn receipt(cx: &ToolContext, event: &Event) -> ToolOutput {
    let zone = event_view::zone(&cx.principal);
    let content = json!({
        "status": "changed",
        "id": event.id,
        "link": event.html_link,
        "in": "Calendar",
        "title": event_view::title(event),
        "when": event_view::times(event, &zone).map(|times| times.describe(&zone, cx.now)),
        "guests": event_view::other_guests(event),
    });
    event_view::output(cx, content, std::slice::from_ref(event))
}
