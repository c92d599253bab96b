//! Takes the given values, key by key. Each key is named once, where it is read; a key that was never read is unknown.

use std::collections::BTreeSet;

use super::problem::{Problem, env_name};
use super::sources::Given;
use super::value::{ConfigValue, display_value};

pub(super) struct ConfigReader {
    values: Given,
    known_keys: BTreeSet<String>,
    inactive: Vec<InactiveKey>,
    problems: Vec<Problem>,
}

/// A key that is set but whose ability is not built yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InactiveKey {
    /// As in the file.
    pub key: String,
    /// As in the environment.
    pub env: String,
    /// What does not happen.
    pub because: &'static str,
}

impl ConfigReader {
    pub(super) fn new(given: Given, problems: Vec<Problem>) -> Self {
        Self { values: given, known_keys: BTreeSet::new(), inactive: Vec::new(), problems }
    }

    /// Returns the value of `key` if one was given. An invalid one is reported and counts as none.
    pub(super) fn maybe<K: ConfigValue>(&mut self, key: &str) -> Option<K> {
        self.known_keys.insert(key.to_owned());
        let given = self.values.get(key)?;
        let read = K::read(given);
        if read.is_none() {
            let text = display_value(given);
            self.problems.push(Problem::invalid_value(
                key,
                (!K::SECRET).then_some(text.as_str()),
                K::EXPECTED,
            ));
        }
        read
    }

    /// Returns the value of `key`, or the default.
    pub(super) fn or_default<K: ConfigValue>(&mut self, key: &str, otherwise: K) -> K {
        self.maybe(key).unwrap_or(otherwise)
    }

    /// Validates a key whose ability is not built yet, and records that it was set.
    pub(super) fn inactive<K: ConfigValue>(&mut self, key: &str, because: &'static str) {
        if self.maybe::<K>(key).is_some() {
            self.note(key, because);
        }
    }

    /// Records that a value has no effect yet.
    pub(super) fn note(&mut self, key: &str, because: &'static str) {
        self.inactive.push(InactiveKey { key: key.to_owned(), env: env_name(key), because });
    }

    /// Returns the number of invalid values so far.
    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Adds problems that were found elsewhere, to be reported with the rest.
    pub(super) fn add_problems(&mut self, problems: Vec<Problem>) {
        self.problems.extend(problems);
    }

    /// Returns the problems: first the invalid values, then the keys that were never read.
    pub(super) fn finish(self) -> (Vec<Problem>, Vec<InactiveKey>, BTreeSet<String>) {
        let Self { values: given, known_keys: asked, inactive, mut problems } = self;
        let unknown = given.keys().filter(|key| !asked.contains(*key));
        problems.extend(unknown.map(|key| Problem::unknown_key(key, asked.iter().map(String::as_str))));
        (problems, inactive, asked)
    }
}
