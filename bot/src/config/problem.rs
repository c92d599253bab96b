//! Problems in a configuration, described so that the operator can fix them. Never shows the value of a secret.

use std::fmt;

/// The prefix of every environment variable that Nod reads.
pub const PREFIX: &str = "NOD_";

/// One thing to fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key as in the file, `slack.bot_token`; empty if the problem concerns the whole file.
    pub key: String,
    /// What was given and what is wanted.
    pub message: String,
}

/// All problems at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

/// The environment variable of a key: `slack.bot_token` is `NOD_SLACK__BOT_TOKEN`.
#[must_use]
pub fn env_name(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

impl Problem {
    pub(super) fn without_key(said: impl Into<String>) -> Self {
        Self { key: String::new(), message: said.into() }
    }

    pub(super) fn invalid_value(key: &str, given: Option<&str>, wanted: &str) -> Self {
        let said = given.map_or_else(
            || format!("the value is wrong (not shown because it's a secret): it should be {wanted}"),
            |given| format!("got {}, but it should be {wanted}", shorten(given)),
        );
        Self { key: key.to_owned(), message: said }
    }

    /// Reports an unknown key. Its value is never shown: it may be a secret under a misspelt name.
    pub(super) fn unknown_key<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> Self {
        let said = match nearest(key, known) {
            Some(near) => format!("no such key. Did you mean {near} ({})?", env_name(near)),
            None => "no such key. config/nod.toml explains all of them".to_owned(),
        };
        Self { key: key.to_owned(), message: said }
    }
}

/// Returns the known key that is most similar to `key`, if any is: by its whole name, or by its last part if only the
/// table was wrong.
fn nearest<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    known
        .map(|name| {
            let same_end = if last(name) == last(key) { 0.15 } else { 0.0 };
            (strsim::normalized_damerau_levenshtein(key, name) + same_end, name)
        })
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

fn shorten(given: &str) -> String {
    let mut shown: String = given.chars().take(60).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{} ({}): {}", self.key, env_name(&self.key), self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "the configuration has {count} problem{}:", if count == 1 { "" } else { "s" })?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}
