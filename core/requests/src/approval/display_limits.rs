//! How much of a request its card shows: all of it if a chat message can hold it, otherwise the beginning of the body,
//! its length and a button for the rest. No user approves what they cannot see, so everything on the card counts
//! towards the limit, risk lines included.

use serde_json::Value;

use super::stopped;
use nod_contract::hidden_chars::show_hidden_chars;
use nod_contract::tool::{MAX_BODY_CHARS, Preview};

/// The approximate markup of one field, in addition to its text: a field is several runs of text.
const FIELD: usize = 120;
/// The limits for the shown beginning of a body that does not fit: in characters, and in written length.
const EXCERPT_LIMITS: (usize, usize) = (1_500, 1_700);
/// The written length of a body for which every card has room.
const MIN_BODY_LENGTH: usize = 400;
/// The limits of the risk line in front: its characters, and its written length.
const RISK: usize = 200;
const RISKS: usize = 800;

/// Why a request cannot be shown, and so cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLong {
    /// The body is too long; holds its length in characters.
    Body(usize),
    /// The fields are too long; holds the number of recipients.
    Fields(usize),
}

/// Checks that a request can be shown: all fields on the card, and the body there or behind a button. The risk lines
/// are not known yet, so the maximum is reserved for them.
///
/// # Errors
/// What is too long.
pub fn check_displayable(preview: &Preview) -> Result<(), TooLong> {
    let both = preview.body.iter().chain(&preview.trailing_text);
    let length: usize = both.map(|text| text.chars().count()).sum();
    if length > MAX_BODY_CHARS {
        return Err(TooLong::Body(length));
    }
    let body = preview.body.as_deref().map_or(0, escaped_length).min(MIN_BODY_LENGTH);
    if fields_cost(preview) + RISKS + body > preview.display_limit {
        return Err(TooLong::Fields(preview.recipients.len()));
    }
    Ok(())
}

/// Returns whether something is not on the card and needs [Show all]: the card names only the gravest risk, and outside
/// text only if that is a risk.
pub fn has_hidden_text(preview: &Preview, risks: &[String], sources: &[String]) -> bool {
    let left_out = risk_line(risks).iter().ne(risks);
    preview.trailing_text.is_some() || excerpt(preview, risks).is_some() || left_out || !sources.is_empty()
}

/// Returns the gravest risk and how many more there are: several warnings are read like none.
pub fn risk_line(risks: &[String]) -> Option<String> {
    let (first, more) = risks.split_first()?;
    let mut line = head(first, RISK);
    // Hidden characters are written out.
    while line_cost(&line) > RISKS - FIELD {
        line = head(&line, line.chars().count() / 2);
    }
    Some(match more.len() {
        0 => line,
        more => format!("{line} · {more} more"),
    })
}

fn head(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn line_cost(line: &str) -> usize {
    escaped_length(line) + marks(line) + 4
}

/// Returns the beginning of a body that does not fit on the card; `None` if it fits.
pub fn excerpt<'p>(preview: &'p Preview, risks: &[String]) -> Option<&'p str> {
    let body = preview.body.as_deref()?;
    let risks = risk_line(risks).as_deref().map_or(0, line_cost);
    let beside = fields_cost(preview) + risks;
    if beside + escaped_length(body) <= preview.display_limit {
        return None;
    }
    let room = preview.display_limit.saturating_sub(beside).clamp(MIN_BODY_LENGTH, EXCERPT_LIMITS.1);
    let mut cost = 0;
    let end = body.char_indices().take(EXCERPT_LIMITS.0).take_while(|(_, c)| {
        cost += escaped_length(c.encode_utf8(&mut [0; 4])) - 2;
        cost <= room
    });
    let end = end.last().map_or(0, |(at, c)| at + c.len_utf8());
    let head = &body[..end];
    let late = |at: &usize| *at > end / 2;
    let cut = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late)).unwrap_or(end);
    Some(&head[..cut])
}

/// Punctuation could be markup and so might be escaped.
fn marks(text: &str) -> usize {
    text.chars().filter(char::is_ascii_punctuation).count()
}

