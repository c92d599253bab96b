//! Cards: everything Nod shows, as data. One renderer per platform turns them into the platform's format.
//!
//! Text is one of two kinds. *Markdown* is written by Nod or by a model and is formatted; nothing in it can ping or
//! hide a link. *Literal* text is shown exactly, without formatting: names, addresses, the body of a mail.

mod earlier_kinds;
pub mod feedback;
pub mod quick_action;
pub mod reconnect;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::{OfferId, RunId};
use crate::provider::Provider;
use quick_action::QuickAction;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Card {
    /// Bold first line; literal.
    pub title: Option<String>,
    /// The content.
    pub body: Vec<Block>,
    /// The buttons.
    pub buttons: Vec<Button>,
    /// What a notification says of it, if that is not how it begins: who is asked for what; literal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// The run whose answer it is, if its readers can rate it ([`feedback`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<RunId>,
}

/// A part of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", content = "content", rename_all = "snake_case")]
pub enum Block {
    /// A user whom the platform notifies, by the platform's id. No other text notifies a user.
    Mention(String),
    /// Formatted text.
    Markdown(String),
    /// Named values, each literal: From, To, Subject. An empty value shows as "—".
    Fields(Vec<(String, String)>),
    /// Text that is shown exactly and set off, such as the body of a mail.
    Literal(String),
    /// Risks, one per line; literal.
    Risks(Vec<String>),
    /// Times to choose from, shown to each reader in their own time zone.
    #[serde(alias = "times")]
    TimeOptions(Vec<TimeOption>),
    /// Small print; literal.
    Note(String),
    /// Small print that ends with a time: "Only Ana can approve this. Expires".
    Deadline(Deadline),
    /// One of several things, with what can be done with it.
    Row(Row),
}

/// A line with its own buttons beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// One line; literal.
    pub text: String,
    /// Few; a card that does not fit loses them.
    pub buttons: Vec<Button>,
    /// The calls that its buttons make, if these are quick actions: one a button. No reader sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<QuickAction>,
}

impl Row {
    /// Creates a line.
    #[must_use]
    pub fn new(text: impl Into<String>, buttons: Vec<Button>) -> Self {
        Self { text: text.into(), buttons, actions: Vec::new() }
    }
}

/// A time that each reader sees on their own clock, after a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// The words before it; literal.
    pub words: String,
    /// Seconds since 1970.
    pub at: i64,
    /// For platforms that do not know the reader's time zone: "Mon 9 Mar 2026, 09:00 WET"; literal.
    pub text: String,
}

/// One of several times to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeOption {
    /// Identifies its button: "1"; literal.
    pub label: String,
    /// Seconds since 1970.
    pub from: i64,
    /// Seconds since 1970. If it is not later than `from`, only `text` is shown.
    pub to: i64,
    /// For platforms that do not know the reader's time zone: "Mon 9 Mar, 09:00–09:45 WET"; literal.
    #[serde(alias = "said")]
    pub text: String,
    /// The line below it; literal, not shown if empty.
    #[serde(alias = "below")]
    pub note: String,
}

impl TimeOption {
    /// Splits `text` into its beginning and its end.
    #[must_use]
    pub fn split_text(&self) -> Option<(&str, &str)> {
        let (from, to) = self.text.split_once('–').filter(|_| self.from < self.to)?;
        Some((from.trim(), to.trim()))
    }
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// Its label.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// What a click does.
    #[serde(alias = "does")]
    pub on_click: OnClick,
}

/// How a button looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// The choice that most people want.
    Primary,
    /// Neutral.
    Plain,
    /// Denies or destroys.
    Danger,
}

/// What a click does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnClick {
    /// Arrives as an inbound that carries only this action.
    #[serde(alias = "verb")]
    Action(Action),
    /// Opens a page.
    Link(String),
    /// Opens the page that connects an account. Rows store only the offer's id; the link is created when the card is
    /// sent, so an adapter never sees this variant.
    Connect { provider: Provider, offer: OfferId },
}

/// An object's id and what to do with it. Serialised as `kind:id`, or `kind:id:n` if one of several is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// `approve`, `deny`, `answer_question`, `retry_run`, …
    #[serde(alias = "verb", deserialize_with = "earlier_kinds::deserialize_kind")]
    pub kind: String,
    /// The id of an approval, question, run or delivery.
    pub subject: Uuid,
    /// Which of several choices, from 0, or the revision that was shown, from 1.
    #[serde(alias = "choice")]
    pub argument: Option<u16>,
}

/// A form to fill in and submit, opened in answer to a click or a command.
///
/// If a value is longer than one of the platform's inputs, the adapter splits it over several and joins them again.
/// Some platforms allow few inputs (one allows five), so a form has at most five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// A few words; literal.
    pub title: String,
    /// Comes back with the values; nothing else does.
    pub verb: Action,
    /// Shown above the fields.
    pub body: Vec<Block>,
    /// The fields; a form without fields only shows its body.
    pub fields: Vec<Field>,
    /// The label of the submit button: "Save".
    pub submit: String,
    /// What happens if the platform does not open it.
    pub fallback: FormFallback,
}

