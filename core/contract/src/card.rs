//! Cards: everything Nod shows, as data. A renderer per platform turns them into what the platform takes.
//!
//! Text is one of two kinds. *Markdown* is written by Nod or by a model and is formatted; nothing in it can
//! ping or hide a link. *Literal* text is shown letter by letter: names, addresses, the body of a mail.

pub mod reconnect;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::OfferId;
use crate::provider::Provider;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Card {
    /// Bold first line; literal.
    pub title: Option<String>,
    /// What it says.
    pub body: Vec<Block>,
    /// What can be pressed.
    pub buttons: Vec<Button>,
}

/// A part of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", content = "content", rename_all = "snake_case")]
pub enum Block {
    /// Somebody who is told by the platform that this concerns them, by its id of them. No other text calls anybody.
    Mention(String),
    /// Formatted text.
    Markdown(String),
    /// Named values, each literal: From, To, Subject. An empty value shows as "—".
    Fields(Vec<(String, String)>),
    /// Text that is shown letter by letter and set off, as the body of a mail.
    Literal(String),
    /// What to be careful about, a line each; literal.
    Risks(Vec<String>),
    /// Times to choose from, which everybody reads by their own clocks.
    Times(Vec<Time>),
    /// Small print; literal.
    Note(String),
}

/// One of several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// By which its button is found: "1"; literal.
    pub label: String,
    /// Seconds since 1970.
    pub from: i64,
    /// Seconds since 1970; where it is not later, only what is `said` is shown.
    pub to: i64,
    /// For whoever's platform does not know their clocks: "Mon 9 Mar, 09:00–09:45 WET"; literal.
    pub said: String,
    /// What stands below it; literal, and nothing where it is empty.
    pub below: String,
}

impl Time {
    /// What is said, as its beginning and its end.
    #[must_use]
    pub fn halves(&self) -> Option<(&str, &str)> {
        let (from, to) = self.said.split_once('–').filter(|_| self.from < self.to)?;
        Some((from.trim(), to.trim()))
    }
}

/// Something to press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// What it does.
    pub does: Press,
}

/// How a button looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// The thing most people want.
    Primary,
    /// As others.
    Plain,
    /// Refuses or destroys.
    Danger,
}

/// What pressing does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// Comes back as an inbound that carries only this.
    Verb(Verb),
    /// Opens a page.
    Link(String),
    /// Opens the page that connects an account. Rows hold only the offer's id; the link is made when the card
    /// goes out, so an adapter never sees this.
    Connect { provider: Provider, offer: OfferId },
}

/// A thing's id and what to do with it. It travels as `verb:id`, or `verb:id:n` where one of several is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verb {
    /// `approve`, `deny`, `choose`, `retry`, …
    pub verb: String,
    /// An approval's, question's, run's or delivery's id.
    pub subject: Uuid,
    /// Which of several choices, from 0; or the revision that was seen, from 1.
    pub choice: Option<u16>,
}

/// Something to fill in and send back; opened in answer to a press or a command.
///
/// A platform cuts a value that is longer than one of its inputs into several and joins what comes back. Some
/// take few inputs (five, on one), so a form has at most five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// A few words; literal.
    pub title: String,
    /// What comes back with the values, and nothing else does.
    pub verb: Verb,
    /// What stands above the fields.
    pub body: Vec<Block>,
    /// What is to be filled in; a form without fields only shows its body.
    pub fields: Vec<Field>,
    /// What the button says that sends it: "Save".
    pub submit: String,
    /// What follows where the platform does not open it.
    pub unopened: Unopened,
}

/// What follows where a form cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unopened {
    /// The person reads this, and nothing is done.
    Say(String),
    /// It counts as sent as it stands.
    Submit,
}

/// One thing to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// `[a-z_]+`, by which its value comes back.
    pub id: String,
    /// What it is called: "Subject".
    pub label: String,
    /// What stands in it.
    pub value: String,
    /// Whether it has several lines.
    pub lines: bool,
    /// Most characters.
    pub limit: usize,
    /// Whether it may stay empty.
    pub optional: bool,
    /// Whether it names people: addresses, or names that Nod knows, separated by commas.
    pub people: bool,
}

/// What is wrong with what was filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's id.
    pub field: String,
    /// A sentence.
    pub why: String,
}

impl FieldError {
    /// A sentence about a field.
    pub fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.to_owned(), why: why.into() }
    }
}

impl Verb {
    /// A verb on a thing.
    pub fn new(verb: &str, subject: impl Into<Uuid>) -> Self {
        Self { verb: verb.to_owned(), subject: subject.into(), choice: None }
    }

    /// A verb on that revision of a thing; what was seen is what it counts for.
    pub fn on_revision(verb: &str, subject: impl Into<Uuid>, revision: i32) -> Self {
        // Nobody edits a mail 65,000 times; what does not fit is no revision and does nothing.
        Self { choice: Some(u16::try_from(revision).unwrap_or_default()), ..Self::new(verb, subject) }
    }

    /// Whether a press says yes to what the card shows, which therefore has to be shown whole.
    #[must_use]
    pub fn approves(&self) -> bool {
        matches!(self.verb.as_str(), "approve" | "approve_all" | "approve_selected")
    }

    /// The revision that was seen; the first where the button does not say.
    #[must_use]
    pub fn revision(&self) -> i32 {
        self.choice.map_or(1, i32::from)
    }

    /// Reads `verb:id` or `verb:id:n`; `None` for anything else, whoever wrote it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let verb = parts.next().filter(|v| !v.is_empty() && v.len() <= 20)?;
        if !verb.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            return None;
        }
        let subject = parts.next()?.parse().ok()?;
        let choice = parts.next().map(str::parse).transpose().ok()?;
        parts.next().is_none().then(|| Self { verb: verb.to_owned(), subject, choice })
    }
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.verb, self.subject)?;
        self.choice.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

impl Card {
    /// A card of one formatted text.
    pub fn say(markdown: impl Into<String>) -> Self {
        Self { body: vec![Block::Markdown(markdown.into())], ..Self::default() }
    }

    /// Nothing stands there: a card that was posted is taken away.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether somebody can say yes to what it shows, which therefore has to be shown whole.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.buttons.iter().any(|button| matches!(&button.does, Press::Verb(verb) if verb.approves()))
    }

    /// With a title.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// With one more part.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.body.push(block);
        self
    }

    /// Before all else naming whom it concerns, where there is somebody.
    #[must_use]
    pub fn calling(mut self, user: Option<&str>) -> Self {
        self.body.splice(0..0, user.map(|user| Block::Mention(user.to_owned())));
        self
    }

    /// Without naming whom it concerns.
    #[must_use]
    pub fn calling_nobody(mut self) -> Self {
        self.body.retain(|block| !matches!(block, Block::Mention(_)));
        self
    }

    /// With one more button.
    #[must_use]
    pub fn button(mut self, label: impl Into<String>, style: Style, does: Press) -> Self {
        self.buttons.push(Button { label: label.into(), style, does });
        self
    }
}

/// As one line, cut after so many characters.
pub fn clipped(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
