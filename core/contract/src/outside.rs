//! Names and addresses that outsiders chose, before they are shown in a line of Nod's own text (a prompt's marker, a
//! risk line, a row). They become one short line without characters that reorder or hide text. Only this module
//! shortens them.

use std::fmt;
use std::str::FromStr;

use email_address::EmailAddress;
use serde::{Deserialize, Serialize};

use crate::hidden_chars::{is_hidden_char, show_hidden_chars};

/// The maximum length of a source's name, in characters.
const SOURCE: usize = 120;
/// The maximum number of sources kept for one content; the oldest are dropped.
pub(crate) const SOURCES: usize = 50;

/// Where untrusted text came from, in Nod's words: "mail from eve@x.test".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Source(String);

impl Source {
    /// Creates a source. A name that is too long is cut in the middle, to keep its end: an address's domain.
    #[must_use]
    pub fn new(words: &str) -> Self {
        let one_line: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let shown = show_hidden_chars(one_line.trim());
        let length = shown.chars().count();
        if length <= SOURCE {
            return Self(shown.into_owned());
        }
        let head: String = shown.chars().take(SOURCE / 2 - 1).collect();
        let tail: String = shown.chars().skip(length - SOURCE / 2).collect();
        Self(format!("{head}…{tail}"))
    }

    /// Returns the name as one line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Source {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Source {
    fn from(words: String) -> Self {
        Self::new(&words)
    }
}

impl From<&str> for Source {
    fn from(words: &str) -> Self {
        Self::new(words)
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The outside text that asked for a request which nobody here asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBy {
    /// Whose text it is: "an email from eve@x.test".
    pub source: Source,
    /// Its subject or title, if it has one.
    #[serde(default)]
    pub title: Option<String>,
    /// Whether a recipient's address stands in this text and in nothing else that was read.
    #[serde(default)]
    pub is_only_place: bool,
}

/// Returns an outsider's address if it is valid: at most 64 characters before the @ and 254 in total.
#[must_use]
pub fn valid_email(written: &str) -> Option<&str> {
    let written = written.trim();
    let plain = !written.chars().any(|c| c.is_control() || is_hidden_char(c));
    (plain && EmailAddress::from_str(written).is_ok()).then_some(written)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        let long = format!("mail from {}@x.test", "a".repeat(1_899));
        let source = Source::new(&long);
        assert_eq!(source.as_str().chars().count(), 120);
        assert!(
            source.as_str().starts_with("mail from aaa") && source.as_str().ends_with("a@x.test"),
            "{source}"
        );
        assert_eq!(Source::new("mail from eve@x.test").as_str(), "mail from eve@x.test");
    }

    #[test]
    fn an_address_is_one_or_nothing() {
        for good in ["eve@x.test", " jörg@example.com "] {
            assert_eq!(valid_email(good), Some(good.trim()));
        }
        let (long_name, long_domain) = ("a".repeat(65) + "@x.test", format!("a@{}.test", "x".repeat(260)));
        for bad in ["eve", "eve@x.test\nBcc: bo@x.test", "eve\u{202e}@x.test", "", &long_name, &long_domain] {
            assert_eq!(valid_email(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_source_is_one_short_line_however_often_it_is_read(words in any::<String>()) {
            let source = Source::new(&words);
            prop_assert!(source.as_str().chars().count() <= SOURCE);
            prop_assert!(!source.as_str().chars().any(|c| c.is_control() || is_hidden_char(c)));
            prop_assert_eq!(Source::new(source.as_str()), source);
        }
    }
}
