//! Calendar v3: events with guests and rooms, recurrence, busy times.
//!
//! `draft` defines what a request can contain, `write` and `guests` who can change what, `show` and `read` what is
//! visible. Batches, quickAdd, watching and sync tokens are not supported and are rejected.

mod entry;
mod event_input;
mod event_json;
mod guests;
mod handle;
mod meet;
mod middleware;
mod model;
mod moment;
mod operations;
mod people;
mod read;
mod recurrence;
mod rejection;
mod rule;
mod store;
mod week;
mod write;

use std::sync::Arc;

use axum::Router;

use super::Shared;
pub use model::{Attendee, CalendarEvent, EventEdit, Invitation, InvitationKind, NewEvent};
pub(super) use operations::{OPERATIONS, REPEATED};
pub(super) use store::Calendars;

pub(super) fn routes() -> Router<Arc<Shared>> {
    middleware::routes().merge(week::routes())
}
