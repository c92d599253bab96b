//! Resolves "it" and "the second one" to what this conversation mentioned last. Earlier turns contain only text and no
//! tool results, so the references are read from the text.

use super::mails::Mail;
use super::plan::{Event, Plan};
use super::sentence::{Wish, after_verb};
use super::spans::{day_and_hour, is_shown_day};

/// How a sentence refers back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    It,
    /// An item of the last list, from 0.
    Nth(usize),
    Last,
}

/// Something that was mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    Event(Event),
    /// An event that was requested, without a later message that it was created.
    Wanted(String),
    Mail {
        from: String,
        subject: String,
    },
    /// The mail thread that was read.
    Thread,
}

/// An earlier turn.
#[derive(Debug)]
pub(super) enum Said {
    /// By the current speaker.
    Person(String),
    Nod(String),
}

/// Ends each question about which one is meant.
pub(super) const WHICH: &str = "Say “the second one”, for example.";

const NTH: [(&str, Back); 7] = [
    ("first", Back::Nth(0)),
    ("second", Back::Nth(1)),
    ("third", Back::Nth(2)),
    ("fourth", Back::Nth(3)),
    ("fifth", Back::Nth(4)),
    ("sixth", Back::Nth(5)),
    ("last", Back::Last),
];
const KINDS: [&str; 9] =
    ["one", "event", "meeting", "appointment", "invitation", "mail", "email", "message", "thread"];
const JUST: [&str; 5] = ["I just", "I've just", "you just", "you've just", "we just"];

impl Back {
    /// Parses the reference and returns the rest of the text: "the second mail that …", "the event I just made".
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let kind_off = |text| after_verb(text, &KINDS).unwrap_or(text);
        if let Some(rest) = after_verb(text, &["it"]) {
            return Some((Self::It, rest));
        }
        if let Some(rest) = after_verb(text, &["that", "this"]) {
            return Some((Self::It, kind_off(rest)));
        }
        let text = after_verb(text, &["the"]).unwrap_or(text);
        let nth = NTH.iter().find_map(|(word, back)| Some((*back, kind_off(after_verb(text, &[word])?))));
        nth.or_else(|| {
            let made = after_verb(after_verb(text, &KINDS)?, &JUST)?;
            Some((Self::It, made.split_once(' ').map_or("", |(_, rest)| rest)))
        })
    }

    /// Same as `read`, only if nothing follows.
    pub fn alone(text: &str) -> Option<Self> {
        Self::read(text.trim()).filter(|(_, rest)| rest.is_empty()).map(|(back, _)| back)
    }

    /// Returns what it can refer to; exactly one thing if that is clear.
    pub fn of<'a>(self, spoken: &'a [Thing], listed: &'a [Thing]) -> &'a [Thing] {
        let nth = match self {
            Self::It => return spoken,
            Self::Nth(at) => at,
            Self::Last => listed.len().saturating_sub(1),
        };
        listed.get(nth..=nth).unwrap_or_default()
    }
}

/// Returns what was mentioned last, in its order; empty if that was neither a mail nor an event.
pub(super) fn spoken_of(before: &[Said]) -> Vec<Thing> {
    let things = before.iter().enumerate().rev().find_map(|(at, said)| match said {
        Said::Person(text) => wished(&Wish::read(text), &before[..at]),
        Said::Nod(text) => told(text),
    });
    things.unwrap_or_default()
}

/// Returns what was listed last.
pub(super) fn listed(before: &[Said]) -> Vec<Thing> {
    let list = before.iter().rev().find_map(|said| match said {
        Said::Nod(text) if text.contains("• ") => told(text).filter(|things| things[..] != [Thing::Thread]),
        _ => None,
    });
    list.unwrap_or_default()
}

/// Resolves "the second one" as the answer to a question about which one: the earlier request, for that one.
pub(super) fn picked(text: &str, before: &[Said]) -> Option<Wish> {
    let back = Back::alone(text.trim_end_matches(['.', '!'])).filter(|back| *back != Back::It)?;
    match before {
        [.., Said::Person(asked), Said::Nod(question)] if question.contains(WHICH) => {
            Wish::read(asked).of(back)
        }
        _ => None,
    }
}

/// Returns what a request refers to; `None` if it leaves that unchanged.
fn wished(wish: &Wish, before: &[Said]) -> Option<Vec<Thing>> {
    let back = match wish {
        Wish::Talk => return None,
        Wish::Calendar(Plan::Change(event, _)) if event.back.is_none() => {
            return Some(vec![Thing::Event(event.clone())]);
        }
        Wish::Calendar(Plan::Arrange(meeting)) => return Some(vec![Thing::Wanted(meeting.title.clone())]),
        Wish::Calendar(Plan::Change(event, _)) => event.back,
        Wish::Read(Mail::Back(back))
        | Wish::Tidy(Mail::Back(back), _)
        | Wish::Reply { to: Mail::Back(back), .. }
        | Wish::Forward { mail: Mail::Back(back), .. } => Some(*back),
        _ => None,
    };
    match back.map(|back| back.of(&[], &listed(before)).to_vec()) {
        // "move it to 5pm"
        Some(things) => Some(things).filter(|things| !things.is_empty()),
        None => Some(Vec::new()),
    }
}

/// Returns the same for the texts that `results` and `events` wrote.
fn told(text: &str) -> Option<Vec<Thing>> {
    if text.starts_with('“') && text.lines().next()?.ends_with("message(s):") {
        return Some(vec![Thing::Thread]);
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("• ")?.split_once(": "));
    let listed: Vec<Thing> = lines.map(|(what, title)| thing(what, title)).collect();
    if !listed.is_empty() {
        return Some(listed);
    }
    let answered = text.strip_prefix("I answered “").and_then(|rest| rest.split_once("” to "));
    let (title, rest) = answered.map_or(text, |(_, title)| title).strip_prefix('“')?.split_once('”')?;
    let when = [" is in your calendar: ", " is changed: "].iter().find_map(|is| rest.strip_prefix(is));
    let is_event = when.is_some() || rest.starts_with(" is cancelled") || answered.is_some();
    let when = when.map_or("", |when| when.split(". ").next().unwrap_or_default().trim_end_matches('.'));
    is_event.then(|| vec![event(when, title)])
}

fn thing(what: &str, title: &str) -> Thing {
    if is_shown_day(what) {
        return event(what, title);
    }
    let address = what.split_once('<').map_or(what, |(_, address)| address).trim_end_matches('>');
    Thing::Mail { from: address.to_owned(), subject: title.to_owned() }
}

/// Parses "Mon 9 Mar, 10:00–10:30 WET".
fn event(when: &str, title: &str) -> Thing {
    let (day, hours) = when.split_once(", ").unwrap_or((when, ""));
    let (_, hour) = day_and_hour(hours.split('–').next().unwrap_or_default());
    let day = Some(day.to_owned()).filter(|day| !day.is_empty());
    Thing::Event(Event { title: title.to_owned(), day, hour, ..Event::default() })
}
