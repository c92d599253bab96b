//! The content of a draft in Gmail, as a reader returns it. Nothing is parsed here.

use nod_contract::tool::ToolError;
use nod_people::reading::Read;

use super::mailbox::Mailbox;
use crate::google::reading::to_tool_error;
use nod_contract::wire::{Block, Kind};

/// A name, which can be empty, and an address.
pub(super) type Person = (String, String);

/// The parts of a draft.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    from: Vec<Person>,
    pub(super) to: Vec<Person>,
    pub(super) cc: Vec<Person>,
    pub(super) bcc: Vec<Person>,
    pub(super) subject: String,
    /// The Message-IDs of the mail that it answers.
    pub(super) answered: Vec<String>,
    pub(super) references: Vec<String>,
    /// The SHA-256 of each file, in order.
    pub(super) files: Vec<String>,
    /// It has formatting that plain text cannot keep.
    pub(super) formatted: bool,
    pub(super) text: String,
}

impl Written {
    /// Reads a draft from its raw bytes.
    ///
    /// # Errors
    /// [`ToolError::Forbidden`] if it cannot be read whole.
    pub(super) async fn parse_draft(mailbox: &Mailbox, raw: &[u8]) -> Result<Self, ToolError> {
        const UNSAFE: &str = "that draft cannot be read safely; change and send it in Gmail itself";
        let read = mailbox.reading().open_session().read(Kind::Draft, raw).await;
        let read = read.map_err(|unread| to_tool_error(unread, UNSAFE))?;
        if read.done.cut.is_some() {
            let reason = "that draft is longer than I can show; change and send it in Gmail itself";
            return Err(ToolError::Forbidden { reason: reason.to_owned() });
        }
        Ok(Self::from_read(read))
    }

    fn from_read(read: Read) -> Self {
        let mut draft = Self::default();
        for block in read.blocks {
            match block {
                Block::Row { head, cells } => draft.add(&head, cells),
                Block::Field { name, text } => match name.as_str() {
                    "subject" => draft.subject = text,
                    "in-reply-to" => draft.answered.push(text),
                    "references" => draft.references.push(text),
                    "file" => draft.files.push(text),
                    "formatted" => draft.formatted = true,
                    _ => {}
                },
                Block::Text { text, .. } => draft.text.push_str(&text),
                Block::Heading { .. } => {}
            }
        }
        draft
    }

    fn add(&mut self, head: &[String], cells: Vec<String>) {
        let Ok([name, address]) = <[String; 2]>::try_from(cells) else { return };
        let list = match head.first().map(String::as_str) {
            Some("from") => &mut self.from,
            Some("to") => &mut self.to,
            Some("cc") => &mut self.cc,
            Some("bcc") => &mut self.bcc,
            _ => return,
        };
        list.push((name, address));
    }

    /// Returns the address that it is sent from.
    pub(super) fn sender(&self) -> Option<&str> {
        self.from.first().map(|(_, address)| address.as_str()).filter(|address| !address.is_empty())
    }
}
