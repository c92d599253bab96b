//! Mail as plain values, for readers outside of the protocol.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Shared;
use super::mailbox::{OutboxEntry, StoredMessage};

/// A message as plain values. Addresses are bare and unchanged; `headers` has all headers, decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MailMessage {
    /// Its Gmail id in this mailbox.
    pub id: String,
    pub thread_id: String,
    /// Only for drafts: the draft's own id.
    pub draft_id: Option<String>,
    /// The `Message-ID` header.
    pub message_id: String,
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    pub body: String,
    /// Names and sizes of the attachments.
    pub files: Vec<(String, usize)>,
    pub headers: Vec<(String, String)>,
    pub labels: BTreeSet<String>,
    #[serde(rename = "at")]
    pub received_at: DateTime<Utc>,
}

impl MailMessage {
    /// Returns a header's value, by its name in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn from_stored(stored: &StoredMessage, draft_id: Option<String>) -> Self {
        let mime = &stored.mime;
        let addresses = |name: &str| -> Vec<String> {
            mime.addresses(name).unwrap_or_default().into_iter().map(|mailbox| mailbox.email).collect()
        };
        let headers = mime
            .headers
            .iter()
            .map(|(name, _)| (name.clone(), mime.decoded_header(name).unwrap_or_default()));
        Self {
            id: stored.id.clone(),
            thread_id: stored.thread.clone(),
            draft_id,
            message_id: mime.header("Message-ID").unwrap_or_default().to_owned(),
            from: addresses("From").pop().unwrap_or_default(),
            to: addresses("To"),
            cc: addresses("Cc"),
            bcc: addresses("Bcc"),
            subject: mime.decoded_header("Subject").unwrap_or_default(),
            body: mime.body_text(),
            files: mime.files(),
            headers: headers.collect(),
            labels: stored.labels.clone(),
            received_at: stored.at,
        }
    }
}

/// Mail to an address that has no account here: one entry for each such recipient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutgoingMail {
    pub recipient: String,
    pub mail: MailMessage,
}

/// Mail that a person sends to an account here. Start from `Incoming::default()`.
#[derive(Debug, Clone, Default)]
pub struct IncomingMail {
    /// The account.
    pub to: String,
    /// An address.
    pub from: String,
    pub from_name: String,
    pub cc: Vec<String>,
    pub subject: String,
    pub body: String,
    /// The `Message-ID` of the mail to which it replies.
    pub in_reply_to: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Attachments: name, media type and bytes.
    pub files: Vec<(String, String, Vec<u8>)>,
    /// When it arrives; now, if `None`.
    pub received_at: Option<DateTime<Utc>>,
}

/// What a person changes about a draft in Gmail itself.
#[derive(Debug, Clone, Default)]
pub struct DraftEdit {
    /// Another of their addresses, chosen in From.
    pub from: Option<String>,
    pub to: Option<String>,
    pub subject: Option<String>,
    pub body: Option<String>,
    /// Replaces `body`: HTML as Gmail's own editor writes it.
    pub html: Option<String>,
}

impl Shared {
    pub(super) fn list_by_label(&self, email: &str, label: &str) -> Vec<MailMessage> {
        let state = self.state();
        let Some(mailbox) = state.mail.get(email) else { return Vec::new() };
        let drafts: HashMap<_, _> = mailbox.drafts.iter().map(|row| (&row.message, &row.id)).collect();
        let some = mailbox.messages.iter().filter(|message| message.has(label));
        some.map(|message| MailMessage::from_stored(message, drafts.get(&message.id).map(|id| (*id).clone())))
            .collect()
    }

    pub(super) fn outbox(&self) -> Vec<OutgoingMail> {
        let outgoing = |left: &OutboxEntry| OutgoingMail {
            recipient: left.recipient.clone(),
            mail: MailMessage::from_stored(&left.stored, None),
        };
        self.state().mail.outbox.iter().map(outgoing).collect()
    }
}
