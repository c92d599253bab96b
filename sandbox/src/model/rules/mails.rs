//! Parses which mail a sentence refers to, and what to do with existing mail.

use chrono::{Datelike, Days, NaiveDate};

use super::calendar_plan::split_at_word;
use super::people::recipients;
use super::references::Reference;
use super::sentence::{MailContent, after_verb, parse_content};

/// The mail that a sentence refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MailReference {
    Reference(Reference),
    /// A Gmail search query.
    Search(String, Option<Period>),
}

/// The period in which it arrived, as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Today,
    Yesterday,
    ThisWeek,
    LastWeek,
    ThisMonth,
}

/// What to do with the mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MailAction {
    Action(&'static str),
    Label(String),
}

/// The beginning and end of the sentence, and the action that is requested from Gmail.
const DEEDS: [(&str, &str, &str); 14] = [
    ("archive", "", "archive"),
    ("unarchive", "", "move_to_inbox"),
    ("move", " back to the inbox", "move_to_inbox"),
    ("move", " to the inbox", "move_to_inbox"),
    ("star", "", "star"),
    ("unstar", "", "unstar"),
    ("mark as read", "", "mark_read"),
    ("mark as unread", "", "mark_unread"),
    ("mark", " as read", "mark_read"),
    ("mark", " as unread", "mark_unread"),
    ("mark", " as important", "mark_important"),
    ("mark", " as not important", "mark_unimportant"),
    ("mark", " read", "mark_read"),
    ("mark", " unread", "mark_unread"),
];
const SINCE: [(&str, Period); 5] = [
    ("today", Period::Today),
    ("yesterday", Period::Yesterday),
    ("this week", Period::ThisWeek),
    ("last week", Period::LastWeek),
    ("this month", Period::ThisMonth),
];
const SENT: [&str; 5] = [" sent me", " has sent", " sent", " wrote me", " wrote"];
const WHATEVER: [&str; 5] = ["what", "whatever", "everything that", "everything", "all that"];
const MAILS: [&str; 12] = [
    "mail",
    "mails",
    "email",
    "emails",
    "message",
    "messages",
    "thread",
    "threads",
    "conversation",
    "conversations",
    "everything",
    "all",
];

impl MailAction {
    /// Parses "archive what the bank sent this week", "mark it as read", "label the mail from Bo as launch".
    pub fn read(text: &str) -> Option<(Self, MailReference)> {
        let text = text.trim_end_matches(['.', '!', ' ']).replace('’', "'");
        if let Some((mail, label)) = after_verb(&text, &["label"]).and_then(|rest| rest.rsplit_once(" as ")) {
            return Some((
                Self::Label(label.trim_matches(['"', '“', '”']).to_owned()),
                MailReference::read(mail)?,
            ));
        }
        DEEDS.iter().find_map(|(verb, end, deed)| {
            let what = after_verb(&text, &[verb])?.strip_suffix(end)?;
            Some((Self::Action(deed), MailReference::read(what)?))
        })
    }
}

/// Parses "reply that Wednesday works", "draft a reply to Kim saying yes": to which mail, what, and whether only a
/// draft.
pub(super) fn reply(text: &str) -> Option<(MailReference, MailContent, bool)> {
    const DRAFTS: [&str; 4] = ["draft a reply", "draft an answer", "write a draft reply", "prepare a reply"];
    let (rest, draft) = match after_verb(text, &DRAFTS) {
        Some(rest) => (rest, true),
        None => (after_verb(text, &["reply", "write back", "answer"])?, false),
    };
    let (to, rest) = match after_verb(rest, &["to"]).map(|named| (Reference::read(named), named)) {
        Some((Some((back, after)), _)) => (MailReference::Reference(back), after),
        Some((None, named)) => match recipients(named) {
            (names, after) if !names.is_empty() => {
                (MailReference::Search(format!("from:{}", names[0].to_lowercase()), None), after)
            }
            _ => (MailReference::Reference(Reference::It), after_verb(named, &["them"]).unwrap_or(named)),
        },
        None if rest.starts_with("it:") => {
            (MailReference::Reference(Reference::It), rest.trim_start_matches("it:"))
        }
        // "reply that Wednesday works" and "reply first things first" refer to no mail.
        None => match after_verb(text, &["answer"]).and_then(Reference::read) {
            Some((back, after)) if back != Reference::It => (MailReference::Reference(back), after),
            _ => (MailReference::Reference(Reference::It), rest),
        },
    };
    Some((to, parse_content(rest, false), draft))
}