fn fields_cost(preview: &Preview) -> usize {
    let field = |(name, value): &(String, String)| {
        FIELD + escaped_length(name) + escaped_length(value) + marks(value)
    };
    let asked_by = preview.asked_by.as_ref().map_or(0, |by| line_cost(&stopped::wish(preview, by)));
    let task = preview.task.as_deref().map_or(0, line_cost);
    preview.fields.iter().map(field).sum::<usize>() + asked_by + task
}

/// The length as JSON in UTF-16: some platforms count the one, some the other.
fn escaped_length(text: &str) -> usize {
    Value::from(show_hidden_chars(text).as_ref()).to_string().encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nod_contract::tool::ActionLabels;

    fn preview(to: &str, body: &str) -> Preview {
        let word = String::new;
        let words = ActionLabels {
            approve: word(),
            in_progress: word(),
            done: word(),
            not_done: word(),
            noun: word(),
        };
        Preview {
            fields: vec![("To".to_owned(), to.to_owned())],
            body: Some(body.to_owned()),
            recipients: vec![to.to_owned()],
            ..Preview::new(Value::Null, "", words)
        }
    }

    #[test]
    fn body_is_shown_in_full_or_as_an_excerpt() {
        assert_eq!(excerpt(&preview("bo", "Hi"), &[]), None);
        assert_eq!(excerpt(&preview("bo", &"é".repeat(8_000)), &[]), None);
        let long = preview("bo", &"word ".repeat(2_000));
        assert_eq!(excerpt(&long, &[]).map(str::len), Some(1_499));
        let quotes = preview("bo", &"\"".repeat(8_000));
        assert_eq!(excerpt(&quotes, &[]).map(str::len), Some(850));
        let marks = preview("bo", &"\u{1}".repeat(8_000));
        assert!(excerpt(&marks, &[]).is_some_and(|head| escaped_length(head) <= 1_702));
    }

    #[test]
    fn platform_sets_the_display_limit() {
        let small = |to: &str, body: &str| Preview { display_limit: 3_000, ..preview(to, body) };
        assert_eq!(excerpt(&small("bo", &"x".repeat(2_800)), &[]), None);
        assert_eq!(excerpt(&small("bo", &"x".repeat(2_900)), &[]).map(str::len), Some(1_500));
        // Punctuation might have to be escaped, so fields count it twice.
        assert_eq!(check_displayable(&small(&"_".repeat(1_000), "Hi")), Ok(()));
        assert_eq!(check_displayable(&small(&"_".repeat(1_500), "Hi")), Err(TooLong::Fields(1)));
    }

    #[test]
    fn what_to_be_careful_about_takes_its_room() {
        let small = |body: &str| Preview { display_limit: 3_000, ..preview("bo", body) };
        let risk = |length: usize| vec!["r".repeat(length)];
        assert_eq!(excerpt(&small(&"x".repeat(2_800)), &risk(20)), None);
        assert_eq!(excerpt(&small(&"x".repeat(2_800)), &risk(199)).map(str::len), Some(1_500));
        assert!(
            !has_hidden_text(&small("Hi"), &risk(200), &[]) && has_hidden_text(&small("Hi"), &risk(201), &[])
        );
        let one = ["mail from eve@x.test".to_owned()];
        assert!(!has_hidden_text(&small("Hi"), &[], &[]) && has_hidden_text(&small("Hi"), &[], &one));
        let many: Vec<String> = (0..11).map(|n| format!("risk {n}")).collect();
        assert_eq!(risk_line(&many).as_deref(), Some("risk 0 · 10 more"));
        assert!(has_hidden_text(&small("Hi"), &many, &[]));
        let long = risk_line(&vec!["\u{1}".repeat(200); 8]).unwrap_or_default();
        assert!(long.ends_with("… · 7 more") && line_cost(&long) <= RISKS, "{long}");
    }

    #[test]
    fn undisplayable_request_is_not_asked() {
        assert_eq!(check_displayable(&preview("bo", &"x".repeat(MAX_BODY_CHARS))), Ok(()));
        assert_eq!(
            check_displayable(&preview("bo", &"x".repeat(MAX_BODY_CHARS + 1))),
            Err(TooLong::Body(30_001))
        );
        assert_eq!(check_displayable(&preview(&"x".repeat(5_500), &"x".repeat(20_000))), Ok(()));
        assert_eq!(check_displayable(&preview(&"x".repeat(9_000), "Hi")), Err(TooLong::Fields(1)));
    }
}