/// What happens if a form cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormFallback {
    /// The person reads this text, and nothing is done.
    ShowText(String),
    /// The form counts as submitted with its initial values.
    Submit,
}

/// One input of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// `[a-z_]+`; its value is returned under this id.
    pub id: String,
    /// Its label: "Subject".
    pub label: String,
    /// Its initial value.
    pub value: String,
    /// Whether it accepts several lines.
    #[serde(alias = "lines")]
    pub multiline: bool,
    /// The maximum number of characters.
    #[serde(alias = "limit")]
    pub max_chars: usize,
    /// Whether it can stay empty.
    pub optional: bool,
    /// Whether it takes people: addresses, or names that Nod knows, separated by commas.
    #[serde(alias = "people")]
    pub accepts_recipients: bool,
}

/// A validation error of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's id.
    pub field: String,
    /// The explanation, a sentence.
    pub message: String,
}

impl FieldError {
    /// Creates an error for a field.
    pub fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: why.into() }
    }
}

impl Action {
    /// Creates an action on an object.
    pub fn new(verb: &str, subject: impl Into<Uuid>) -> Self {
        Self { kind: verb.to_owned(), subject: subject.into(), argument: None }
    }

    /// Creates an action on one revision of an object. It applies only to the revision that the user saw.
    pub fn on_revision(verb: &str, subject: impl Into<Uuid>, revision: i32) -> Self {
        // No user edits a mail 65,000 times. A number that does not fit becomes 0, no revision, and does nothing.
        Self { argument: Some(u16::try_from(revision).unwrap_or_default()), ..Self::new(verb, subject) }
    }

    /// Returns whether a click approves what the card shows, so the card must show all of it.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        matches!(self.kind.as_str(), "approve" | "approve_all" | "approve_selected")
    }

    /// Returns the revision that was shown; 1 if the button does not say.
    #[must_use]
    pub fn revision(&self) -> i32 {
        self.argument.map_or(1, i32::from)
    }

    /// Parses `kind:id` or `kind:id:n`; `None` for any other text, whatever its source.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let verb = parts.next().filter(|v| !v.is_empty() && v.len() <= 20)?;
        if !verb.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            return None;
        }
        let subject = parts.next()?.parse().ok()?;
        let choice = parts.next().map(str::parse).transpose().ok()?;
        parts.next().is_none().then(|| Self {
            kind: earlier_kinds::current_kind(verb),
            subject,
            argument: choice,
        })
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind, self.subject)?;
        self.argument.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

impl Card {
    /// Creates a card with one Markdown text.
    pub fn from_markdown(markdown: impl Into<String>) -> Self {
        Self { body: vec![Block::Markdown(markdown.into())], ..Self::default() }
    }

    /// Returns whether the card has no content. An empty card deletes the posted one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the card has an approve button, so it must be shown in full.
    #[must_use]
    pub fn is_approval_request(&self) -> bool {
        self.all_buttons()
            .any(|button| matches!(&button.on_click, OnClick::Action(verb) if verb.is_approval()))
    }

    /// Returns the buttons in reading order: those of its rows, then its own.
    pub fn all_buttons(&self) -> impl Iterator<Item = &Button> {
        let of_rows = self.body.iter().flat_map(|block| match block {
            Block::Row(row) => &row.buttons[..],
            _ => &[],
        });
        of_rows.chain(&self.buttons)
    }

    /// Returns the same, to change them.
    pub fn all_buttons_mut(&mut self) -> impl Iterator<Item = &mut Button> {
        let of_rows = self.body.iter_mut().flat_map(|block| match block {
            Block::Row(row) => &mut row.buttons[..],
            _ => &mut [],
        });
        of_rows.chain(&mut self.buttons)
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what a notification says of it.
    #[must_use]
    pub fn with_notice(mut self, notice: impl Into<String>) -> Self {
        self.notice = Some(notice.into());
        self
    }

    /// Appends a block.
    #[must_use]
    pub fn with_block(mut self, block: Block) -> Self {
        self.body.push(block);
        self
    }

    /// Puts a mention of the user whom it concerns first, if there is one.
    #[must_use]
    pub fn with_mention(mut self, user: Option<&str>) -> Self {
        self.body.splice(0..0, user.map(|user| Block::Mention(user.to_owned())));
        self
    }

    /// Removes the mention.
    #[must_use]
    pub fn without_mention(mut self) -> Self {
        self.body.retain(|block| !matches!(block, Block::Mention(_)));
        self
    }

    /// Appends a button.
    #[must_use]
    pub fn with_button(mut self, label: impl Into<String>, style: Style, does: OnClick) -> Self {
        self.buttons.push(Button { label: label.into(), style, on_click: does });
        self
    }
}

/// Returns the text as one line, cut after `most` characters.
pub fn truncate(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
