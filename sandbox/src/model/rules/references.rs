//! Resolves "it" and "the second one" to what this conversation mentioned last. Earlier turns contain only text and no
//! tool results, so the references are read from the text.

use super::calendar_plan::{CalendarPlan, EventReference};
use super::mails::MailReference;
use super::sentence::{Intent, after_verb};
use super::time_spans::{is_formatted_day, split_day_and_hour};

/// How a sentence refers back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    It,
    /// An item of the last list, from 0.
    Ordinal(usize),
    Last,
}

/// Something that was mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Referent {
    Event(EventReference),
    /// An event that was requested, without a later message that it was created.
    RequestedEvent(String),
    Mail {
        from: String,
        subject: String,
    },
    /// The mail thread that was read.
    Thread,
}

/// An earlier turn.
#[derive(Debug)]
pub(super) enum PriorTurn {
    /// By the current speaker.
    Person(String),
    Nod(String),
}

/// Ends each question about which one is meant.
pub(super) const CLARIFICATION_HINT: &str = "Say “the second one”, for example.";

/// How the lines under an answer begin where Nod remembers it.
const LISTED: &str = "Shown below it:\n";

const NTH: [(&str, Reference); 7] = [
    ("first", Reference::Ordinal(0)),
    ("second", Reference::Ordinal(1)),
    ("third", Reference::Ordinal(2)),
    ("fourth", Reference::Ordinal(3)),
    ("fifth", Reference::Ordinal(4)),
    ("sixth", Reference::Ordinal(5)),
    ("last", Reference::Last),
];
const KINDS: [&str; 9] =
    ["one", "event", "meeting", "appointment", "invitation", "mail", "email", "message", "thread"];
const JUST: [&str; 5] = ["I just", "I've just", "you just", "you've just", "we just"];

impl Reference {
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
    pub fn parse_exact(text: &str) -> Option<Self> {
        Self::read(text.trim()).filter(|(_, rest)| rest.is_empty()).map(|(back, _)| back)
    }

    /// Returns what it can refer to; exactly one thing if that is clear.
    pub fn resolve<'a>(self, spoken: &'a [Referent], listed: &'a [Referent]) -> &'a [Referent] {
        let nth = match self {
            Self::It => return spoken,
            Self::Ordinal(at) => at,
            Self::Last => listed.len().saturating_sub(1),
        };
        listed.get(nth..=nth).unwrap_or_default()
    }
}

/// Returns what was mentioned last, in its order; empty if that was neither a mail nor an event.
pub(super) fn last_referents(before: &[PriorTurn]) -> Vec<Referent> {
    let things = before.iter().enumerate().rev().find_map(|(at, said)| match said {
        PriorTurn::Person(text) => find_referents(&Intent::read(text), &before[..at]),
        PriorTurn::Nod(text) => parse_referents(text),
    });
    things.unwrap_or_default()
}

/// Returns what was listed last.
pub(super) fn last_listed(before: &[PriorTurn]) -> Vec<Referent> {
    let list = before.iter().rev().find_map(|said| match said {
        PriorTurn::Nod(text) if text.contains("• ") || text.starts_with(LISTED) => {
            parse_referents(text).filter(|things| things[..] != [Referent::Thread])
        }
        _ => None,
    });
    list.unwrap_or_default()
}

/// Resolves "the second one" as the answer to a question about which one: the earlier request, for that one.
pub(super) fn parse_selection(text: &str, before: &[PriorTurn]) -> Option<Intent> {
    let back =
        Reference::parse_exact(text.trim_end_matches(['.', '!'])).filter(|back| *back != Reference::It)?;
    match before {
        [.., PriorTurn::Person(asked), PriorTurn::Nod(question)] if question.contains(CLARIFICATION_HINT) => {
            Intent::read(asked).for_reference(back)
        }
        _ => None,
    }
}

/// Returns what a request refers to; `None` if it leaves that unchanged.
fn find_referents(wish: &Intent, before: &[PriorTurn]) -> Option<Vec<Referent>> {
    let back = match wish {
        Intent::SmallTalk => return None,
        Intent::Calendar(CalendarPlan::ChangeEvent(event, _)) if event.back.is_none() => {
            return Some(vec![Referent::Event(event.clone())]);
        }
        Intent::Calendar(CalendarPlan::CreateEvent(meeting)) => {
            return Some(vec![Referent::RequestedEvent(meeting.title.clone())]);
        }
        Intent::Calendar(CalendarPlan::ChangeEvent(event, _)) => event.back,
        Intent::Read(MailReference::Reference(back))
        | Intent::Organise(MailReference::Reference(back), _)
        | Intent::Reply { to: MailReference::Reference(back), .. }
        | Intent::Forward { mail: MailReference::Reference(back), .. } => Some(*back),
        _ => None,
    };
    match back.map(|back| back.resolve(&[], &last_listed(before)).to_vec()) {
        // "move it to 5pm"
        Some(things) => Some(things).filter(|things| !things.is_empty()),
        None => Some(Vec::new()),
    }
}

/// Returns the same for the texts that `results` and `events` wrote.
fn parse_referents(text: &str) -> Option<Vec<Referent>> {
    let first = text.lines().next()?;
    if text.starts_with('“') && [" message:", " messages:"].iter().any(|end| first.ends_with(end)) {
        return Some(vec![Referent::Thread]);
    }
    if let Some(lines) = text.strip_prefix(LISTED) {
        return Some(lines.lines().filter_map(listed_mail).collect());
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("• ")?.split_once(": "));
    let listed: Vec<Referent> = lines.map(|(what, title)| thing(what, title)).collect();
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

/// Parses "2. Kim Vale · Terms · Fri 6 Mar, 09:12".
fn listed_mail(line: &str) -> Option<Referent> {
    let (_, line) = line.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok())?;
    let mut parts = line.split(" · ");
    let (from, subject) = (parts.next()?, parts.next()?);
    Some(Referent::Mail { from: from.to_owned(), subject: subject.to_owned() })
}

fn thing(what: &str, title: &str) -> Referent {
    if is_formatted_day(what) {
        return event(what, title);
    }
    let address = what.split_once('<').map_or(what, |(_, address)| address).trim_end_matches('>');
    Referent::Mail { from: address.to_owned(), subject: title.to_owned() }
}

/// Parses "Mon 9 Mar, 10:00–10:30 WET".
fn event(when: &str, title: &str) -> Referent {
    let (day, hours) = when.split_once(", ").unwrap_or((when, ""));
    let (_, hour) = split_day_and_hour(hours.split('–').next().unwrap_or_default());
    let day = Some(day.to_owned()).filter(|day| !day.is_empty());
    Referent::Event(EventReference { title: title.to_owned(), day, hour, ..EventReference::default() })
}
