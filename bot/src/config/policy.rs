//! The file of rules about asking for a nod: what `config/policy.toml` explains, as values for the core.

use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};
use figment::{Figment, Profile, Provider};
use nod_connectors::google;
use nod_core::policy::{Decider, Rule, When};

use super::problem::Problem;
use super::value::{Kind, Pause, Seconds, shown};

/// What Nod has built in.
const BUILT_IN: &str = include_str!("../../../config/policy.toml");
/// What a rule may say.
const KEYS: [&str; 9] = [
    "tool",
    "when.recipients_above",
    "when.outside_recipients",
    "when.outside_text",
    "decider",
    "expire_after",
    "remind_before",
    "undo",
    "never",
];

/// The rules of a file, else those that are built in. What is wrong is noted, all of it.
pub(super) fn rules(file: Option<&Path>, problems: &mut Vec<Problem>) -> Vec<Rule> {
    let name = file.map_or_else(|| "the built-in rules".to_owned(), |path| path.display().to_string());
    let mut said = Vec::new();
    let rules = match file.map(std::fs::read_to_string) {
        Some(Err(error)) => {
            problems.push(Problem::file(format!("approvals.policy: cannot read {name}: {error}")));
            return Vec::new();
        }
        Some(Ok(text)) => read(&text, &mut said),
        None => read(BUILT_IN, &mut said),
    };
    problems.extend(said.into_iter().map(|said| Problem::file(format!("{name}: {said}"))));
    rules
}

fn read(text: &str, said: &mut Vec<String>) -> Vec<Rule> {
    let toml = Toml::string(text);
    if let Err(error) = toml.data() {
        said.push(format!("this is not valid TOML: {}", error.kind));
        return Vec::new();
    }
    let given: Dict = Figment::from(toml).select(Profile::Default).extract().unwrap_or_default();
    let mut rules = Vec::new();
    for (key, value) in &given {
        match value {
            Value::Array(_, listed) if key == "rule" => {
                rules.extend(listed.iter().enumerate().map(|(at, rule)| one(at + 1, rule, said)));
            }
            _ if key == "rule" => said.push("rules begin with [[rule]], in two brackets".to_owned()),
            _ => said.push(format!("{key}: there is no such key; there is rule")),
        }
    }
    rules
}

fn one(number: usize, given: &Value, said: &mut Vec<String>) -> Rule {
    let mut rule = Rule::default();
    let Value::Dict(_, given) = given else {
        said.push(format!("rule {number}: this is no rule"));
        return rule;
    };
    for (key, value) in flat(given) {
        if let Err(problem) = set(&mut rule, &key, value) {
            said.push(format!("rule {number}, {key}: {problem}"));
        }
    }
    rule
}

/// `{when: {outside_text: …}}` as `when.outside_text`.
fn flat(given: &Dict) -> Vec<(String, &Value)> {
    given
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Dict(_, below) if key == "when" => {
                below.iter().map(|(name, value)| (format!("when.{name}"), value)).collect()
            }
            _ => vec![(key.clone(), value)],
        })
        .collect()
}

fn set(rule: &mut Rule, key: &str, value: &Value) -> Result<(), String> {
    let When { recipients_above, outside_recipients, outside_text } = &mut rule.when;
    match key {
        "tool" => rule.tool = Some(wanted(value).map(|ToolName(name)| name)?),
        "when.recipients_above" => *recipients_above = Some(wanted(value)?),
        "when.outside_recipients" => *outside_recipients = Some(wanted(value)?),
        "when.outside_text" => *outside_text = Some(wanted(value)?),
        "decider" => rule.decider = Some(wanted(value).map(|Who(decider)| decider)?),
        "expire_after" => rule.expire_after = Some(delta(wanted(value)?)),
        "remind_before" => rule.remind_before = Some(wanted(value).map(|Pause(p)| delta(p))?),
        "undo" => rule.undo = Some(wanted(value).map(|Seconds(s)| delta(s))?),
        "never" => rule.never = Some(wanted(value)?),
        _ => return Err(format!("there is no such key; there are {}", KEYS.join(", "))),
    }
    Ok(())
}

fn wanted<K: Kind>(value: &Value) -> Result<K, String> {
    let problem = || Problem::wrong("", Some(&shown(value)), K::WANTED).said;
    K::read(value).ok_or_else(problem)
}

/// Kinds of lengths are bounded, so that none is too long.
fn delta(given: Duration) -> TimeDelta {
    TimeDelta::from_std(given).unwrap_or(TimeDelta::MAX)
}

/// A tool that changes something.
struct ToolName(String);

impl Kind for ToolName {
    const WANTED: &'static str = "one of gmail_create_draft, gmail_update_draft, gmail_send_draft, \
         gmail_discard_draft, gmail_reply, gmail_draft_reply, gmail_send_email";
    fn read(given: &Value) -> Option<Self> {
        let name = given.as_str()?.trim();
        google::ACTS.contains(&name).then(|| Self(name.to_owned()))
    }
}

/// Who may decide.
struct Who(Decider);

impl Kind for Who {
    const WANTED: &'static str = "owner";
    fn read(given: &Value) -> Option<Self> {
        (given.as_str()?.trim() == "owner").then_some(Self(Decider::Owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_are_wanted_are_the_tools() {
        assert_eq!(ToolName::WANTED, format!("one of {}", google::ACTS.join(", ")));
    }
}
