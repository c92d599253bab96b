//! Calendar v3: events with guests and rooms, recurrence, busy times.
//!
//! `draft` defines what a request can contain, `write` and `guests` who can change what, `show` and `read` what is
//! visible. Batches, quickAdd, watching and sync tokens are not supported and are rejected.

mod control;
mod door;
mod draft;
mod entry;
mod guests;
mod meet;
mod moment;
mod operations;
mod people;
mod read;
mod recurrence;
mod refusal;
mod rule;
mod show;
mod store;
mod view;
mod week;
mod write;

use std::sync::Arc;

use axum::Router;

use super::Shared;
pub(super) use operations::{OPERATIONS, REPEATED};
pub(super) use store::Calendars;
pub use view::{Attendee, CalendarEvent, EventEdit, Invitation, InvitationKind, NewEvent};

pub(super) fn routes() -> Router<Arc<Shared>> {
    door::routes().merge(week::routes())
}
