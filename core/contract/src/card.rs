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
    #[serde(alias = "times")]
    TimeOptions(Vec<TimeOption>),
    /// Small print; literal.
    Note(String),
}

/// One of several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeOption {
    /// By which its button is found: "1"; literal.
    pub label: String,
    /// Seconds since 1970.
    pub from: i64,
    /// Seconds since 1970; where it is not later, only what is `said` is shown.
    pub to: i64,
    /// For whoever's platform does not know their clocks: "Mon 9 Mar, 09:00–09:45 WET"; literal.
    #[serde(alias = "said")]
    pub text: String,
    /// What stands below it; literal, and nothing where it is empty.
    #[serde(alias = "below")]
    pub note: String,
}

impl TimeOption {
    /// What is said, as its beginning and its end.
    #[must_use]
    pub fn split_text(&self) -> Option<(&str, &str)> {
        let (from, to) = self.text.split_once('–').filter(|_| self.from < self.to)?;
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
    #[serde(alias = "does")]
    pub on_click: OnClick,
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
pub enum OnClick {
    /// Comes back as an inbound that carries only this.
    #[serde(alias = "verb")]
    Action(Action),
    /// Opens a page.
    Link(String),
    /// Opens the page that connects an account. Rows hold only the offer's id; the link is made when the card
    /// goes out, so an adapter never sees this.
    Connect { provider: Provider, offer: OfferId },
}

/// A thing's id and what to do with it. It travels as `verb:id`, or `verb:id:n` where one of several is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// `approve`, `deny`, `choose`, `retry`, …
    #[serde(alias = "verb")]
    pub kind: String,
    /// An approval's, question's, run's or delivery's id.
    pub subject: Uuid,
    /// Which of several choices, from 0; or the revision that was seen, from 1.
    #[serde(alias = "choice")]
    pub argument: Option<u16>,
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
    pub verb: Action,
    /// What stands above the fields.
    pub body: Vec<Block>,
    /// What is to be filled in; a form without fields only shows its body.
    pub fields: Vec<Field>,
    /// What the button says that sends it: "Save".
    pub submit: String,
    /// What follows where the platform does not open it.
    pub fallback: FormFallback,
}

/// What follows where a form cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormFallback {
    /// The person reads this, and nothing is done.
    ShowText(String),
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
    #[serde(alias = "lines")]
    pub multiline: bool,
    /// Most characters.
    #[serde(alias = "limit")]
    pub max_chars: usize,
    /// Whether it may stay empty.
    pub optional: bool,
    /// Whether it names people: addresses, or names that Nod knows, separated by commas.
    #[serde(alias = "people")]
    pub accepts_recipients: bool,
}

/// What is wrong with what was filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's id.
    pub field: String,
    /// A sentence.
    pub message: String,
}

impl FieldError {
    /// A sentence about a field.
    pub fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: why.into() }
    }
}

impl Action {
    /// A verb on a thing.
    pub fn new(verb: &str, subject: impl Into<Uuid>) -> Self {
        Self { kind: verb.to_owned(), subject: subject.into(), argument: None }
    }

    /// A verb on that revision of a thing; what was seen is what it counts for.
    pub fn on_revision(verb: &str, subject: impl Into<Uuid>, revision: i32) -> Self {
        // Nobody edits a mail 65,000 times; what does not fit is no revision and does nothing.
        Self { argument: Some(u16::try_from(revision).unwrap_or_default()), ..Self::new(verb, subject) }
    }

    /// Whether a press says yes to what the card shows, which therefore has to be shown whole.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        matches!(self.kind.as_str(), "approve" | "approve_all" | "approve_selected")
    }

    /// The revision that was seen; the first where the button does not say.
    #[must_use]
    pub fn revision(&self) -> i32 {
        self.argument.map_or(1, i32::from)
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
        parts.next().is_none().then(|| Self { kind: verb.to_owned(), subject, argument: choice })
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind, self.subject)?;
        self.argument.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

impl Card {
    /// A card of one formatted text.
    pub fn from_markdown(markdown: impl Into<String>) -> Self {
        Self { body: vec![Block::Markdown(markdown.into())], ..Self::default() }
    }

    /// Nothing stands there: a card that was posted is taken away.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether somebody can say yes to what it shows, which therefore has to be shown whole.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.buttons
            .iter()
            .any(|button| matches!(&button.on_click, OnClick::Action(verb) if verb.is_approval()))
    }

    /// With a title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// With one more part.
    #[must_use]
    pub fn with_block(mut self, block: Block) -> Self {
        self.body.push(block);
        self
    }

    /// Before all else naming whom it concerns, where there is somebody.
    #[must_use]
    pub fn with_mention(mut self, user: Option<&str>) -> Self {
        self.body.splice(0..0, user.map(|user| Block::Mention(user.to_owned())));
        self
    }

    /// Without naming whom it concerns.
    #[must_use]
    pub fn without_mention(mut self) -> Self {
        self.body.retain(|block| !matches!(block, Block::Mention(_)));
        self
    }

    /// With one more button.
    #[must_use]
    pub fn with_button(mut self, label: impl Into<String>, style: Style, does: OnClick) -> Self {
        self.buttons.push(Button { label: label.into(), style, on_click: does });
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
