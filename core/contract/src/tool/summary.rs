//! A request in one line, for places that do not show its card: lists, reminders, prompts, the form for a denial's
//! reason.

use serde::{Deserialize, Serialize};

/// The maximum length of a title in such a line, in characters.
const MAX_TITLE_CHARS: usize = 80;
/// The number of people who are listed; the rest are counted.
const MAX_LISTED: usize = 3;

/// One line that says what a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// "Cancel “Standup” on Mon 9 Mar, 10:00–10:30 WET, with bo@acme.test"
    #[serde(alias = "said")]
    pub full: String,
    /// The same without text that an outsider might have written: "Cancel an event on Mon 9 Mar, …". It is for places
    /// where a model reads the line as Nod's own words.
    #[serde(alias = "bare")]
    pub redacted: String,
}

impl Summary {
    /// Builds both lines with `line`: `full` from the title, and `redacted` from `thing`, the kind of thing it is.
    pub fn from_title(title: &str, thing: &str, line: impl Fn(&str) -> String) -> Self {
        Self { full: line(&quote_title(title)), redacted: line(thing) }
    }
}

/// Returns the title as "“Standup”": quoted, on one line, and shortened if it is too long.
#[must_use]
pub fn quote_title(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("“{}…”", &title[..end]),
        None => format!("“{title}”"),
    }
}

/// Returns "bo@acme.test, cho@acme.test"; after the first few, the rest are counted.
#[must_use]
pub fn join_emails(all: &[String]) -> String {
    let named = all.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MAX_LISTED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_one_line_and_redacts_the_title() {
        let gist =
            Summary::from_title("Late\nstandup", "an event", |what| format!("Cancel {what} on Monday"));
        assert_eq!(
            (gist.full.as_str(), gist.redacted.as_str()),
            ("Cancel “Late standup” on Monday", "Cancel an event on Monday")
        );
        let long = Summary::from_title(&"x".repeat(500), "", str::to_owned);
        assert_eq!(long.full.chars().count(), MAX_TITLE_CHARS + 3);
    }

    #[test]
    fn long_lists_are_counted() {
        let all: Vec<String> = (0..5).map(|at| format!("{at}@acme.test")).collect();
        assert_eq!(join_emails(&all[..1]), "0@acme.test");
        assert_eq!(join_emails(&all), "0@acme.test, 1@acme.test, 2@acme.test and 2 more");
    }
}
