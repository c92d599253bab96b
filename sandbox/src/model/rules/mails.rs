//! Parses which mail a sentence refers to, and what to do with existing mail.

use chrono::{Datelike, Days, NaiveDate};

use super::before::Back;
use super::people::recipients;
use super::plan::parted;
use super::sentence::{Matter, after_verb, matter};

/// The mail that a sentence refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mail {
    Back(Back),
    /// A Gmail search query.
    Found(String, Option<Since>),
}

/// The period in which it arrived, as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Today,
    Yesterday,
    ThisWeek,
    LastWeek,
    ThisMonth,
}

/// What to do with the mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Does(&'static str),
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
const SINCE: [(&str, Since); 5] = [
    ("today", Since::Today),
    ("yesterday", Since::Yesterday),
    ("this week", Since::ThisWeek),
    ("last week", Since::LastWeek),
    ("this month", Since::ThisMonth),
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

impl Deed {
    /// Parses "archive what the bank sent this week", "mark it as read", "label the mail from Bo as launch".
    pub fn read(text: &str) -> Option<(Self, Mail)> {
        let text = text.trim_end_matches(['.', '!', ' ']).replace('’', "'");
        if let Some((mail, label)) = after_verb(&text, &["label"]).and_then(|rest| rest.rsplit_once(" as ")) {
            return Some((Self::Label(label.trim_matches(['"', '“', '”']).to_owned()), Mail::read(mail)?));
        }
        DEEDS.iter().find_map(|(verb, end, deed)| {
            let what = after_verb(&text, &[verb])?.strip_suffix(end)?;
            Some((Self::Does(deed), Mail::read(what)?))
        })
    }
}

/// Parses "reply that Wednesday works", "draft a reply to Kim saying yes": to which mail, what, and whether only a
/// draft.
pub(super) fn reply(text: &str) -> Option<(Mail, Matter, bool)> {
    const DRAFTS: [&str; 4] = ["draft a reply", "draft an answer", "write a draft reply", "prepare a reply"];
    let (rest, draft) = match after_verb(text, &DRAFTS) {
        Some(rest) => (rest, true),
        None => (after_verb(text, &["reply", "write back", "answer"])?, false),
    };
    let (to, rest) = match after_verb(rest, &["to"]).map(|named| (Back::read(named), named)) {
        Some((Some((back, after)), _)) => (Mail::Back(back), after),
        Some((None, named)) => match recipients(named) {
            (names, after) if !names.is_empty() => {
                (Mail::Found(format!("from:{}", names[0].to_lowercase()), None), after)
            }
            _ => (Mail::Back(Back::It), after_verb(named, &["them"]).unwrap_or(named)),
        },
        None if rest.starts_with("it:") => (Mail::Back(Back::It), rest.trim_start_matches("it:")),
        // "reply that Wednesday works" and "reply first things first" refer to no mail.
        None => match after_verb(text, &["answer"]).and_then(Back::read) {
            Some((back, after)) if back != Back::It => (Mail::Back(back), after),
            _ => (Mail::Back(Back::It), rest),
        },
    };
    Some((to, matter(rest, false), draft))
}

/// Parses "forward it to Bo", "forward the mail from Kim to Bo: what do you think?".
pub(super) fn forward(text: &str) -> Option<(Mail, Vec<String>, Matter)> {
    let rest = after_verb(text, &["forward", "pass on"])?;
    rest.match_indices(" to ").find_map(|(at, to)| {
        let (people, words) = recipients(rest.get(at + to.len()..)?);
        let mail = Mail::read(rest.get(..at)?).filter(|_| !people.is_empty())?;
        Some((mail, people, matter(words.trim_end_matches(['.', '!']), false)))
    })
}

impl Mail {
    /// Parses "it", "the second one", "what the bank sent this week", "Bo's mail about lunch" and nothing else.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(back) = Back::alone(text) {
            return Some(Self::Back(back));
        }
        let dated = SINCE.iter().find_map(|(words, since)| Some((before_end(text, words)?, *since)));
        let (text, since) = dated.map_or((text, None), |(text, since)| (text, Some(since)));
        let sent = after_verb(text, &WHATEVER)
            .and_then(|rest| SENT.iter().find_map(|end| rest.strip_suffix(end)).map(str::trim));
        let (from, topic) = match sent {
            Some(who) => (Some(who), None),
            None => {
                let (mails, topic) = parted(text, "about");
                let (kind, from) = match (parted(mails, "from"), mails.split_once("'s ")) {
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
        let from = from.map(|who| quoted("from:", who));
        let all: Vec<String> = from.into_iter().chain(topic.map(|topic| quoted("", topic))).collect();
        (!all.is_empty()).then(|| Self::Found(all.join(" "), since))
    }

    /// Returns the query for exactly one listed mail.
    pub fn listed(from: &str, subject: &str) -> String {
        format!("{} {}", quoted("from:", from), quoted("subject:", subject))
    }
}

impl Since {
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

fn quoted(operator: &str, words: &str) -> String {
    let clean: String = words.chars().filter(|c| !"\"“”(){}?!".contains(*c)).collect();
    let clean = clean.trim();
    let clean = after_verb(clean, &["the", "my"]).unwrap_or(clean);
    let marks = if clean.contains(' ') && !operator.is_empty() { "\"" } else { "" };
    format!("{operator}{marks}{clean}{marks}")
}
