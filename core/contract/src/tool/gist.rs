//! A request in one line, for wherever its card does not stand: lists, reminders, prompts, the form that asks why not.

use serde::{Deserialize, Serialize};

/// Longest title in such a line, in characters.
const LONGEST_TITLE: usize = 80;
/// More people are counted.
const MOST_NAMED: usize = 3;

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gist {
    /// "Cancel “Standup” on Mon 9 Mar, 10:00–10:30 WET, with bo@acme.test"
    pub said: String,
    /// The same without what somebody outside may have written: "Cancel an event on Mon 9 Mar, …". It is for where a
    /// model reads the line as Nod's own words.
    pub bare: String,
}

impl Gist {
    /// `said` and `bare` are made by one function of what the thing is called: its title, or what such a thing is.
    pub fn of(title: &str, thing: &str, line: impl Fn(&str) -> String) -> Self {
        Self { said: line(&quoted(title)), bare: line(thing) }
    }
}

/// "“Standup”", on one line and not longer than such a line takes.
#[must_use]
pub fn quoted(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("“{}…”", &title[..end]),
        None => format!("“{title}”"),
    }
}

/// "bo@acme.test, cho@acme.test"; a crowd is counted.
#[must_use]
pub fn people(all: &[String]) -> String {
    let named = all.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_the_title_can_be_left_out() {
        let gist = Gist::of("Late\nstandup", "an event", |what| format!("Cancel {what} on Monday"));
        assert_eq!(
            (gist.said.as_str(), gist.bare.as_str()),
            ("Cancel “Late standup” on Monday", "Cancel an event on Monday")
        );
        let long = Gist::of(&"x".repeat(500), "", str::to_owned);
        assert_eq!(long.said.chars().count(), LONGEST_TITLE + 3);
    }

    #[test]
    fn a_crowd_is_counted() {
        let all: Vec<String> = (0..5).map(|at| format!("{at}@acme.test")).collect();
        assert_eq!(people(&all[..1]), "0@acme.test");
        assert_eq!(people(&all), "0@acme.test, 1@acme.test, 2@acme.test and 2 more");
    }
}
