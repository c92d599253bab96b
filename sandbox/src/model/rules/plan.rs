//! Reads one sentence about a calendar: what is to be looked at, arranged, moved, called off or answered.

use super::people::recipients;
use super::sentence::{after_verb, polite_off, starts};
use super::spans::{around_time, is_time, without_length};

/// What the person wants of a calendar. Times are as they said them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    Agenda(String),
    Next,
    Free(Meeting),
    Arrange(Meeting),
    Change(Event, Change),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Meeting {
    pub title: String,
    pub when: String,
    pub minutes: Option<u64>,
    pub people: Vec<String>,
}

/// An event that is there, as somebody speaks of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// What it is called, or whose it is.
    pub words: String,
    /// "Monday", "Bo": of several, the one that tells of this.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Move(String),
    Cancel,
    /// Yes, no or maybe, and what the organiser is told.
    Answer(&'static str, Option<String>),
}

const CALENDAR: [&str; 4] = ["my calendar", "my agenda", "my schedule", "my day"];
const NEXT: [&str; 6] =
    ["what's next", "whats next", "what is next", "what comes next", "what's coming up", "what's my next"];
const ARRANGING: [&str; 8] = ["book", "schedule", "set up", "arrange", "plan", "organise", "organize", "put"];
/// Words that name no event by themselves.
const ANY: [&str; 6] = ["meeting", "event", "invitation", "invite", "appointment", "one"];

impl Plan {
    pub fn read(text: &str) -> Option<Self> {
        let text = polite_off(text.trim()).trim_end_matches(['?', '.', '!', ' ']).replace('’', "'");
        let lower = text.to_lowercase();
        // Lower-casing may move bytes in rare scripts; such sentences are for whoever reads mail.
        if lower.len() != text.len() {
            return None;
        }
        looked_at(&text, &lower)
            .or_else(|| free(&text))
            .or_else(|| arranged(&text))
            .or_else(|| changed(&text, &lower))
    }
}

fn looked_at(text: &str, lower: &str) -> Option<Plan> {
    if NEXT.iter().any(|words| lower.starts_with(words)) {
        return Some(Plan::Next);
    }
    let asks = starts(lower, &["what's", "whats", "what is", "what", "show", "how", "check", "look at"]);
    let having = after_verb(text, &["what do i have", "what have i got", "do i have anything"]);
    let named = || {
        let (at, words) = CALENDAR.iter().find_map(|words| Some((lower.find(words)?, words)))?;
        asks.then(|| &text[at + words.len()..])
    };
    let (_, when, _) = around_time(having.or_else(named)?);
    Some(Plan::Agenda(if when.is_empty() { "today" } else { when }.to_owned()))
}

/// "when are Bo and I free next week", "when do Bo and I have an hour on Monday"
fn free(text: &str) -> Option<Plan> {
    let rest = after_verb(text, &["when are", "when is", "when do", "when does", "when can", "when am"])?;
    let rest = after_verb(rest, &["I and", "me and"]).unwrap_or(rest);
    let (minutes, rest) = without_length(rest);
    let (before, when, _) = around_time(&rest);
    let is_asked =
        before.split(' ').any(|word| ["free", "available", "have", "meet", "time"].contains(&word));
    let (people, _) = recipients(before);
    let known = (is_asked && !when.is_empty()).then(|| Meeting {
        when: when.to_owned(),
        minutes,
        people,
        ..Meeting::default()
    });
    known.map(Plan::Free)
}

fn arranged(text: &str) -> Option<Plan> {
    let (minutes, said) = without_length(text);
    if let Some(rest) = after_verb(&said, &["invite"]) {
        let (people, rest) = recipients(rest);
        let (thing, when, after) = around_time(rest);
        let thing = after_verb(thing, &["to", "for"]).unwrap_or(thing);
        return (!people.is_empty()).then(|| meeting(thing, when, after, minutes, people));
    }
    let found =
        after_verb(&said, &["find", "look for"]).map(|rest| after_verb(rest, &["me", "us"]).unwrap_or(rest));
    let found = found.filter(|rest| minutes.is_some() || starts(rest, &["a time", "time", "a slot"]));
    let rest = found.or_else(|| after_verb(&said, &ARRANGING))?;
    let (before, when, after) = around_time(rest);
    // "a call with Bo on Friday", "a call on Friday with Bo", "with Bo and Cho next week for planning"
    let (thing, with) = parted(before, "with");
    let (topic, later) = parted(after, "with");
    let (people, more) = recipients(with.or(later).unwrap_or_default());
    let topic = if topic.is_empty() { more } else { topic };
    (!when.is_empty() || !people.is_empty()).then(|| meeting(thing, when, topic, minutes, people))
}

