//! Calendar with a person's own account: reads it, and changes it as that person approved.
//!
//! [`CalendarClient`] is the only access to Calendar; each tool has its own file.

mod cancel_event;
mod client;
mod conflicts;
mod create_event;
mod event_change;
mod event_time;
mod event_version;
mod event_view;
mod find_free_slots;
mod form;
mod get_agenda;
mod guarded_request;
mod list_upcoming;
mod new_event;
mod recurrence;
mod respond;
mod room;
mod slot_search;
mod update_event;

use std::sync::Arc;

use nod_contract::tool::{Reach, Tool, ToolSpec};
use nod_people::people::colleagues::Colleagues;
use serde_json::Value;

use super::account::Accounts;
use nod_contract::provider::Provider;

pub(in crate::google) use client::CalendarClient;
pub use client::CalendarEndpoint;
pub use room::Room;

/// The names of the tools that change something, for the policy rules of an administrator.
pub(super) const WRITE_TOOLS: [&str; 4] =
    [create_event::NAME, update_event::NAME, cancel_event::NAME, respond::NAME];

/// Calendar's tools.
pub(super) fn tools(accounts: &Arc<Accounts>, rooms: &Arc<[Room]>, colleagues: &Colleagues) -> Vec<Tool> {
    vec![
        Tool::Read(Arc::new(list_upcoming::ListUpcoming::new(accounts.clone()))),
        Tool::Read(Arc::new(get_agenda::GetAgenda::new(accounts.clone()))),
        Tool::Read(Arc::new(find_free_slots::FindFreeSlots::new(accounts.clone(), colleagues.clone()))),
        Tool::Act(Arc::new(create_event::CreateEvent::new(
            accounts.clone(),
            rooms.clone(),
            colleagues.clone(),
        ))),
        Tool::Act(Arc::new(update_event::UpdateEvent::new(accounts.clone()))),
        Tool::Act(Arc::new(cancel_event::CancelEvent::new(accounts.clone()))),
        Tool::Act(Arc::new(respond::Respond::new(accounts.clone()))),
    ]
}

fn spec(
    name: &'static str,
    description: &'static str,
    doing: &'static str,
    reach: Reach,
    parameters: Value,
) -> ToolSpec {
    ToolSpec {
        name,
        description: description.trim(),
        parameters,
        reach,
        provider: Some(Provider::Google),
        status_text: doing,
    }
}

#[cfg(test)]
pub(super) fn reserialize_payload(tool: &str, payload: &Value) -> Option<Value> {
    use super::yesterday_tests::reserialize;
    match tool {
        "calendar_create_event" => Some(reserialize::<new_event::NewEvent>(payload)),
        "calendar_update_event" => Some(reserialize::<event_change::EventChange>(payload)),
        "calendar_cancel_event" => Some(reserialize::<cancel_event::CancelPayload>(payload)),
        "calendar_respond" => Some(reserialize::<respond::ResponsePayload>(payload)),
        _ => None,
    }
}
