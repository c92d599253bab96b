//! The supported operations of Calendar v3.

use axum::http::Method;

use crate::google::rules::Operation;

const READ: &[&str] =
    &["calendar", "calendar.readonly", "calendar.events", "calendar.events.readonly", OWNED, OWNED_READONLY];
const WRITE: &[&str] = &["calendar", "calendar.events", OWNED];
const BUSY: &[&str] = &["calendar", "calendar.readonly", "calendar.freebusy", "calendar.events.freebusy"];
const LISTED: &[&str] =
    &["calendar", "calendar.readonly", "calendar.calendarlist", "calendar.calendarlist.readonly"];
const CALENDARS: &[&str] =
    &["calendar", "calendar.readonly", "calendar.calendars", "calendar.calendars.readonly"];
const SETTINGS: &[&str] =
    &["calendar", "calendar.readonly", "calendar.settings", "calendar.settings.readonly"];

/// Scopes that give access only to the person's own calendar.
pub(super) const OWNED: &str = "calendar.events.owned";
pub(super) const OWNED_READONLY: &str = "calendar.events.owned.readonly";

const LIST: &[&str] = &[
    "alwaysIncludeEmail",
    "eventTypes",
    "iCalUID",
    "maxAttendees",
    "maxResults",
    "orderBy",
    "pageToken",
    "privateExtendedProperty",
    "q",
    "sharedExtendedProperty",
    "showDeleted",
    "singleEvents",
    "timeMax",
    "timeMin",
    "timeZone",
    "updatedMin",
];
const GET: &[&str] = &["alwaysIncludeEmail", "maxAttendees", "timeZone"];
const INSTANCES: &[&str] = &[
    "alwaysIncludeEmail",
    "maxAttendees",
    "maxResults",
    "pageToken",
    "showDeleted",
    "timeMax",
    "timeMin",
    "timeZone",
];
// `sendNotifications` is deprecated, and `supportsAttachments` would have no effect here.
const INSERT: &[&str] = &["conferenceDataVersion", "maxAttendees", "sendUpdates"];
const CHANGE: &[&str] = &["alwaysIncludeEmail", "conferenceDataVersion", "maxAttendees", "sendUpdates"];
const DELETE: &[&str] = &["sendUpdates"];

macro_rules! operation {
    ($id:literal, $method:ident, $path:expr, $query:expr, $scopes:expr) => {
        Operation {
            id: concat!("calendar.", $id),
            method: Method::$method,
            path: &$path,
            query: $query,
            scopes: $scopes,
            upload: false,
        }
    };
}

pub(in crate::google) static OPERATIONS: [Operation; 12] = [
    operation!("events.list", GET, ["calendars", "*", "events"], LIST, READ),
    operation!("events.insert", POST, ["calendars", "*", "events"], INSERT, WRITE),
    operation!("events.get", GET, ["calendars", "*", "events", "*"], GET, READ),
    operation!("events.update", PUT, ["calendars", "*", "events", "*"], CHANGE, WRITE),
    operation!("events.patch", PATCH, ["calendars", "*", "events", "*"], CHANGE, WRITE),
    operation!("events.delete", DELETE, ["calendars", "*", "events", "*"], DELETE, WRITE),
    operation!("events.instances", GET, ["calendars", "*", "events", "*", "instances"], INSTANCES, READ),
    operation!("freebusy.query", POST, ["freeBusy"], &[], BUSY),
    operation!(
        "calendarList.list",
        GET,
        ["users", "me", "calendarList"],
        &["maxResults", "minAccessRole", "pageToken", "showDeleted", "showHidden"],
        LISTED
    ),
    operation!("calendarList.get", GET, ["users", "me", "calendarList", "*"], &[], LISTED),
    operation!("calendars.get", GET, ["calendars", "*"], &[], CALENDARS),
    operation!("settings.get", GET, ["users", "me", "settings", "*"], &[], SETTINGS),
];

/// Parameters that can be repeated.
pub(in crate::google) const REPEATED: [&str; 3] =
    ["eventTypes", "privateExtendedProperty", "sharedExtendedProperty"];
