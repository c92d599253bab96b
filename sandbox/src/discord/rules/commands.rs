//! Commands as the app registers them.

use std::collections::HashSet;

use serde_json::Value;

use super::super::rejection::Broken;
use super::ViolationCollector;

/// For one command: name, description and values of it and everything nested in it.
const LETTERS: usize = 8_000;

/// Returns every rule that a list of commands violates.
pub(in crate::discord) fn commands_broken(commands: &[Value]) -> Vec<Broken> {
    let mut finder = ViolationCollector::default();
    let mut names = HashSet::new();
    for (n, command) in commands.iter().enumerate() {
        let at = n.to_string();
        let kind = command["type"].as_u64().unwrap_or(1);
        if !names.insert((kind, command["name"].as_str())) {
            finder.say(&format!("{at}/name"), "Application command names must be unique");
        }
        if kind == 1 {
            name(&mut finder, &at, command);
            finder.text(&format!("{at}/description"), &command["description"], 1, 100);
            options(&mut finder, &at, command, 0);
            if letters(command) > LETTERS {
                finder.say(&at, "The command is longer than 8000 letters.");
            }
            continue;
        }
        finder.text(&format!("{at}/name"), &command["name"], 1, 32);
        let described = command["description"].as_str().is_some_and(|d| !d.is_empty());
        if kind > 3 || described || !command["options"].as_array().is_none_or(Vec::is_empty) {
            finder.say(&at, "A menu's entry has neither description nor options.");
        }
    }
    for (kind, most) in [(1, 100), (2, 15), (3, 15)] {
        if names.iter().filter(|(k, _)| *k == kind).count() > most {
            finder.say("", format!("There are more than {most} commands of type {kind}."));
        }
    }
    finder.violations
}

fn name(finder: &mut ViolationCollector, at: &str, holder: &Value) {
    let at = format!("{at}/name");
    finder.text(&at, &holder["name"], 1, 32);
    let name = holder["name"].as_str().unwrap_or_default();
    let fits = |c: char| c == '-' || c == '_' || c == '\'' || c.is_alphanumeric();
    if !name.chars().all(fits) || name.to_lowercase() != name {
        finder.say(&at, "Command name is invalid");
    }
}

fn options(finder: &mut ViolationCollector, at: &str, holder: &Value, depth: usize) {
    if holder["options"].is_null() {
        return;
    }
    let under = format!("{at}/options");
    let (mut names, mut optional, mut nested) = (HashSet::new(), false, 0);
    let all = finder.list(&under, &holder["options"], 0, 25);
    for (n, option) in all.iter().enumerate() {
        let at = format!("{under}/{n}");
        name(finder, &at, option);
        finder.text(&format!("{at}/description"), &option["description"], 1, 100);
        if !names.insert(option["name"].as_str()) {
            finder.say(&format!("{at}/name"), "Option names must be unique");
        }
        match option["type"].as_u64() {
            Some(1) if depth < 2 => {
                nested += 1;
                options(finder, &at, option, 2);
            }
            Some(2) if depth == 0 => {
                nested += 1;
                options(finder, &at, option, 1);
            }
            Some(3..=11) => {
                let required = option["required"] == true;
                if required && optional {
                    finder.say(&at, "Required options must be placed before non-required options");
                }
                optional |= !required;
                choices(finder, &at, option);
            }
            _ => finder.say(&format!("{at}/type"), "Is no option type that may stand here."),
        }
    }
    if nested > 0 && nested < all.len() {
        finder.say(&under, "Sub-commands and other options do not mix.");
    }
}

fn choices(finder: &mut ViolationCollector, at: &str, option: &Value) {
    if option["choices"].is_null() {
        return;
    }
    let under = format!("{at}/choices");
    for (n, choice) in finder.list(&under, &option["choices"], 0, 25).iter().enumerate() {
        finder.text(&format!("{under}/{n}/name"), &choice["name"], 1, 100);
        if choice["value"].as_str().is_some_and(|v| v.chars().count() > 100) || choice["value"].is_null() {
            finder.say(&format!("{under}/{n}/value"), "Has up to 100 letters.");
        }
    }
    if option["autocomplete"] == true {
        finder.say(at, "Choices and autocomplete do not mix.");
    }
}

fn letters(holder: &Value) -> usize {
    let of = |field: &str| holder[field].as_str().map_or(0, |t| t.chars().count());
    let below = |field: &str| holder[field].as_array().into_iter().flatten().map(letters).sum::<usize>();
    of("name") + of("description") + of("value") + below("options") + below("choices")
}
