//! `calendar_find_free_slots`: when several people are free. For other people it shows only free or busy.

use std::sync::Arc;

use crate::google::scopes::FREEBUSY;
use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolOutput, ToolResult, ToolSpec};
use nod_people::people::colleagues::Colleagues;
use nod_when::when::ExactTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::event_time::EventTime;
use super::slot_search::{self, SlotSearch};
use super::{event_view, new_event};
use crate::google::account::Accounts;
use crate::google::parse_arguments;

const DEFAULT_SLOTS: usize = 5;
const DEFAULT_MINUTES: i64 = 30;
const MAX_MINUTES: i64 = 24 * 60;

pub(super) struct FindFreeSlots {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
    colleagues: Colleagues,
}

#[derive(Deserialize)]
struct Arguments {
    within: ExactTime,
    #[serde(default)]
    people: Vec<String>,
    minutes: Option<i64>,
    max: Option<usize>,
}

impl FindFreeSlots {
    pub(super) fn new(accounts: Arc<Accounts>, colleagues: Colleagues) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "within": {"type": "string", "format": "when", "minLength": 1, "maxLength": 200,
                    "description": "Where to look, in the person's own words: “next week”, “tomorrow afternoon”."},
                "people": new_event::guests_schema("Who else must have time: addresses, or names of people."),
                "minutes": {"type": "integer", "minimum": 5, "maximum": MAX_MINUTES, "description": "How long; 30 if left out."},
                "max": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many; 5 if left out."},
            },
            "required": ["within"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/calendar_find_free_slots.md");
        let doing = "Looking for a time";
        let spec = super::spec("calendar_find_free_slots", description, doing, Reach::Reads, parameters);
        Self { spec, accounts, colleagues }
    }
}

#[async_trait]
impl ReadTool for FindFreeSlots {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let zone = event_view::zone(&cx.principal);
        let minutes = asked.minutes.or(asked.within.minutes());
        let (earliest, latest) = EventTime::search_range(&asked.within, minutes)?.bounds(&zone)?;
        let diary = self.accounts.calendar_client(cx, &[FREEBUSY]).await?;
        let search = SlotSearch {
            people: &asked.people,
            earliest: &earliest,
            latest: &latest,
            minutes: minutes.unwrap_or(DEFAULT_MINUTES),
            is_exact: matches!(asked.within, ExactTime::At { .. } | ExactTime::Span { .. }),
            limit: asked.max.unwrap_or(DEFAULT_SLOTS),
        };
        let found = slot_search::search_slots(cx, &diary, &self.colleagues, &search).await?;
        let slots: Vec<Value> = found
            .slots
            .iter()
            .map(|slot| slot_search::choice(cx, slot))
            .map(|choice| json!({"when": choice.label, "exact": choice.value}))
            .collect();
        let mut content = json!({"slots": slots, "zone": cx.principal.zone});
        if !found.unseen.is_empty() {
            content["cannot_see"] = json!(found.unseen);
        }
        Ok(ToolOutput::trusted(content).private_to(cx.principal.person))
    }
}
