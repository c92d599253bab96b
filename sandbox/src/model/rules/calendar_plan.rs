//! Parses a sentence about a calendar: what to look at, arrange, move, cancel or answer.

use super::people::recipients;
use super::references::Reference;
use super::sentence::{after_verb, starts, strip_politeness};
use super::time_spans::{around_time, is_time, split_day_and_hour, split_off_duration};

/// What the person wants from a calendar. Times are as they said them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CalendarPlan {
    Agenda(String),
    Next,
    FindFreeTime(MeetingRequest),
    CreateEvent(MeetingRequest),
    ChangeEvent(EventReference, EventChange),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MeetingRequest {
    pub title: String,
    pub when: String,
    pub minutes: Option<u64>,
    pub people: Vec<String>,
}

/// An existing event, as a person refers to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EventReference {
    /// Words of its title; empty if any title matches.
    pub title: String,
    /// Its owner, or an invited person.
    pub person: Option<String>,
    /// "Monday", "next week"
    pub day: Option<String>,
    /// "3pm", "15:00"
    pub hour: Option<String>,
    /// A reference such as "it", instead of the other fields.
    pub back: Option<Reference>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventChange {
    Move(String),
    Cancel,
    /// Yes, no or maybe, and the note to the organiser.
    Answer(&'static str, Option<String>),
}

const CALENDAR: [&str; 8] = [
    "my calendar",
    "the calendar",
    "our calendar",
    "my agenda",
    "the agenda",
    "my schedule",
    "the schedule",
    "my day",
];
const LOOKING: [&str; 11] = [
    "what's",
    "whats",
    "what is",
    "what",
    "show",
    "how",
    "check",
    "look at",
    "anything",
    "is there",
    "is anything",
];
const NEXT: [&str; 6] =
    ["what's next", "whats next", "what is next", "what comes next", "what's coming up", "what's my next"];
const ARRANGING: [&str; 9] =
    ["book", "schedule", "set up", "arrange", "plan", "organise", "organize", "put", "create"];
const BLOCKING: [&str; 4] = ["block off", "block out", "block", "reserve"];
/// Words that do not identify an event; capitalised, they are a title.
const ANY: [&str; 5] = ["meeting", "event", "invitation", "invite", "appointment"];
/// Words that show that a sentence is not about a calendar.
const NO_EVENT: [&str; 6] = ["mail", "inbox", "message", "thread", "draft", "label"];

impl CalendarPlan {
    pub fn read(text: &str) -> Option<Self> {
        let text = strip_politeness(text.trim()).trim_end_matches(['?', '.', '!', ' ']).replace('’', "'");
        let lower = text.to_lowercase();
        // Lower-casing can shift bytes in rare scripts; such sentences are left to the mail rules.
        if lower.len() != text.len() {
            return None;
        }
        parse_lookup(&text, &lower)
            .or_else(|| parse_free_time_request(&text))
            .or_else(|| parse_meeting(&text))
            .or_else(|| parse_change(&text, &lower))
    }
}

fn parse_lookup(text: &str, lower: &str) -> Option<CalendarPlan> {
    if NEXT.iter().any(|words| lower.starts_with(words)) {
        return Some(CalendarPlan::Next);
    }
    let having = after_verb(text, &["what do i have", "what have i got", "do i have anything"]);
    let having = having.or_else(|| after_verb(text, &["what's on", "what is on"]).filter(|on| is_time(on)));
    let (before, after) = match having {
        Some(having) => ("", having),
        None => around_calendar(text, lower).filter(|_| starts(lower, &LOOKING))?,
    };
    let when = [after, before].map(|text| around_time(text).1).into_iter().find(|when| !when.is_empty());
    Some(CalendarPlan::Agenda(when.unwrap_or("today").to_owned()))
}

/// Returns the text before and after "in my calendar".
fn around_calendar<'a>(text: &'a str, lower: &str) -> Option<(&'a str, &'a str)> {
    let (at, words) = CALENDAR.iter().find_map(|words| Some((lower.find(words)?, words)))?;
    let before = text.get(..at)?.trim_end();
    let bare = [" in", " on", " into", " to"].iter().find_map(|word| before.strip_suffix(word));
    Some((bare.unwrap_or(before), text.get(at + words.len()..)?))
}

/// Parses "when are Bo and I free next week", "when do Bo and I have an hour on Monday".
fn parse_free_time_request(text: &str) -> Option<CalendarPlan> {
    let rest = after_verb(text, &["when are", "when is", "when do", "when does", "when can", "when am"])?;
    let rest = after_verb(rest, &["I and", "me and"]).unwrap_or(rest);
    let (minutes, rest) = split_off_duration(rest);
    let (before, when, _) = around_time(&rest);
    let is_asked =
        before.split(' ').any(|word| ["free", "available", "have", "meet", "time"].contains(&word));
    let (people, _) = recipients(before);
    let known = (is_asked && !when.is_empty()).then(|| MeetingRequest {
        when: when.to_owned(),
        minutes,
        people,
        ..MeetingRequest::default()
    });
    known.map(CalendarPlan::FindFreeTime)
}

