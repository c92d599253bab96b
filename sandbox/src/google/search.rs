//! The supported part of Gmail's search language: a pure function from a query and a message to a match.
//!
//! Unknown operators are rejected, where Gmail would search for the words: a test must not pass because a search was
//! meaningless.

use std::collections::HashMap;

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::mailbox::{StoredMessage, UserLabel};

/// A day without a time begins at midnight Pacific Standard Time, wherever the account is
/// (<https://developers.google.com/workspace/gmail/api/guides/filtering>).
const PACIFIC_MIDNIGHT: Duration = Duration::hours(8);

/// A parsed search: every term must match.
#[derive(Debug)]
pub(super) struct SearchQuery(Vec<Term>);

#[derive(Debug)]
struct Term {
    wanted: bool,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Header(&'static str, String),
    Words(String),
    Label(String),
    Unlabelled(&'static str),
    MessageId(String),
    After(DateTime<Utc>),
    Before(DateTime<Utc>),
    Attachment,
    Any,
    AnyOf(Vec<Term>),
}

impl SearchQuery {
    /// # Errors
    /// A sentence that says what is not supported.
    pub fn parse(text: &str, now: DateTime<Utc>) -> Result<Self, String> {
        terms(text, now).map(Self)
    }

    /// Replaces the names of user labels, in which hyphens stand for spaces, by their ids, which messages carry.
    pub fn with_labels(mut self, made: &[UserLabel]) -> Self {
        let hyphened = |name: &str| name.to_uppercase().replace([' ', '/'], "-");
        let all = self.0.iter_mut().flat_map(|term| match &mut term.test {
            Test::AnyOf(terms) => terms.iter_mut().map(|term| &mut term.test).collect(),
            test => vec![test],
        });
        for test in all {
            let Test::Label(label) = test else { continue };
            if let Some(found) = made.iter().find(|one| hyphened(&one.name) == hyphened(label)) {
                found.id.clone_into(label);
            }
        }
        self
    }

    pub fn matches(&self, stored: &StoredMessage) -> bool {
        let mut texts = Texts { stored, read: HashMap::new() };
        self.0.iter().all(|term| texts.holds(term))
    }

    /// Returns whether trash and spam are searched too.
    pub fn is_anywhere(&self) -> bool {
        self.0.iter().any(|term| match &term.test {
            Test::Label(label) => label == "TRASH" || label == "SPAM",
            Test::Any => true,
            _ => false,
        })
    }
}

#[derive(Debug)]
struct Token {
    negated: bool,
    operator: Option<String>,
    value: String,
}

/// `{a b}` means a or b.
fn terms(text: &str, now: DateTime<Utc>) -> Result<Vec<Term>, String> {
    let (mut rest, mut all) = (text, Vec::new());
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').ok_or("a brace is not closed")?;
        let (before, wanted) = match before.strip_suffix('-') {
            Some(before) => (before, false),
            None => (before, true),
        };
        let apart = |text: &str| text.is_empty() || text.ends_with(' ');
        if inside.contains('{') || !apart(before) || !(after.is_empty() || after.starts_with(' ')) {
            return Err("braces inside of something are not known here".to_owned());
        }
        all.extend(plain(before, now)?);
        all.push(Term { wanted, test: Test::AnyOf(plain(inside, now)?) });
        rest = after;
    }
    all.extend(plain(rest, now)?);
    Ok(all)
}

fn plain(text: &str, now: DateTime<Utc>) -> Result<Vec<Term>, String> {
    tokens(text)?.iter().map(|token| term(token, now)).collect()
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text.trim_start();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let negated = rest.starts_with('-') && rest.len() > 1;
        rest = if negated { &rest[1..] } else { rest };
        let (operator, after) = operator(rest);
        let (value, after) = value(after)?;
        if operator.is_none() && ["OR", "AND"].contains(&value.as_str()) {
            return Err(format!("{value} is not known here"));
        }
        rest = after.trim_start();
        if !value.is_empty() {
            all.push(Token { negated, operator, value });
        }
    }
    Ok(all)
}

fn operator(text: &str) -> (Option<String>, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    // `15:30` is a word too.
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name };
    match rest.strip_prefix(':') {
        // `Re: lunch` and `http://…` are words.
        Some(after)
            if !name.is_empty()
                && !after.starts_with("//")
                && !after.starts_with(' ')
                && !after.is_empty() =>
        {
            (Some(name.to_lowercase()), after)
        }
        _ => (None, text),
    }
}

fn value(text: &str) -> Result<(String, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (inside, after) = quoted.split_once('"').ok_or("a quotation mark is not closed")?;
        return Ok((inside.to_owned(), after));
    }
    if text.starts_with(['(', '}']) {
        return Err("groups in ( ) are not known here".to_owned());
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Ok((text[..end].to_owned(), &text[end..]))
}

