//! A mail as it is approved: the exact payload, and its checks.

use nod_contract::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::address::Recipient;
use super::identity::Identity;
use super::mailbox::Mailbox;
use super::outgoing_attachments::OutgoingAttachment;
use super::quote::Quoted;

pub(super) const MAX_RECIPIENTS: usize = 100;
/// The limit of a header line.
pub(super) const SUBJECT_CHARS: usize = 998;
pub(super) const BODY_CHARS: usize = 100_000;
const SCHEMA: u32 = 1;

/// The arguments from the model.
#[derive(Debug, Deserialize)]
pub(super) struct EmailArguments {
    #[serde(default)]
    pub to: Vec<String>,
    #[serde(default)]
    pub cc: Vec<String>,
    #[serde(default)]
    pub bcc: Vec<String>,
    pub subject: String,
    pub body: String,
}

/// The payload that the person approves; nothing else decides what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutgoingEmail {
    pub schema: u32,
    pub tool: String,
    /// The address that it is sent as.
    pub from: String,
    /// The display name of that address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where answers go, if that is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The account that sends it, if that has another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    /// The person's own words.
    pub body: String,
    /// The signature below them, added once. Empty if the core stores the letter: see `open_draft`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Another mail, below everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Quoted>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<OutgoingAttachment>,
    /// The mail that it answers or forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The open draft that it is, in the version that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftVersion>,
    /// The draft has formatting in Gmail that plain text cannot keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "formatted")]
    pub has_rich_formatting: bool,
}

/// What makes a mail an answer: read from the mail that it answers, never written by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// Gmail's thread id.
    pub thread_id: String,
    /// Message-IDs without their brackets: the mail's own, and those of its ancestors, oldest first.
    pub in_reply_to: Option<String>,
    pub references: Vec<String>,
    /// The text on the card: "“Lunch?” from bo@acme.test".
    pub answers: String,
    /// The subject of the answered mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Where the answered mail asks answers to go, if not to its sender.
    pub reply_to: Option<String>,
    /// It is a forward, to another person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwards: bool,
}

/// A draft in Gmail, and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DraftVersion {
    pub id: String,
    pub version: String,
}

impl OutgoingEmail {
    /// Checks the arguments and converts them to their exact form.
    ///
    /// # Errors
    /// [`ToolError::InvalidArguments`] with the first thing that is wrong.
    pub(super) fn new(asked: &EmailArguments, tool: &str, from: &str) -> Result<Self, ToolError> {
        let letter = Self {
            schema: SCHEMA,
            tool: tool.to_owned(),
            from: from.to_owned(),
            to: recipients(&asked.to).map_err(ToolError::invalid)?,
            cc: recipients(&asked.cc).map_err(ToolError::invalid)?,
            bcc: recipients(&asked.bcc).map_err(ToolError::invalid)?,
            subject: subject(&asked.subject).map_err(ToolError::invalid)?,
            body: body(&asked.body).map_err(ToolError::invalid)?,
            name: None,
            reply_to: None,
            account: None,
            signature: None,
            quoted: None,
            attachments: Vec::new(),
            reply: None,
            draft: None,
            has_rich_formatting: false,
        };
        match letter.all_recipients().count() {
            0..=MAX_RECIPIENTS => Ok(letter),
            many => Err(ToolError::invalid(format!(
                "that's {many} recipients, and {MAX_RECIPIENTS} is the limit"
            ))),
        }
    }

    /// Returns the same letter, sent as one of the account's addresses, with its signature. A letter that already ends
    /// with the signature gets no second one.
    pub(super) fn with_sender(self, identity: &Identity) -> Self {
        let signed = identity.signature.is_empty() || self.body.trim_end().ends_with(&identity.signature);
        let another = !self.from.eq_ignore_ascii_case(&identity.address);
        Self {
            account: another.then(|| self.from.clone()),
            from: if another { identity.address.clone() } else { self.from },
            name: identity.name.clone(),
            reply_to: identity.reply_to.clone(),
            signature: (!signed).then(|| identity.signature.clone()),
            ..self
        }
    }

    /// Returns its whole text as it is sent.
    pub(super) fn text(&self) -> String {
        match self.appended_text() {
            None => self.body.clone(),
            Some(below) if self.body.trim().is_empty() => below,
            Some(below) => format!("{}\n\n{below}", self.body.trim_end()),
        }
    }

    /// Returns the text below the person's own words.
    pub(super) fn appended_text(&self) -> Option<String> {
        let signature = self.signature.as_ref().map(|signature| format!("-- \n{signature}"));
        match (signature, &self.quoted) {
            (Some(signature), Some(quoted)) => Some(format!("{signature}\n\n{}", quoted.text)),
            (None, Some(quoted)) => Some(quoted.text.clone()),
            (signature, None) => signature,
        }
    }

    /// Updates it to Gmail's current settings: the address might no longer be the account's, and the signature might
    /// differ.
    pub(super) fn with_current_sender(self, identity: &Identity) -> Self {
        let signed = self.signature.is_some();
        let account = self.account().to_owned();
        let letter = Self { from: account, account: None, ..self }.with_sender(identity);
        Self { signature: letter.signature.filter(|_| signed), ..letter }
    }