fn parse_meeting(text: &str) -> Option<CalendarPlan> {
    let (minutes, said) = split_off_duration(text);
    if let Some(rest) = after_verb(&said, &["invite"]) {
        let (people, rest) = recipients(rest);
        let (thing, when, after) = around_time(rest);
        let thing = after_verb(thing, &["to", "for"]).unwrap_or(thing);
        return (!people.is_empty()).then(|| plan_meeting(thing, when, after, minutes, people));
    }
    let found =
        after_verb(&said, &["find", "look for"]).map(|rest| after_verb(rest, &["me", "us"]).unwrap_or(rest));
    let found = found.filter(|rest| minutes.is_some() || starts(rest, &["a time", "time", "a slot"]));
    let blocked = after_verb(&said, &BLOCKING);
    let added = || after_verb(&said, &["add"]).filter(|rest| without_calendar(rest) != *rest);
    let rest = found.or(blocked).or_else(|| after_verb(&said, &ARRANGING)).or_else(added)?;
    let rest = without_calendar(rest);
    let (before, when, after) = around_time(&rest);
    // "a call with Bo on Friday", "a call on Friday with Bo", "with Bo and Cho next week for planning"
    let (thing, with) = split_at_word(before, "with");
    let (topic, later) = split_at_word(after, "with");
    let (people, more) = recipients(with.or(later).unwrap_or_default());
    let topic = if topic.is_empty() { more } else { topic };
    let thing = if blocked.is_some() && thing.is_empty() { "busy" } else { thing };
    (!when.is_empty() || !people.is_empty()).then(|| plan_meeting(thing, when, topic, minutes, people))
}

/// Removes the calendar from "focus time in my calendar tomorrow".
fn without_calendar(text: &str) -> String {
    let around = around_calendar(text, &text.to_lowercase());
    around.map_or_else(|| text.to_owned(), |(before, after)| format!("{before}{after}"))
}

/// Words before an event's topic or name: within the event, and after its time.
const NAMES: [&str; 4] = ["about", "called", "named", "titled"];
const TOPICS: [&str; 7] = ["about", "called", "named", "titled", "for", "regarding", "to talk about"];

fn plan_meeting(
    thing: &str,
    when: &str,
    topic: &str,
    minutes: Option<u64>,
    people: Vec<String>,
) -> CalendarPlan {
    let topic = after_verb(topic.trim(), &TOPICS).unwrap_or_default();
    let split = NAMES.iter().map(|word| split_at_word(thing, word)).find(|(_, inside)| inside.is_some());
    let (thing, inside) = split.unwrap_or((thing, None));
    let topic = if topic.is_empty() { inside.unwrap_or_default() } else { topic };
    let thing = articles_off(thing);
    let is_bare = thing.is_empty() || ["time", "slot"].contains(&thing);
    let title = if topic.is_empty() { if is_bare { "meeting" } else { thing } } else { topic };
    let title = super::phrasing::capital(title.trim_matches(['"', '“', '”', ' ']));
    CalendarPlan::CreateEvent(MeetingRequest { title, when: when.to_owned(), minutes, people })
}

fn parse_change(text: &str, lower: &str) -> Option<CalendarPlan> {
    let said = split_at_word(lower, ",").0;
    if NO_EVENT.iter().any(|word| said.contains(word)) {
        return None;
    }
    if let Some(rest) = after_verb(text, &["move", "reschedule", "shift", "push"]) {
        let mut all = rest.match_indices(" to ").map(|(at, _)| (&rest[..at], rest[at + 4..].trim()));
        let (event, when) = all.find(|(_, when)| is_time(when))?;
        return Some(CalendarPlan::ChangeEvent(
            parse_event_reference(event),
            EventChange::Move(when.to_owned()),
        ));
    }
    let (said, note) = split_at_word(text, ",");
    let note = note.map(|note| super::phrasing::capital(note.trim()));
    if let Some(rest) = after_verb(said, &["cancel", "call off", "delete"]) {
        return Some(CalendarPlan::ChangeEvent(parse_event_reference(rest), EventChange::Cancel));
    }
    for (verbs, answer) in [
        (["accept", "say yes to"], "yes"),
        (["decline", "say no to"], "no"),
        (["tentatively accept", "say maybe to"], "maybe"),
    ] {
        if starts(lower, &verbs) {
            let event = parse_event_reference(after_verb(said, &verbs)?);
            return Some(CalendarPlan::ChangeEvent(event, EventChange::Answer(answer, note)));
        }
    }
    None
}

/// Parses "Eve's meeting", "Monday's standup", "lunch with Bo", "the planning on Friday at 3", "it".
fn parse_event_reference(text: &str) -> EventReference {
    if let Some(back) = Reference::parse_exact(text) {
        return EventReference { back: Some(back), ..EventReference::default() };
    }
    let (text, when, _) = around_time(articles_off(text));
    let (day, hour) = split_day_and_hour(when);
    let (thing, with) = split_at_word(text, "with");
    let (owner, thing) = match thing.split_once("'s ") {
        Some((owner, thing)) => (Some(owner.trim().to_owned()), thing.trim()),
        None => (None, thing),
    };
    let (days, owner): (Vec<String>, Vec<String>) = owner.into_iter().partition(|owner| is_time(owner));
    let with = with.and_then(|with| recipients(with).0.into_iter().next());
    let title: Vec<&str> = thing.split_whitespace().filter(|word| !ANY.contains(word)).collect();
    EventReference {
        title: if thing == "one" { String::new() } else { title.join(" ") },
        person: owner.into_iter().next().or(with),
        day: day.or(days.into_iter().next()),
        hour,
        back: None,
    }
}

fn articles_off(text: &str) -> &str {
    after_verb(text.trim(), &["a", "an", "the", "my", "our", "another", "that"]).unwrap_or(text).trim()
}

/// Splits the text at a word; returns what precedes and follows it.
pub(super) fn split_at_word<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    if let Some(rest) = after_verb(text, &[word]) {
        return ("", Some(rest));
    }
    let mark = if word == "," { ", ".to_owned() } else { format!(" {word} ") };
    match text.split_once(&mark) {
        Some((before, after)) => (before.trim(), Some(after.trim())),
        None => (text.trim(), None),
    }
}
