//! The file of approval rules: what `config/policy.toml` explains, as values for the core.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};
use figment::{Figment, Profile, Provider};
use nod_connectors::google;
use nod_requests::policy::{ApproverList, Conditions, Decider, Rule};
use url::Host;

use super::problem::Problem;
use super::value::{ConfigValue, WholeSeconds, ZeroableDuration, display_value};
use nod_people::named::Named;

/// The built-in rules.
const BUILT_IN: &str = include_str!("../../../config/policy.toml");
/// The keys of a rule.
const KEYS: [&str; 10] = [
    "tool",
    "when.recipients_above",
    "when.recipients_at",
    "when.outside_recipients",
    "when.outside_text",
    "decider",
    "expire_after",
    "remind_before",
    "undo",
    "never",
];

/// Reads the rules of a file, or the built-in ones. All problems are collected.
pub(super) fn rules(file: Option<&Path>, problems: &mut Vec<Problem>) -> Vec<Rule> {
    let name = file.map_or_else(|| "the built-in rules".to_owned(), |path| path.display().to_string());
    let read = match file.map(std::fs::read_to_string) {
        Some(Err(error)) => {
            problems.push(Problem::without_key(format!("approvals.policy: can't read {name}: {error}")));
            return Vec::new();
        }
        Some(Ok(text)) => read(&text),
        None => read(BUILT_IN),
    };
    read.unwrap_or_else(|said| {
        problems.extend(said.into_iter().map(|said| Problem::without_key(format!("{name}: {said}"))));
        Vec::new()
    })
}

/// Parses rules.
///
/// # Errors
/// All problems, one line each.
pub fn read(text: &str) -> Result<Vec<Rule>, Vec<String>> {
    let toml = Toml::string(text);
    if let Err(error) = toml.data() {
        return Err(vec![format!("this isn't valid TOML: {}", error.kind)]);
    }
    let given: Dict = Figment::from(toml).select(Profile::Default).extract().unwrap_or_default();
    let mut said = Vec::new();
    let lists = given.get("approvers").map_or_else(Lists::new, |lists| approvers(lists, &mut said));
    let mut rules = Vec::new();
    for (key, value) in &given {
        match value {
            Value::Array(_, listed) if key == "rule" => {
                rules.extend(
                    listed.iter().enumerate().map(|(at, rule)| parse_rule(at + 1, rule, &lists, &mut said)),
                );
            }
            _ if key == "rule" => said.push("a rule starts with [[rule]], in double brackets".to_owned()),
            _ if key == "approvers" => {}
            _ => said.push(format!("{key}: no such key. You can use approvers and rule")),
        }
    }
    if said.is_empty() { Ok(rules) } else { Err(said) }
}

/// The lists of people by name; `None` for one that cannot be read, which is reported once.
type Lists = BTreeMap<String, Option<Vec<Named>>>;

fn approvers(given: &Value, said: &mut Vec<String>) -> Lists {
    let Value::Dict(_, given) = given else {
        said.push("approvers: put lists of people under [approvers]".to_owned());
        return Lists::new();
    };
    let mut list = |(name, value): (&String, &Value)| {
        let read = parse_value(value).map(|PeopleList(people)| people);
        (name.clone(), read.map_err(|problem| said.push(format!("approvers.{name}: {problem}"))).ok())
    };
    given.iter().map(&mut list).collect()
}

fn parse_rule(number: usize, given: &Value, lists: &Lists, said: &mut Vec<String>) -> Rule {
    let mut rule = Rule::default();
    let Value::Dict(_, given) = given else {
        said.push(format!("rule {number}: this isn't a rule"));
        return rule;
    };
    for (key, value) in flatten(given) {
        if let Err(problem) = set(&mut rule, &key, value, lists) {
            said.push(format!("rule {number}, {key}: {problem}"));
        }
    }
    rule
}