    /// Returns the account whose mailbox sends it.
    pub(super) fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(&self.from)
    }

    /// Reads the letter from an approved payload.
    ///
    /// # Errors
    /// [`ToolError::Internal`] if the payload was not made by `preview`.
    pub(super) fn from_payload(payload: &Value, tool: &str) -> Result<Self, ToolError> {
        let letter = Self::deserialize(payload);
        let letter = letter
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if letter.schema != SCHEMA || letter.tool != tool {
            return Err(ToolError::internal("I can't read this request any more. Please ask me again"));
        }
        Ok(letter)
    }

    /// Rejects an account other than the one on the card.
    pub(super) fn check_account(&self, mailbox: &Mailbox) -> Result<(), ToolError> {
        if self.account().eq_ignore_ascii_case(mailbox.address()) {
            return Ok(());
        }
        // Everyone sees the approved account on the card; the current account is only for its owner.
        let approved = self.account();
        Err(ToolError::Forbidden {
            reason: format!("this was approved for {approved}, but you've connected another account since"),
        })
    }

    pub(super) fn all_recipients(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }

    pub(super) fn payload(&self) -> Result<Value, ToolError> {
        serde_json::to_value(self).map_err(|error| ToolError::internal(error.to_string()))
    }

    pub(super) fn forwards(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.forwards)
    }

    /// Returns the mail whose thread it belongs to. Gmail keeps no mail with another subject in a thread, so a changed
    /// subject begins a new one.
    pub(super) fn thread_reply(&self) -> Option<&Reply> {
        let same = |of: &String| strip_subject_prefixes(of) == strip_subject_prefixes(&self.subject);
        self.reply.as_ref().filter(|reply| reply.subject.as_ref().is_none_or(same))
    }

    /// Returns the id of Gmail's thread that it belongs to.
    pub(super) fn thread(&self) -> Option<&str> {
        self.thread_reply().map(|reply| reply.thread_id.as_str())
    }
}

/// Returns a subject without the prefixes of answers and forwards, as Gmail compares it.
fn strip_subject_prefixes(subject: &str) -> String {
    let mut bare = subject.trim().to_lowercase();
    while let Some(rest) = ["re:", "fwd:", "fw:"].iter().find_map(|mark| bare.strip_prefix(mark)) {
        bare = rest.trim().to_owned();
    }
    bare
}

/// Checks a subject and returns it as it is sent.
///
/// # Errors
/// Why it is invalid.
pub(super) fn subject(text: &str) -> Result<String, String> {
    let subject = text.trim();
    if subject.chars().any(char::is_control) {
        return Err("a subject has to fit on one line".to_owned());
    }
    if subject.len() > SUBJECT_CHARS {
        return Err(format!("a subject can have {SUBJECT_CHARS} characters at most"));
    }
    Ok(subject.to_owned())
}

/// Checks a body and returns it as it is sent.
///
/// # Errors
/// Why it is invalid.
pub(super) fn body(text: &str) -> Result<String, String> {
    let body = text.replace("\r\n", "\n").replace('\r', "\n");
    if body.chars().count() > BODY_CHARS {
        return Err(format!("the text can have {BODY_CHARS} characters at most"));
    }
    if body.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err("the text contains characters that can't be sent".to_owned());
    }
    Ok(body)
}

/// Returns recipients as they are written into the header.
///
/// # Errors
/// A sentence about the first invalid recipient.
pub(super) fn recipients(list: &[String]) -> Result<Vec<String>, String> {
    list.iter().map(|one| Recipient::parse(one).map(|r| r.to_string())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn arguments(to: &[&str], subject: &str, body: &str) -> EmailArguments {
        let to = to.iter().map(|one| (*one).to_owned()).collect();
        EmailArguments { to, cc: vec![], bcc: vec![], subject: subject.into(), body: body.into() }
    }

    #[test]
    fn payload_is_exact() {
        let asked = arguments(&["\"Stone, Bo\" <bo@example.com>"], " Late ", "Hi\r\nBo");
        let letter = OutgoingEmail::new(&asked, "t", "ana@acme.test").unwrap();
        let payload = json!({"schema": 1, "tool": "t", "from": "ana@acme.test", "to": ["\"Stone, Bo\" <bo@example.com>"],
            "cc": [], "bcc": [], "subject": "Late", "body": "Hi\nBo"});
        assert_eq!(serde_json::to_value(&letter).unwrap(), payload);
        assert_eq!(OutgoingEmail::from_payload(&payload, "t").unwrap(), letter);
        assert!(OutgoingEmail::from_payload(&payload, "other").is_err());
        let mut more = payload;
        more["priority"] = json!("high");
        assert!(OutgoingEmail::from_payload(&more, "t").is_err());
    }

    #[test]
    fn unsendable_mail_is_rejected_before_approval() {
        let refused = |asked: &EmailArguments| {
            matches!(OutgoingEmail::new(asked, "t", "a@b.test"), Err(ToolError::InvalidArguments { .. }))
        };
        assert!(refused(&arguments(&["bo"], "s", "b")));
        assert!(refused(&arguments(&[], "two\nlines", "b")));
        assert!(refused(&arguments(&[], &"s".repeat(999), "b")));
        assert!(refused(&arguments(&[], "s", &"b".repeat(100_001))));
        assert!(refused(&arguments(&[], "s", "\u{0}")));
        assert!(refused(&arguments(&["bo@example.com"; 101], "s", "b")));
        assert!(!refused(&arguments(&["bo@example.com"; 100], "s", &"é".repeat(100_000))));
    }
}
