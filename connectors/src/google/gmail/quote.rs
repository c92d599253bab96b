//! The mail below the person's own words: quoted under an answer, whole in a forward, both in Gmail's format.

use google_gmail1::api::Message;
use jiff::tz::TimeZone;
use nod_contract::tool::{MAX_BODY_CHARS, ToolError};
use serde::{Deserialize, Serialize};

use super::message::{Body, BoundedText, header, header_recipients, one_line};

/// The maximum number of characters quoted under an answer; a longer mail is cut, and a line says so.
const MAX_QUOTED_CHARS: usize = 10_000;
const HEADER_SHOWN: usize = 300;

/// Another mail in a letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quoted {
    /// The exact text as it is sent.
    pub text: String,
    /// For example "the mail of bo@acme.test".
    #[serde(rename = "of")]
    pub source_label: String,
    /// The addresses that already have it, or that answers to it go to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
}

/// Returns the quote under an answer.
pub(super) fn quote_for_reply(mail: &Message, body: &Body, from: &str, zone: &str) -> Quoted {
    let BoundedText { text, truncation_note: cut } = body.to_bounded_text(MAX_QUOTED_CHARS);
    let who = one_line(&header(mail, "From"), HEADER_SHOWN);
    let mut lines = vec![format!("On {}, {who} wrote:", format_date(mail, zone)), String::new()];
    let quoted = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
    lines.extend(printable_lines(&text).lines().map(quoted));
    if !cut.is_empty() {
        lines.push("> […]".to_owned());
    }
    let all = ["From", "Reply-To", "To", "Cc"].into_iter().flat_map(|name| header_recipients(mail, name));
    let people = all.map(|one| one.address).collect();
    Quoted { text: lines.join("\n"), source_label: format!("the email from {from}"), people }
}

/// Returns the mail in a forward.
///
/// # Errors
/// [`ToolError::Forbidden`] if it is longer than can be shown before it is sent.
pub(super) fn quote_for_forward(
    mail: &Message,
    body: &Body,
    from: &str,
    zone: &str,
) -> Result<Quoted, ToolError> {
    let BoundedText { text, truncation_note: cut } = body.to_bounded_text(MAX_BODY_CHARS);
    if !cut.is_empty() {
        let reason = "that email is too long to show you before it goes. Please forward it in Gmail";
        return Err(ToolError::Forbidden { reason: reason.to_owned() });
    }
    let mut lines = vec!["---------- Forwarded message ---------".to_owned()];
    for (name, value) in [
        ("From", header(mail, "From")),
        ("Date", format_date(mail, zone)),
        ("Subject", header(mail, "Subject")),
        ("To", header(mail, "To")),
        ("Cc", header(mail, "Cc")),
    ] {
        if !value.is_empty() {
            lines.push(format!("{name}: {}", one_line(&value, HEADER_SHOWN)));
        }
    }
    lines.extend([String::new(), String::new(), printable_lines(&text)]);
    Ok(Quoted { text: lines.join("\n"), source_label: format!("the email from {from}"), people: Vec::new() })
}

/// Formats its date in the person's zone: "Fri, 6 Mar 2026 at 15:00".
fn format_date(mail: &Message, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let at = jiff::Timestamp::from_millisecond(mail.internal_date.unwrap_or_default());
    at.map(|at| at.to_zoned(zone).strftime("%a, %-d %b %Y at %H:%M").to_string()).unwrap_or_default()
}

/// Removes control characters; line breaks and tabs stay.
fn printable_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use google_gmail1::api::{MessagePart, MessagePartBody, MessagePartHeader};

    use super::*;

    fn mail(text: &str) -> Message {
        let headers = [("From", "Bo Lind <bo@acme.test>"), ("To", "ana@acme.test"), ("Subject", "Plan")];
        let header = |(name, value): (&str, &str)| MessagePartHeader {
            name: Some(name.to_owned()),
            value: Some(value.to_owned()),
        };
        let payload = MessagePart {
            mime_type: Some("text/plain".to_owned()),
            headers: Some(headers.map(header).into()),
            body: Some(MessagePartBody { data: Some(text.as_bytes().to_vec()), ..Default::default() }),
            ..Default::default()
        };
        Message { payload: Some(payload), internal_date: Some(1_772_809_200_000), ..Default::default() }
    }

    #[test]
    fn an_answer_quotes_line_by_line_in_the_persons_own_time() {
        let answered = mail("Hi,\r\n\r\n> before\u{7}\r\nBo");
        let quoted =
            quote_for_reply(&answered, &Body::from_message(&answered), "bo@acme.test", "Europe/Berlin");
        assert_eq!(
            quoted.text,
            "On Fri, 6 Mar 2026 at 16:00, Bo Lind <bo@acme.test> wrote:\n\n> Hi,\n>\n> > before\n> Bo"
        );
        let long = mail(&"word ".repeat(4_000));
        let long = quote_for_reply(&long, &Body::from_message(&long), "bo@acme.test", "nowhere");
        assert!(long.text.starts_with("On Fri, 6 Mar 2026 at 15:00") && long.text.ends_with("\n> […]"));
    }

    #[test]
    fn a_forward_shows_it_whole_or_not_at_all() {
        let hi = mail("Hi");
        let forwarded = quote_for_forward(&hi, &Body::from_message(&hi), "bo@acme.test", "UTC").unwrap();
        assert_eq!(
            forwarded.text,
            "---------- Forwarded message ---------\nFrom: Bo Lind <bo@acme.test>\n\
             Date: Fri, 6 Mar 2026 at 15:00\nSubject: Plan\nTo: ana@acme.test\n\n\nHi"
        );
        let long = mail(&"x".repeat(30_001));
        let long = quote_for_forward(&long, &Body::from_message(&long), "bo@acme.test", "UTC");
        assert!(matches!(long, Err(ToolError::Forbidden { .. })));
    }
}
