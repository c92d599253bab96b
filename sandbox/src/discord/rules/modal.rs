//! Modals: what a form can contain.

use std::collections::HashSet;

use serde_json::Value;

use super::super::rejection::Broken;
use super::ViolationCollector;
use super::components::options;

/// Returns every rule that a modal violates.
pub(in crate::discord) fn modal_broken(modal: &Value) -> Vec<Broken> {
    let mut finder = ViolationCollector::default();
    finder.check_fields("data", modal, &["custom_id", "title", "components"]);
    finder.text("data/custom_id", &modal["custom_id"], 1, 100);
    finder.text("data/title", &modal["title"], 1, 45);
    let mut ids = HashSet::new();
    for (n, component) in finder.list("data/components", &modal["components"], 1, 5).iter().enumerate() {
        let at = format!("data/components/{n}");
        match component["type"].as_u64() {
            Some(10) => finder.text(&format!("{at}/content"), &component["content"], 1, 4_000),
            Some(18) => label(&mut finder, &mut ids, &at, component),
            Some(1) => {
                let under = format!("{at}/components");
                for field in finder.list(&under, &component["components"], 1, 1) {
                    finder.text(&format!("{under}/0/label"), &field["label"], 1, 45);
                    input(&mut finder, &mut ids, &format!("{under}/0"), field);
                }
            }
            other => finder.say(&at, format!("Component type {other:?} may not stand here.")),
        }
    }
    if ids.is_empty() {
        finder.say("data/components", "There is nothing to fill in.");
    }
    finder.violations
}

fn label(finder: &mut ViolationCollector, ids: &mut HashSet<String>, at: &str, label: &Value) {
    finder.check_fields(at, label, &["type", "id", "label", "description", "component"]);
    finder.text(&format!("{at}/label"), &label["label"], 1, 45);
    finder.optional(&format!("{at}/description"), &label["description"], 1, 100);
    let (at, inner) = (format!("{at}/component"), &label["component"]);
    match inner["type"].as_u64() {
        Some(4) => {
            if !inner["label"].is_null() {
                finder.say(&format!("{at}/label"), "The label stands outside.");
            }
            input(finder, ids, &at, inner);
        }
        Some(3) => {
            custom_id(finder, ids, &at, inner);
            options(finder, &at, inner);
        }
        other => finder.say(&at, format!("Component type {other:?} may not stand here.")),
    }
}

fn input(finder: &mut ViolationCollector, ids: &mut HashSet<String>, at: &str, input: &Value) {
    let known = [
        "type",
        "id",
        "custom_id",
        "style",
        "label",
        "value",
        "placeholder",
        "required",
        "min_length",
        "max_length",
    ];
    finder.check_fields(at, input, &known);
    custom_id(finder, ids, at, input);
    if !(input["style"] == 1 || input["style"] == 2) {
        finder.say(&format!("{at}/style"), "Is 1 or 2.");
    }
    finder.optional(&format!("{at}/placeholder"), &input["placeholder"], 0, 100);
    let most = input["max_length"].as_u64().unwrap_or(4_000);
    let least = input["min_length"].as_u64().unwrap_or_default();
    if !(1..=4_000).contains(&most) || least > most {
        finder.say(&format!("{at}/max_length"), "Is 1 to 4000 and not below min_length.");
    }
    let first = input["value"].as_str().unwrap_or_default();
    let letters = first.chars().count() as u64;
    if letters > most || (letters > 0 && letters < least) {
        finder.say(&format!("{at}/value"), "Does not fit min_length and max_length.");
    }
}

fn custom_id(finder: &mut ViolationCollector, ids: &mut HashSet<String>, at: &str, holder: &Value) {
    let at = format!("{at}/custom_id");
    finder.text(&at, &holder["custom_id"], 1, 100);
    if !ids.insert(holder["custom_id"].as_str().unwrap_or_default().to_owned()) {
        finder.say(&at, "Component custom id cannot be duplicated.");
    }
}