fn meeting(thing: &str, when: &str, topic: &str, minutes: Option<u64>, people: Vec<String>) -> Plan {
    let topic = after_verb(topic.trim(), &["about", "for", "regarding", "to talk about"]).unwrap_or_default();
    let (thing, inside) = parted(thing, "about");
    let topic = if topic.is_empty() { inside.unwrap_or_default() } else { topic };
    let thing = articles_off(thing);
    let is_bare = thing.is_empty() || ["time", "slot"].contains(&thing);
    let title = if topic.is_empty() { if is_bare { "meeting" } else { thing } } else { topic };
    let title = super::words::capital(title.trim_matches(['"', '“', '”', ' ']));
    Plan::Arrange(Meeting { title, when: when.to_owned(), minutes, people })
}

fn changed(text: &str, lower: &str) -> Option<Plan> {
    if let Some(rest) = after_verb(text, &["move", "reschedule", "shift", "push"]) {
        let mut all = rest.match_indices(" to ").map(|(at, _)| (&rest[..at], rest[at + 4..].trim()));
        let (event, when) = all.find(|(_, when)| is_time(when))?;
        return Some(Plan::Change(named(event), Change::Move(when.to_owned())));
    }
    let (said, note) = parted(text, ",");
    let note = note.map(|note| super::words::capital(note.trim()));
    if let Some(rest) = after_verb(said, &["cancel", "call off"]) {
        return Some(Plan::Change(named(rest), Change::Cancel));
    }
    for (verbs, answer) in [
        (["accept", "say yes to"], "yes"),
        (["decline", "say no to"], "no"),
        (["tentatively accept", "say maybe to"], "maybe"),
    ] {
        if starts(lower, &verbs) {
            let event = named(after_verb(said, &verbs)?);
            return Some(Plan::Change(event, Change::Answer(answer, note)));
        }
    }
    None
}

/// "Eve's meeting", "Monday's standup", "lunch with Bo", "the planning on Friday"
fn named(text: &str) -> Event {
    let (text, when, _) = around_time(articles_off(text));
    let day = (!when.is_empty()).then(|| first_day(when));
    let (thing, with) = parted(text, "with");
    let (owner, thing) = match thing.split_once("'s ") {
        Some((owner, thing)) => (Some(owner.trim().to_owned()), thing.trim()),
        None => (None, thing),
    };
    let with = with.and_then(|with| recipients(with).0.into_iter().next());
    if ANY.contains(&thing.to_lowercase().as_str()) {
        let words = owner.or_else(|| with.clone()).unwrap_or_default();
        // Days are nobody's name: Calendar would look for them in titles.
        let (words, hint) = if is_time(&words) { (String::new(), Some(words)) } else { (words, day) };
        return Event { words, hint };
    }
    Event { words: thing.to_owned(), hint: owner.or(with).or(day) }
}

fn first_day(when: &str) -> String {
    let rest = after_verb(when, &["on", "next", "this"]).unwrap_or(when);
    rest.split(' ').next().unwrap_or_default().to_owned()
}

fn articles_off(text: &str) -> &str {
    after_verb(text.trim(), &["a", "an", "the", "my", "our", "another"]).unwrap_or(text).trim()
}

/// What stands before and after a word.
fn parted<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    if let Some(rest) = after_verb(text, &[word]) {
        return ("", Some(rest));
    }
    let mark = if word == "," { ", ".to_owned() } else { format!(" {word} ") };
    match text.split_once(&mark) {
        Some((before, after)) => (before.trim(), Some(after.trim())),
        None => (text.trim(), None),
    }
}