/// Flattens `{when: {outside_text: …}}` to `when.outside_text`.
fn flatten(given: &Dict) -> Vec<(String, &Value)> {
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

fn set(rule: &mut Rule, key: &str, value: &Value, lists: &Lists) -> Result<(), String> {
    let Conditions {
        recipients_above,
        recipient_domains: recipients_at,
        external_recipients: outside_recipients,
        untrusted_content: outside_text,
    } = &mut rule.when;
    match key {
        "tool" => rule.tool = Some(parse_value(value).map(|ToolName(name)| name)?),
        "when.recipients_above" => *recipients_above = Some(parse_value(value)?),
        "when.recipients_at" => *recipients_at = Some(parse_value(value).map(|Domains(domains)| domains)?),
        "when.outside_recipients" => *outside_recipients = Some(parse_value(value)?),
        "when.outside_text" => *outside_text = Some(parse_value(value)?),
        "decider" => rule.decider = Some(decider(value, lists)?),
        "expire_after" => rule.expire_after = Some(delta(parse_value(value)?)),
        "remind_before" => rule.remind_before = Some(parse_value(value).map(|ZeroableDuration(p)| delta(p))?),
        "undo" => rule.undo_window = Some(parse_value(value).map(|WholeSeconds(s)| delta(s))?),
        "never" => rule.forbid = Some(parse_value(value)?),
        _ => return Err(format!("no such key. You can use {}", KEYS.join(", "))),
    }
    Ok(())
}

/// Parses `owner`, or `owner and legal` if such a list exists. No decision is made without the account's owner.
fn decider(value: &Value, lists: &Lists) -> Result<Decider, String> {
    let text = value.as_str().map(str::trim).unwrap_or_default();
    if text == "owner" {
        return Ok(Decider::Owner);
    }
    let named = text.strip_prefix("owner and ").map(str::trim).and_then(|name| lists.get_key_value(name));
    match named {
        Some((name, people)) => {
            // Problems of the list itself were already reported.
            let people = people.clone().unwrap_or_default();
            Ok(Decider::OwnerAndOneOf(ApproverList { name: name.clone(), people }))
        }
        None => {
            let names: Vec<String> = lists.keys().map(|name| format!("“owner and {name}”")).collect();
            let or = if names.is_empty() {
                "“owner and …” with a list of [approvers]"
            } else {
                &names.join(" or ")
            };
            Err(Problem::invalid_value("", Some(&display_value(value)), &format!("owner, or {or}")).message)
        }
    }
}

fn parse_value<K: ConfigValue>(value: &Value) -> Result<K, String> {
    let problem = || Problem::invalid_value("", Some(&display_value(value)), K::EXPECTED).message;
    K::read(value).ok_or_else(problem)
}

/// Converts a duration. The kinds of durations are bounded, so none is too long.
fn delta(given: Duration) -> TimeDelta {
    TimeDelta::from_std(given).unwrap_or(TimeDelta::MAX)
}

/// A tool that changes something.
struct ToolName(String);

impl ConfigValue for ToolName {
    const EXPECTED: &'static str = "one of gmail_create_draft, gmail_update_draft, gmail_send_draft, \
         gmail_discard_draft, gmail_reply, gmail_draft_reply, gmail_send_email, gmail_forward, gmail_organise, \
         gmail_create_label, calendar_create_event, calendar_update_event, calendar_cancel_event, calendar_respond";
    fn read(given: &Value) -> Option<Self> {
        let name = given.as_str()?.trim();
        google::acts().contains(&name).then(|| Self(name.to_owned()))
    }
}

/// People on a list.
struct PeopleList(Vec<Named>);

impl ConfigValue for PeopleList {
    const EXPECTED: &'static str =
        "a list of people, each as an address or as slack:U0123ABCD or discord:123456789";
    fn read(given: &Value) -> Option<Self> {
        texts(given)?.iter().map(|text| parse_person(text)).collect::<Option<_>>().map(Self)
    }
}

/// Parses a person: an email address or `slack:U0123ABCD`.
pub(super) fn parse_person(text: &str) -> Option<Named> {
    match text.split_once(':') {
        Some((platform @ ("slack" | "discord"), user)) => {
            let is_id = !user.is_empty() && user.bytes().all(|b| b.is_ascii_alphanumeric());
            is_id.then(|| Named::User { platform: platform.to_owned(), user: user.to_owned() })
        }
        _ => {
            let (name, at) = text.split_once('@')?;
            let plain = !name.is_empty() && !name.contains(char::is_whitespace);
            domain(at).filter(|_| plain).map(|at| Named::Email(format!("{name}@{at}")))
        }
    }
}

/// Returns the tools that a rule can name: all that change something.
#[must_use]
pub fn acts() -> Vec<&'static str> {
    google::acts()
}

/// Domains: the part of an email address after the @.
struct Domains(Vec<String>);

impl ConfigValue for Domains {
    const EXPECTED: &'static str =
        "a list of domains, like [\"example.com\"], without * or @. Subdomains are included";
    fn read(given: &Value) -> Option<Self> {
        texts(given)?.iter().map(|text| domain(text)).collect::<Option<_>>().map(Self)
    }
}

/// Parses a list of at least one string.
fn texts(given: &Value) -> Option<Vec<String>> {
    let Value::Array(_, all) = given else { return None };
    let all: Option<Vec<String>> = all.iter().map(|one| Some(one.as_str()?.trim().to_owned())).collect();
    all.filter(|all| !all.is_empty())
}

/// Normalises a domain as in addresses: lower-case ASCII, other scripts in their `xn--` form.
pub(super) fn domain(text: &str) -> Option<String> {
    let Ok(Host::Domain(domain)) = Host::parse(text) else { return None };
    let sound = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (domain.contains('.') && domain.split('.').all(sound)).then_some(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_normalized_like_email_domains() {
        for (text, wanted) in [
            ("Rival.TEST", Some("rival.test")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("*.rival.test", None),
            ("@rival.test", None),
            ("rival", None),
            ("rival.test.", None),
            ("https://rival.test", None),
            ("10.0.0.1", None),
            ("rival test.example", None),
        ] {
            assert_eq!(domain(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn expected_tool_names_match_the_write_tools() {
        assert_eq!(ToolName::EXPECTED, format!("one of {}", google::acts().join(", ")));
    }
}
