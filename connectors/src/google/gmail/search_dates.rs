//! Days and times of mail, in the zone of the mailbox's owner.

use google_gmail1::api::Message;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use nod_contract::tool::{Principal, ToolContext, ToolError};
use nod_when::when;

/// The search operators that a day can follow.
const BOUNDS: [&str; 4] = ["after:", "before:", "newer:", "older:"];

/// Returns the zone in which this person reads.
pub(super) fn zone(principal: &Principal) -> TimeZone {
    TimeZone::get(&principal.zone).unwrap_or(TimeZone::UTC)
}

/// Formats when Gmail received it: "Fri 6 Mar, 15:00 CET".
pub(super) fn received_at(message: &Message, cx: &ToolContext) -> Option<String> {
    let zone = zone(&cx.principal);
    let at = Timestamp::from_millisecond(message.internal_date?).ok()?;
    Some(when::format_time(&at.to_zoned(zone.clone()), &zone, cx.now))
}

/// Rewrites a search for Gmail. Gmail's days begin in California, unless it gets seconds
/// (<https://developers.google.com/workspace/gmail/api/guides/filtering>).
///
/// # Errors
/// [`ToolError::InvalidArguments`] for a value that is not a day.
pub(super) fn resolve_dates(query: &str, zone: &TimeZone) -> Result<String, ToolError> {
    let (mut written, mut rest, mut within_quotes) = (String::with_capacity(query.len()), query, false);
    let mut begins = true;
    while let Some(c) = rest.chars().next() {
        if begins && let Some(bound) = date_operator(rest) {
            let value = &rest[bound.len()..];
            let value = &value[..value.find(is_term_end).unwrap_or(value.len())];
            written.push_str(bound);
            written.push_str(&seconds(bound, value, zone)?);
            rest = &rest[bound.len() + value.len()..];
            begins = false;
            continue;
        }
        within_quotes ^= c == '"';
        begins = !within_quotes && (c.is_whitespace() || "-+({\"".contains(c));
        written.push(c);
        rest = &rest[c.len_utf8()..];
    }
    Ok(written)
}

/// Returns the operator as it is written there.
fn date_operator(text: &str) -> Option<&str> {
    let starts =
        |bound: &&str| text.get(..bound.len()).is_some_and(|start| start.eq_ignore_ascii_case(bound));
    let length = BOUNDS.iter().find(|bound| starts(bound))?.len();
    // An operator without a value is a word.
    let value = text[length..].chars().next()?;
    (!is_term_end(value)).then(|| &text[..length])
}

fn is_term_end(c: char) -> bool {
    c.is_whitespace() || "(){}\"".contains(c)
}

/// Returns the day's midnight in that zone.
fn seconds(bound: &str, value: &str, zone: &TimeZone) -> Result<String, ToolError> {
    if value.len() > 8 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(value.to_owned());
    }
    let midnight = date(value).and_then(|date| date.to_zoned(zone.clone()).ok());
    let midnight = midnight.ok_or_else(|| {
        ToolError::invalid(format!("{bound}{value} isn't a day. Write it like {bound}2026/03/06"))
    })?;
    Ok(midnight.timestamp().as_second().to_string())
}

fn date(value: &str) -> Option<Date> {
    let parts: Vec<&str> = value.split(['/', '-']).collect();
    let [year, month, day] = parts[..] else { return None };
    if year.len() != 4 {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_day_begins_at_midnight_where_the_person_is() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        for (query, wanted) in [
            ("from:bo after:2026/03/06", "from:bo after:1772751600"),
            ("-before:2026-3-6 (Older:2026/07/01)", "-before:1772751600 (Older:1782856800)"),
            ("{newer:2026/03/06 is:unread}", "{newer:1772751600 is:unread}"),
            ("after:1772751600 newer_than:7d older_than:1y", "after:1772751600 newer_than:7d older_than:1y"),
            (
                "\"sold after:2026/03/06\" subject:\"x\" before:2026/03/06",
                "\"sold after:2026/03/06\" subject:\"x\" before:1772751600",
            ),
            ("the day after: hereafter:2026/03/06 ä", "the day after: hereafter:2026/03/06 ä"),
        ] {
            assert_eq!(resolve_dates(query, &berlin).as_deref(), Ok(wanted));
        }
        for wrong in ["after:2026/02/30", "older:1d", "before:06/03/2026", "after:2026", "after:yesterday"] {
            assert!(
                matches!(resolve_dates(wrong, &berlin), Err(ToolError::InvalidArguments { .. })),
                "{wrong}"
            );
        }
    }

    #[test]
    fn where_the_clocks_change_at_midnight_the_day_begins_after() {
        let beirut = TimeZone::get("Asia/Beirut").unwrap();
        assert_eq!(resolve_dates("after:2026/03/29", &beirut).as_deref(), Ok("after:1774735200"));
    }
}