/// Parses "forward it to Bo", "forward the mail from Kim to Bo: what do you think?".
pub(super) fn forward(text: &str) -> Option<(MailReference, Vec<String>, MailContent)> {
    let rest = after_verb(text, &["forward", "pass on"])?;
    rest.match_indices(" to ").find_map(|(at, to)| {
        let (people, words) = recipients(rest.get(at + to.len()..)?);
        let mail = MailReference::read(rest.get(..at)?).filter(|_| !people.is_empty())?;
        Some((mail, people, parse_content(words.trim_end_matches(['.', '!']), false)))
    })
}

impl MailReference {
    /// Parses "it", "the second one", "what the bank sent this week", "Bo's mail about lunch" and nothing else.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(back) = Reference::parse_exact(text) {
            return Some(Self::Reference(back));
        }
        let dated = SINCE.iter().find_map(|(words, since)| Some((before_end(text, words)?, *since)));
        let (text, since) = dated.map_or((text, None), |(text, since)| (text, Some(since)));
        let sent = after_verb(text, &WHATEVER)
            .and_then(|rest| SENT.iter().find_map(|end| rest.strip_suffix(end)).map(str::trim));
        let (from, topic) = match sent {
            Some(who) => (Some(who), None),
            None => {
                let (mails, topic) = split_at_word(text, "about");
                let (kind, from) = match (split_at_word(mails, "from"), mails.split_once("'s ")) {
                    ((kind, Some(who)), _) => (kind, Some(who)),
                    (_, Some((who, kind))) => (kind, Some(who)),
                    ((kind, None), None) => (kind, None),
                };
                // "the last mail from Kim" does not mean all of Kim's mail.
                let kind = after_verb(kind, &["all the", "all my", "all", "any", "every", "the", "my"])
                    .filter(|kind| !kind.is_empty())
                    .unwrap_or(kind);
                MAILS.contains(&kind.to_lowercase().as_str()).then_some((from, topic))?
            }
        };
        let from = from.map(|who| search_term("from:", who));
        let all: Vec<String> = from.into_iter().chain(topic.map(|topic| search_term("", topic))).collect();
        (!all.is_empty()).then(|| Self::Search(all.join(" "), since))
    }

    /// Returns the query for exactly one listed mail.
    pub fn from_listed(from: &str, subject: &str) -> String {
        format!("{} {}", search_term("from:", from), search_term("subject:", subject))
    }
}

impl Period {
    /// Returns the Gmail query; Gmail's search operators work in days.
    pub fn search(self, today: NaiveDate) -> Option<String> {
        let monday = today.checked_sub_days(Days::new(today.weekday().num_days_from_monday().into()))?;
        let (from, until) = match self {
            Self::Today => (today, None),
            Self::Yesterday => (today.checked_sub_days(Days::new(1))?, Some(today)),
            Self::ThisWeek => (monday, None),
            Self::LastWeek => (monday.checked_sub_days(Days::new(7))?, Some(monday)),
            Self::ThisMonth => (today.with_day(1)?, None),
        };
        let until = until.map(|until| format!(" before:{}", until.format("%Y/%m/%d"))).unwrap_or_default();
        Some(format!("after:{}{until}", from.format("%Y/%m/%d")))
    }
}

fn before_end<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.strip_suffix(words)?.strip_suffix(' ').map(str::trim)
}

fn search_term(operator: &str, words: &str) -> String {
    let clean: String = words.chars().filter(|c| !"\"“”(){}?!".contains(*c)).collect();
    let clean = clean.trim();
    let clean = after_verb(clean, &["the", "my"]).unwrap_or(clean);
    let marks = if clean.contains(' ') && !operator.is_empty() { "\"" } else { "" };
    format!("{operator}{marks}{clean}{marks}")
}
