//! `calendar_list_upcoming`: lists the next events.

use std::sync::Arc;

use crate::google::scopes::EVENTS;
use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolError, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::EventQuery;
use super::event_time::instant;
use super::event_view;
use crate::google::account::Accounts;
use crate::google::parse_arguments;

const DEFAULT_EVENTS: usize = 10;
const MAX_EVENTS: usize = 50;

pub(super) struct ListUpcoming {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    max: Option<usize>,
    query: Option<String>,
}

impl ListUpcoming {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "max": {"type": "integer", "minimum": 1, "maximum": MAX_EVENTS, "description": "How many; 10 if left out."},
                "query": {"type": "string", "minLength": 1, "maxLength": 200,
                    "description": "Only events that have these words in their title, text, place or guests."},
            },
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/calendar_list_upcoming.md");
        let doing = "Checking the calendar";
        let spec = super::spec("calendar_list_upcoming", description, doing, Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ListUpcoming {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let diary = self.accounts.calendar_client(cx, &[EVENTS]).await?;
        let max = asked.max.unwrap_or(DEFAULT_EVENTS);
        let wanted =
            EventQuery { from: Some(cx.now), query: asked.query.as_deref(), max, ..EventQuery::default() };
        let mut events =
            diary.list_events(wanted).await.map_err(|trouble| trouble.into_read_error("the calendar"))?;
        let more = events.len() > max;
        let zone = event_view::zone(&cx.principal);
        let now = instant(cx.now)
            .ok_or_else(|| ToolError::internal("there's no such time"))?
            .to_zoned(zone.clone());
        events.retain(|event| event_view::overlaps_days(event, &now, None, &zone));
        Ok(event_view::list(cx, &diary, &events[..events.len().min(max)], more).await)
    }
}
