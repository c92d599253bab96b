//! One or more weeks of a person's calendar, as JSON and as a plain page: `/_sandbox/…`. This is no Google API, and Nod
//! does not use it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State as Shares};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use serde_json::json;

use super::model::{CalendarEvent, clock, jiff_time};
use super::moment::Moment;
use crate::google::Shared;
use crate::google::consent::escape;

const MAX_POLL_TIME: Duration = Duration::from_secs(25);
const MAX_WEEKS: i64 = 8;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/_sandbox/calendar", get(json_of)).route("/_sandbox/week", get(page))
}

#[derive(Debug, Deserialize)]
struct Ask {
    account: String,
    /// Any day of the week; today if `None`.
    day: Option<String>,
    /// The number of weeks from there on; one if `None`.
    weeks: Option<i64>,
    /// Answer only once the version differs from this one, or after 25 s.
    since: Option<u64>,
}

struct Week {
    name: String,
    zone: TimeZone,
    monday: Date,
    weeks: i64,
    meetings: Vec<CalendarEvent>,
}

impl Week {
    fn days(&self) -> impl Iterator<Item = (Date, Vec<&CalendarEvent>)> {
        (0..7 * self.weeks).filter_map(|number| self.monday.checked_add(number.days()).ok()).map(|day| {
            let next = day.checked_add(1.day()).unwrap_or(day);
            let (from, to) = (Moment::Day(day).at(&self.zone), Moment::Day(next).at(&self.zone));
            let falls = |one: &&CalendarEvent| jiff_time(one.start) < to && jiff_time(one.end) > from;
            (day, self.meetings.iter().filter(falls).collect())
        })
    }

    fn clock(&self, at: DateTime<Utc>) -> String {
        jiff_time(at).to_zoned(self.zone.clone()).strftime("%H:%M").to_string()
    }
}

impl Shared {
    pub(super) fn meetings(&self, email: &str, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<CalendarEvent> {
        let (state, email) = (self.state(), email.to_lowercase());
        let (all, from, to) = (&state.calendars, jiff_time(from), jiff_time(to));
        let Some(zone) = all.owner(&email).map(super::store::Owner::zone) else { return Vec::new() };
        let mut some = all.expand_series(&email, to);
        some.retain(|one| !one.is_gone_for(&email) && one.span.overlaps(Some(from), Some(to), &zone));
        some.sort_by_key(|one| one.span.start.at(&zone));
        some.iter().filter_map(|one| all.meeting(one, &email)).collect()
    }

    fn week(&self, ask: &Ask) -> Option<Week> {
        let (name, zone) = {
            let state = self.state();
            let owner = state.calendars.owner(&ask.account)?;
            (owner.name.clone(), owner.zone())
        };
        let today = jiff_time(self.now()).to_zoned(zone.clone()).date();
        let day = match &ask.day {
            Some(day) => day.parse().ok()?,
            None => today,
        };
        let monday = day.checked_sub(i64::from(day.weekday().since(Weekday::Monday)).days()).ok()?;
        let weeks = ask.weeks.unwrap_or(1).clamp(1, MAX_WEEKS);
        let next = monday.checked_add(weeks.weeks()).ok()?;
        let at = |day: Date| -> Timestamp { Moment::Day(day).at(&zone) };
        let meetings = self.meetings(&ask.account, clock(at(monday)), clock(at(next)));
        Some(Week { name, zone, monday, weeks, meetings })
    }
}

async fn json_of(Shares(shared): Shares<Arc<Shared>>, Query(ask): Query<Ask>) -> Response {
    let mut version = shared.version.subscribe();
    if let Some(since) = ask.since {
        let _ = tokio::time::timeout(MAX_POLL_TIME, version.wait_for(|now| *now != since)).await;
    }
    // The version is read first, so a change in between is shown twice instead of never.
    let seen = *version.borrow();
    let Some(week) = shared.week(&ask) else { return StatusCode::NOT_FOUND.into_response() };
    let email = ask.account.to_lowercase();
    let days: Vec<_> =
        week.days().map(|(day, some)| json!({"date": day.to_string(), "events": some})).collect();
    let mut letters = shared.state().calendars.notices.clone();
    letters.retain(|one| one.to == email);
    Json(json!({
        "version": seen,
        "account": email,
        "name": week.name,
        "zone": week.zone.iana_name(),
        "days": days,
        "invitations": letters,
    }))
    .into_response()
}

async fn page(Shares(shared): Shares<Arc<Shared>>, Query(ask): Query<Ask>) -> Response {
    match shared.week(&ask) {
        Some(week) => Html(render(&week, &ask.account.to_lowercase())).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn render(week: &Week, email: &str) -> String {
    let days: String = week
        .days()
        .map(|(day, meetings)| {
            let all: String = meetings.iter().map(|one| card(week, one, email)).collect();
            let all = if all.is_empty() { "<p class=\"free\">Nothing.</p>".to_owned() } else { all };
            format!("<section><h2>{}</h2>{all}</section>", day.strftime("%A, %-d %B"))
        })
        .collect();
    let other = |days: i64, label: &str| {
        let day = week.monday.checked_add(days.days()).unwrap_or(week.monday);
        format!(r#"<a href="?account={}&amp;day={day}">{label}</a>"#, escape(email))
    };
    format!(
        r#"<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="5"><title>Sandbox Google – calendar of {name}</title>
<style>body{{font:15px system-ui;margin:2em;color:#222}}main{{display:grid;gap:1em;grid-template-columns:repeat(auto-fill,minmax(15em,1fr))}}
h2{{font-size:1em;border-bottom:1px solid #ccc;padding-bottom:.3em}}article{{border-left:4px solid #0b57d0;background:#eef4ff;border-radius:4px;padding:.5em .7em;margin:.6em 0}}
article.open{{border-left-style:dashed;background:#fff;outline:1px solid #cfdcf5}}h3{{font-size:1em;margin:0}}p{{margin:.2em 0}}small,.free{{color:#666}}a{{margin-right:1em}}</style>
<h1>{name} <small>{mail} · {zone}</small></h1><p>{before}{after}</p><main>{days}</main><p><small>Nothing here leaves this machine.</small></p>"#,
        name = escape(&week.name),
        mail = escape(email),
        zone = escape(week.zone.iana_name().unwrap_or("UTC")),
        before = other(-7, "← the week before"),
        after = other(7, "the week after →"),
    )
}

fn card(week: &Week, meeting: &CalendarEvent, email: &str) -> String {
    let when = match meeting.all_day {
        true => "all day".to_owned(),
        false => format!("{}–{}", week.clock(meeting.start), week.clock(meeting.end)),
    };
    let title = if meeting.title.is_empty() { "(no title)" } else { &meeting.title };
    let mut lines = Vec::new();
    if !meeting.location.is_empty() {
        lines.push(escape(&meeting.location));
    }
    if meeting.organizer != email {
        lines.push(format!("from {}", escape(&meeting.organizer)));
    }
    for guest in &meeting.guests {
        lines.push(format!("{} {}", answer(&guest.response), escape(&guest.email)));
    }
    lines.extend(meeting.link.as_ref().map(|link| escape(link)));
    let lines: String = lines.iter().map(|line| format!("<p><small>{line}</small></p>")).collect();
    let open = if meeting.response(email) == Some("needsAction") { r#" class="open""# } else { "" };
    format!("<article{open}><h3>{}</h3><p>{when}</p>{lines}</article>", escape(title))
}

fn answer(response: &str) -> &'static str {
    match response {
        "accepted" => "✓",
        "declined" => "✗",
        "tentative" => "?",
        _ => "…",
    }
}
