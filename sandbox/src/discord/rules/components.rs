//! Components of messages: which are allowed where, and how many.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::ViolationCollector;

/// Per message, nested ones included.
const COMPONENTS: usize = 40;
/// In all text displays of one message together.
const LETTERS: usize = 4_000;

/// State of a walk through the components.
#[derive(Default)]
pub(super) struct ComponentValidator {
    pub violations: ViolationCollector,
    /// The names of the files sent with the message.
    pub files: Vec<String>,
    custom_ids: HashSet<String>,
    ids: HashSet<i64>,
    count: usize,
    letters: usize,
}

impl ComponentValidator {
    /// Validates all components of a message.
    pub(super) fn message(&mut self, components: &[Value], v2: bool) {
        for (n, component) in components.iter().enumerate() {
            let at = format!("components/{n}");
            match component["type"].as_u64() {
                Some(1) => self.row(&at, component),
                Some(9 | 10 | 13 | 14 | 17) if v2 => self.block(&at, component, true),
                other => self.violations.say(&at, format!("Component type {other:?} may not stand here.")),
            }
        }
        if !v2 && components.len() > 5 {
            self.violations.say("components", "Must be 5 or fewer in length.");
        }
        if self.count > COMPONENTS {
            self.violations.say("components", "Must be 40 or fewer in total.");
        }
        if self.letters > LETTERS {
            self.violations.say("components", "The text displays hold more than 4000 letters.");
        }
    }

    fn record_component(&mut self, at: &str, component: &Value) {
        self.count += 1;
        let id = &component["id"];
        if id.is_null() || id == 0 {
            return;
        }
        match id.as_i64().filter(|id| (1..=i64::from(i32::MAX)).contains(id)) {
            None => self.violations.say(&format!("{at}/id"), "Must be a positive 32 bit number."),
            Some(id) if !self.ids.insert(id) => self.violations.say(&format!("{at}/id"), "Is used twice."),
            Some(_) => {}
        }
    }

    /// Validates a file component, which must name a file of the message.
    fn file(&mut self, at: &str, file: &Value) {
        self.record_component(at, file);
        self.violations.check_fields(at, file, &["type", "id", "file", "spoiler"]);
        self.violations.check_fields(&format!("{at}/file"), &file["file"], &["url"]);
        let named = file["file"]["url"].as_str().and_then(|url| url.strip_prefix("attachment://"));
        if !named.is_some_and(|name| self.files.iter().any(|file| file == name)) {
            self.violations.say(&format!("{at}/file/url"), "Names no file of this message.");
        }
    }

    fn block(&mut self, at: &str, block: &Value, top: bool) {
        match block["type"].as_u64() {
            Some(1) => self.row(at, block),
            Some(9) => self.section(at, block),
            Some(10) => self.display(at, block),
            Some(13) => self.file(at, block),
            Some(14) => {
                self.record_component(at, block);
                self.violations.check_fields(at, block, &["type", "id", "divider", "spacing"]);
                if !(block["spacing"].is_null() || block["spacing"] == 1 || block["spacing"] == 2) {
                    self.violations.say(&format!("{at}/spacing"), "Is 1 or 2.");
                }
            }
            Some(17) if top => {
                self.record_component(at, block);
                self.violations.check_fields(
                    at,
                    block,
                    &["type", "id", "accent_color", "components", "spoiler"],
                );
                let under = format!("{at}/components");
                for (n, child) in self.violations.list(&under, &block["components"], 1, 40).iter().enumerate()
                {
                    self.block(&format!("{under}/{n}"), child, false);
                }
            }
            other => self.violations.say(at, format!("Component type {other:?} may not stand here.")),
        }
    }

    fn display(&mut self, at: &str, display: &Value) {
        self.record_component(at, display);
        self.violations.check_fields(at, display, &["type", "id", "content"]);
        self.violations.text(&format!("{at}/content"), &display["content"], 1, LETTERS);
        let content = display["content"].as_str().unwrap_or_default();
        if content.trim().is_empty() {
            self.violations.say(&format!("{at}/content"), "This field is required.");
        }
        self.letters += content.chars().count();
    }

    fn section(&mut self, at: &str, section: &Value) {
        self.record_component(at, section);
        self.violations.check_fields(at, section, &["type", "id", "components", "accessory"]);
        let under = format!("{at}/components");
        for (n, child) in self.violations.list(&under, &section["components"], 1, 3).iter().enumerate() {
            let at = format!("{under}/{n}");
            if child["type"] == 10 {
                self.display(&at, child);
            } else {
                self.violations.say(&at, "Only text displays stand in a section.");
            }
        }
        let at = format!("{at}/accessory");
        match section["accessory"]["type"].as_u64() {
            Some(2) => self.button(&at, &section["accessory"]),
            _ => self.violations.say(&at, "A button is needed."),
        }
    }