fn term(token: &Token, now: DateTime<Utc>) -> Result<Term, String> {
    let value = token.value.to_lowercase();
    let test = match token.operator.as_deref() {
        None => Test::Words(normalize_words(&value)),
        Some("from") => Test::Header("From", value),
        Some("to") => Test::Header("To", value),
        Some("cc") => Test::Header("Cc", value),
        Some("bcc") => Test::Header("Bcc", value),
        Some("subject") => Test::Header("Subject", value),
        Some("in") => place(&value)?,
        Some("is") => state(&value)?,
        Some("label") => Test::Label(value.to_uppercase()),
        Some("has") if value == "attachment" => Test::Attachment,
        Some("rfc822msgid") => Test::MessageId(token.value.trim_matches(['<', '>']).to_owned()),
        Some("newer_than") => Test::After(now - age(&value)?),
        Some("older_than") => Test::Before(now - age(&value)?),
        Some("after" | "newer") => Test::After(day(&value)?),
        Some("before" | "older") => Test::Before(day(&value)?),
        Some(other) => return Err(format!("the operator {other}:{value} is not known here")),
    };
    Ok(Term { wanted: !token.negated, test })
}

fn place(value: &str) -> Result<Test, String> {
    Ok(match value {
        "anywhere" => Test::Any,
        "inbox" | "sent" | "trash" | "spam" => Test::Label(value.to_uppercase()),
        "draft" | "drafts" => Test::Label("DRAFT".to_owned()),
        other => return Err(format!("in:{other} is not known here")),
    })
}

fn state(value: &str) -> Result<Test, String> {
    Ok(match value {
        "unread" | "starred" | "important" => Test::Label(value.to_uppercase()),
        "read" => Test::Unlabelled("UNREAD"),
        other => return Err(format!("is:{other} is not known here")),
    })
}

fn age(value: &str) -> Result<Duration, String> {
    let wrong = || format!("{value} is no age: a number and d, m or y");
    let unit = value.chars().last().ok_or_else(wrong)?;
    let count: i64 = value.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    let days = match unit {
        'd' => 1,
        'm' => 30,
        'y' => 365,
        _ => return Err(wrong()),
    };
    count.checked_mul(days).and_then(Duration::try_days).ok_or_else(wrong)
}

fn day(value: &str) -> Result<DateTime<Utc>, String> {
    let wrong = || format!("{value} is no day: 2026/01/31 or seconds since 1970");
    if value.len() >= 9 && value.chars().all(|c| c.is_ascii_digit()) {
        return DateTime::from_timestamp(value.parse().map_err(|_| wrong())?, 0).ok_or_else(wrong);
    }
    let day = NaiveDate::parse_from_str(&value.replace('-', "/"), "%Y/%m/%d").map_err(|_| wrong())?;
    Ok(day.and_time(chrono::NaiveTime::MIN).and_utc() + PACIFIC_MIDNIGHT)
}

/// Returns letters and digits separated by single spaces, so that `q3 report` finds `Q3-report,`.
fn normalize_words(text: &str) -> String {
    let only = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    let spaced: String = text.to_lowercase().chars().map(only).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts of one message, each read once.
struct Texts<'a> {
    stored: &'a StoredMessage,
    read: HashMap<&'static str, String>,
}

impl Texts<'_> {
    fn header(&self, name: &str) -> String {
        self.stored.mime.decoded_header(name).unwrap_or_default().to_lowercase()
    }

    fn all(&mut self) -> &str {
        let mime = &self.stored.mime;
        self.read.entry("all").or_insert_with(|| {
            let headers =
                ["Subject", "From", "To", "Cc"].map(|name| mime.decoded_header(name).unwrap_or_default());
            format!(" {} ", normalize_words(&format!("{} {}", headers.join(" "), mime.body_text())))
        })
    }

    fn test(&mut self, test: &Test) -> bool {
        match test {
            Test::Header(name, value) => format!(" {} ", normalize_words(&self.header(name)))
                .contains(&format!(" {} ", normalize_words(value))),
            Test::Words(value) => self.all().contains(&format!(" {value} ")),
            Test::Label(label) => self.stored.has(label),
            Test::Unlabelled(label) => !self.stored.has(label),
            Test::MessageId(id) => {
                self.stored.mime.header("Message-ID").is_some_and(|own| own.trim_matches(['<', '>']) == id)
            }
            Test::After(at) => self.stored.at >= *at,
            Test::Before(at) => self.stored.at < *at,
            Test::Attachment => super::payload::has_attachment(&self.stored.mime),
            Test::Any => true,
            Test::AnyOf(terms) => terms.iter().any(|term| self.holds(term)),
        }
    }

    fn holds(&mut self, term: &Term) -> bool {
        self.test(&term.test) == term.wanted
    }
}
