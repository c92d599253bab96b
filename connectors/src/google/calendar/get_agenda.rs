//! `calendar_get_agenda`: lists the events of a day, or between two times.

use std::sync::Arc;

use crate::google::scopes::EVENTS;
use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolError, ToolResult, ToolSpec};
use nod_when::when::ExactTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::EventQuery;
use super::event_time::EventTime;
use super::event_view;
use crate::google::account::Accounts;
use crate::google::parse_arguments;

const MAX_EVENTS: usize = 100;

pub(super) struct GetAgenda {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    when: ExactTime,
    query: Option<String>,
}

impl GetAgenda {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "when": {"type": "string", "format": "when", "minLength": 1, "maxLength": 200,
                    "description": "The day or days, in the person's own words: “tomorrow”, “next week”, “Friday afternoon”."},
                "query": {"type": "string", "minLength": 1, "maxLength": 200,
                    "description": "Only events that have these words in their title, text, place or guests."},
            },
            "required": ["when"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/calendar_get_agenda.md");
        let doing = "Checking the calendar";
        let spec = super::spec("calendar_get_agenda", description, doing, Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for GetAgenda {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let zone = event_view::zone(&cx.principal);
        let times = EventTime::search_range(&asked.when, None)?;
        let (from, until) =
            times.instant_range(&zone).ok_or_else(|| ToolError::invalid("that's too far away"))?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        let query = asked.query.as_deref();
        let wanted = EventQuery { from: Some(from), until: Some(until), query, max: MAX_EVENTS };
        let mut events =
            diary.list_events(wanted).await.map_err(|trouble| trouble.into_read_error("the calendar"))?;
        let (from, until) = times.bounds(&zone)?;
        events.retain(|event| event_view::overlaps_days(event, &from, Some(&until), &zone));
        let more = events.len() > MAX_EVENTS;
        let mut output = event_view::list(cx, &diary, &events[..events.len().min(MAX_EVENTS)], more).await;
        output.content["asked_for"] = json!(times.describe(&zone, cx.now));
        Ok(output)
    }
}
