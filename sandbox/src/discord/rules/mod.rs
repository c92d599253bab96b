//! Discord's validation rules, written by hand: they apply with or without the vendor's specification. They validate
//! values and change nothing.

mod commands;
mod components;
mod message;
mod modal;

pub(super) use commands::commands_broken;
pub(super) use components::with_ids as component_ids;
pub(super) use message::{Before, Content, content};
pub(super) use modal::modal_broken;

use serde_json::Value;

use super::rejection::Broken;

/// Collects violations.
#[derive(Default)]
pub(super) struct ViolationCollector {
    pub violations: Vec<Broken>,
}

impl ViolationCollector {
    fn say(&mut self, at: &str, sentence: impl Into<String>) {
        self.violations.push((at.to_owned(), sentence.into()));
    }

    /// Checks a required text.
    fn text(&mut self, at: &str, value: &Value, least: usize, most: usize) {
        match value.as_str().map(|t| t.chars().count()) {
            None => self.say(at, "This field is required."),
            Some(n) if n < least || n > most => {
                self.say(at, format!("Must be between {least} and {most} in length."));
            }
            Some(_) => {}
        }
    }

    /// Checks an optional text.
    fn optional(&mut self, at: &str, value: &Value, least: usize, most: usize) {
        if !value.is_null() {
            self.text(at, value, least, most);
        }
    }

    /// Rejects all fields but these.
    fn check_fields(&mut self, at: &str, object: &Value, known: &[&str]) {
        let Some(fields) = object.as_object() else { return self.say(at, "Only dictionaries may be used.") };
        for odd in fields.keys().filter(|k| !known.contains(&k.as_str())) {
            self.say(&format!("{at}/{odd}"), "There is no such field.");
        }
    }

    fn list<'a>(&mut self, at: &str, value: &'a Value, least: usize, most: usize) -> &'a [Value] {
        let Some(list) = value.as_array() else {
            self.say(at, "This field is required.");
            return &[];
        };
        if !(least..=most).contains(&list.len()) {
            self.say(at, format!("Must be between {least} and {most} in length."));
        }
        list
    }
}
