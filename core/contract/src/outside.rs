//! What outsiders call themselves, before it stands in a line of ours (a prompt's marker, a risk line, a row): one line,
//! short, with nothing in it that turns or hides text. The one place where that is cut.

use std::fmt;
use std::str::FromStr;

use email_address::EmailAddress;
use serde::{Deserialize, Serialize};

use crate::hidden_chars::{is_hidden_char, show_hidden_chars};

/// The longest name of a source, in characters.
const SOURCE: usize = 120;
/// More sources of one content are not told apart: the oldest are left out.
pub(crate) const SOURCES: usize = 50;

/// Where text from outside came from, in our own words: "mail from eve@x.test".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Source(String);

impl Source {
    /// Cut in its middle where it is too long, so that its end stays: that is an address's domain.
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

    /// As it stands in a line.
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

/// An address that somebody outside gave as theirs, where it is one: at most 64 characters before the @ and 254 in all.
#[must_use]
pub fn address(written: &str) -> Option<&str> {
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
            assert_eq!(address(good), Some(good.trim()));
        }
        let (long_name, long_domain) = ("a".repeat(65) + "@x.test", format!("a@{}.test", "x".repeat(260)));
        for bad in ["eve", "eve@x.test\nBcc: bo@x.test", "eve\u{202e}@x.test", "", &long_name, &long_domain] {
            assert_eq!(address(bad), None, "{bad:?}");
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