    fn row(&mut self, at: &str, row: &Value) {
        self.record_component(at, row);
        self.violations.check_fields(at, row, &["type", "id", "components"]);
        let under = format!("{at}/components");
        let children = self.violations.list(&under, &row["components"], 1, 5);
        let selects = children.iter().filter(|c| c["type"] != 2).count();
        if selects > 0 && children.len() > 1 {
            self.violations.say(&under, "A row holds up to five buttons or one select.");
        }
        for (n, child) in children.iter().enumerate() {
            let at = format!("{under}/{n}");
            match child["type"].as_u64() {
                Some(2) => self.button(&at, child),
                Some(3) => self.select(&at, child),
                other => self.violations.say(&at, format!("Component type {other:?} may not stand here.")),
            }
        }
    }

    fn button(&mut self, at: &str, button: &Value) {
        self.record_component(at, button);
        let known = ["type", "id", "style", "label", "emoji", "custom_id", "url", "disabled"];
        self.violations.check_fields(at, button, &known);
        self.violations.optional(&format!("{at}/label"), &button["label"], 1, 80);
        if button["label"].is_null() && button["emoji"].is_null() {
            self.violations.say(at, "A button needs a label or an emoji.");
        }
        if !button["emoji"].is_null() {
            let at = format!("{at}/emoji");
            self.violations.check_fields(&at, &button["emoji"], &["id", "name", "animated"]);
            // An emoji of Unicode is named by itself.
            let name = button["emoji"]["name"].as_str().unwrap_or_default();
            if button["emoji"]["id"].is_null() && (name.is_empty() || name.is_ascii()) {
                self.violations.say(&format!("{at}/name"), "Invalid emoji.");
            }
        }
        match button["style"].as_u64() {
            Some(1..=4) => {
                self.custom_id(at, button);
                if !button["url"].is_null() {
                    self.violations.say(&format!("{at}/url"), "Only a link button has a url.");
                }
            }
            Some(5) => {
                self.violations.text(&format!("{at}/url"), &button["url"], 1, 512);
                let url = button["url"].as_str().unwrap_or_default();
                if !["http://", "https://", "discord://"].iter().any(|s| url.starts_with(s)) {
                    self.violations.say(&format!("{at}/url"), "Scheme must be one of http, https, discord.");
                }
                if !button["custom_id"].is_null() {
                    self.violations.say(at, "A custom id and url cannot both be specified.");
                }
            }
            _ => self.violations.say(&format!("{at}/style"), "Is one of 1, 2, 3, 4, 5."),
        }
    }

    fn select(&mut self, at: &str, select: &Value) {
        self.record_component(at, select);
        self.custom_id(at, select);
        options(&mut self.violations, at, select);
    }

    fn custom_id(&mut self, at: &str, holder: &Value) {
        let at = format!("{at}/custom_id");
        self.violations.text(&at, &holder["custom_id"], 1, 100);
        let id = holder["custom_id"].as_str().unwrap_or_default().to_owned();
        if !self.custom_ids.insert(id) {
            self.violations.say(&at, "Component custom id cannot be duplicated.");
        }
    }
}

/// Validates the options of a string select, in messages and in modals.
pub(super) fn options(finder: &mut ViolationCollector, at: &str, select: &Value) {
    finder.optional(&format!("{at}/placeholder"), &select["placeholder"], 0, 150);
    let under = format!("{at}/options");
    let all = finder.list(&under, &select["options"], 1, 25);
    let mut values = HashSet::new();
    for (n, option) in all.iter().enumerate() {
        let at = format!("{under}/{n}");
        finder.check_fields(&at, option, &["label", "value", "description", "emoji", "default"]);
        finder.text(&format!("{at}/label"), &option["label"], 1, 100);
        finder.text(&format!("{at}/value"), &option["value"], 1, 100);
        finder.optional(&format!("{at}/description"), &option["description"], 1, 100);
        if !values.insert(option["value"].as_str()) {
            finder.say(&format!("{at}/value"), "The specified option value is already used.");
        }
    }
    let least = select["min_values"].as_u64().unwrap_or(1);
    let most = select["max_values"].as_u64().unwrap_or(1);
    if least > most || most == 0 || most > all.len() as u64 {
        finder.say(at, "min_values and max_values do not fit the options.");
    }
}

/// Gives every component an id, as Discord does.
pub(in crate::discord) fn with_ids(components: &[Value]) -> Vec<Value> {
    let mut used = HashSet::new();
    components.iter().for_each(|c| gather(c, &mut used));
    let (mut filled, mut next) = (components.to_vec(), 1);
    filled.iter_mut().for_each(|c| fill(c, &mut used, &mut next));
    filled
}

fn gather(component: &Value, used: &mut HashSet<i64>) {
    used.extend(component["id"].as_i64().filter(|id| *id != 0));
    component["components"].as_array().into_iter().flatten().for_each(|c| gather(c, used));
    component.get("accessory").into_iter().for_each(|c| gather(c, used));
}

fn fill(component: &mut Value, used: &mut HashSet<i64>, next: &mut i64) {
    if component["id"].is_null() || component["id"] == 0 {
        while !used.insert(*next) {
            *next += 1;
        }
        component["id"] = json!(*next);
    }
    for child in component["components"].as_array_mut().into_iter().flatten() {
        fill(child, used, next);
    }
    if let Some(accessory) = component.get_mut("accessory") {
        fill(accessory, used, next);
    }
}
