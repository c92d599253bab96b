//! A mail as it is approved: the exact payload, and its checks.

use nod_contract::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::address::Recipient;
use super::files::File;
use super::identity::Identity;
use super::mailbox::Mailbox;
use super::quote::Quoted;

pub(super) const MOST_RECIPIENTS: usize = 100;
/// What a header line can hold.
pub(super) const SUBJECT_CHARS: usize = 998;
pub(super) const BODY_CHARS: usize = 100_000;
const SCHEMA: u32 = 1;

/// What the model asks for.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    pub to: Vec<String>,
    #[serde(default)]
    pub cc: Vec<String>,
    #[serde(default)]
    pub bcc: Vec<String>,
    pub subject: String,
    pub body: String,
}

/// What the person approves; nothing else decides what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Letter {
    pub schema: u32,
    pub tool: String,
    /// The address that it is sent as.
    pub from: String,
    /// The name beside that address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where answers are to go, where that is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The account that it leaves from, where that has another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    /// The person's own words.
    pub body: String,
    /// What stands below them, once. Empty where the core keeps the letter: see `open_draft`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Another mail, below everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Quoted>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<File>,
    /// The mail that it answers, or forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The open draft that it is, as it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Seen>,
    /// In Gmail that draft has a look which plain text cannot keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formatted: bool,
}

/// What makes a mail an answer: read from the mail that it answers, never written by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// Gmail's thread.
    pub thread_id: String,
    /// Message-IDs without their brackets: the mail's own, and those that led to it, the oldest first.
    pub in_reply_to: Option<String>,
    pub references: Vec<String>,
    /// As the card says it: "“Lunch?” from bo@acme.test".
    pub answers: String,
    /// That mail's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Where that mail asks answers to go, where that is not its sender.
    pub reply_to: Option<String>,
    /// It goes to somebody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwards: bool,
}

/// A draft in Gmail, and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    pub id: String,
    pub version: String,
}

impl Letter {
    /// Checks what was asked for and puts it into its exact form.
    ///
    /// # Errors
    /// [`Fault::InvalidArguments`] with the first thing that is wrong.
    pub(super) fn new(asked: &Asked, tool: &str, from: &str) -> Result<Self, ToolError> {
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
            formatted: false,
        };
        match letter.everybody().count() {
            0..=MOST_RECIPIENTS => Ok(letter),
            many => {
                Err(ToolError::invalid(format!("{many} recipients; {MOST_RECIPIENTS} are allowed at most")))
            }
        }
    }

    /// The same, sent as one of the account's addresses, with what stands below its mail. A letter that has its
    /// signature already gets no second one.
    pub(super) fn sent_as(self, identity: &Identity) -> Self {
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

    /// Everything that is written in it, as it leaves.
    pub(super) fn text(&self) -> String {
        match self.below() {
            None => self.body.clone(),
            Some(below) if self.body.trim().is_empty() => below,
            Some(below) => format!("{}\n\n{below}", self.body.trim_end()),
        }
    }

    /// What stands below the person's own words.
    pub(super) fn below(&self) -> Option<String> {
        let signature = self.signature.as_ref().map(|signature| format!("-- \n{signature}"));
        match (signature, &self.quoted) {
            (Some(signature), Some(quoted)) => Some(format!("{signature}\n\n{}", quoted.text)),
            (None, Some(quoted)) => Some(quoted.text.clone()),
            (signature, None) => signature,
        }
    }

    /// The same as Gmail sends it now: the address may be none of the account's any more, and the signature another.
    pub(super) fn still_sent_as(self, identity: &Identity) -> Self {
        let signed = self.signature.is_some();
        let account = self.account().to_owned();
        let letter = Self { from: account, account: None, ..self }.sent_as(identity);
        Self { signature: letter.signature.filter(|_| signed), ..letter }
    }

    /// Whose mailbox it leaves.
    pub(super) fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(&self.from)
    }

    /// The letter of an approved payload.
    ///
    /// # Errors
    /// [`Fault::Broken`] where the payload is not one that `preview` made.
    pub(super) fn approved(payload: &Value, tool: &str) -> Result<Self, ToolError> {
        let letter = Self::deserialize(payload);
        let letter = letter
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if letter.schema != SCHEMA || letter.tool != tool {
            return Err(ToolError::internal("the approved payload is of another kind"));
        }
        Ok(letter)
    }

    /// Refuses to act from another account than the one on the card.
    pub(super) fn of_this_account(&self, mailbox: &Mailbox) -> Result<(), ToolError> {
        if self.account().eq_ignore_ascii_case(mailbox.address()) {
            return Ok(());
        }
        // Everybody reads that on the card, and which account it is now is for its person alone.
        let approved = self.account();
        Err(ToolError::Forbidden {
            reason: format!("it was approved for {approved}, but another account is connected now"),
        })
    }

    pub(super) fn everybody(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }

    pub(super) fn payload(&self) -> Result<Value, ToolError> {
        serde_json::to_value(self).map_err(|error| ToolError::internal(error.to_string()))
    }

    pub(super) fn forwards(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.forwards)
    }

    /// The mail whose thread it stands in. Gmail keeps no mail in a thread under another subject, so whoever changes
    /// that begins a thread.
    pub(super) fn in_thread(&self) -> Option<&Reply> {
        let same = |of: &String| bare(of) == bare(&self.subject);
        self.reply.as_ref().filter(|reply| reply.subject.as_ref().is_none_or(same))
    }

    /// Gmail's thread that it belongs to.
    pub(super) fn thread(&self) -> Option<&str> {
        self.in_thread().map(|reply| reply.thread_id.as_str())
    }
}

/// A subject without the marks of answers and forwards, as Gmail compares it.
fn bare(subject: &str) -> String {
    let mut bare = subject.trim().to_lowercase();
    while let Some(rest) = ["re:", "fwd:", "fw:"].iter().find_map(|mark| bare.strip_prefix(mark)) {
        bare = rest.trim().to_owned();
    }
    bare
}

/// A subject as it is sent.
///
/// # Errors
/// Why it cannot be one.
pub(super) fn subject(text: &str) -> Result<String, String> {
    let subject = text.trim();
    if subject.chars().any(char::is_control) {
        return Err("a subject is one line".to_owned());
    }
    if subject.len() > SUBJECT_CHARS {
        return Err(format!("a subject has at most {SUBJECT_CHARS} characters"));
    }
    Ok(subject.to_owned())
}

/// A body as it is sent.
///
/// # Errors
/// Why it cannot be one.
pub(super) fn body(text: &str) -> Result<String, String> {
    let body = text.replace("\r\n", "\n").replace('\r', "\n");
    if body.chars().count() > BODY_CHARS {
        return Err(format!("a body has at most {BODY_CHARS} characters"));
    }
    if body.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err("the body has control characters".to_owned());
    }
    Ok(body)
}

/// Recipients as they are written into the header.
///
/// # Errors
/// A sentence about the first that cannot be sent to.
pub(super) fn recipients(list: &[String]) -> Result<Vec<String>, String> {
    list.iter().map(|one| Recipient::parse(one).map(|r| r.to_string())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn asked(to: &[&str], subject: &str, body: &str) -> Asked {
        let to = to.iter().map(|one| (*one).to_owned()).collect();
        Asked { to, cc: vec![], bcc: vec![], subject: subject.into(), body: body.into() }
    }

    #[test]
    fn what_is_approved_is_exact() {
        let asked = asked(&["\"Stone, Bo\" <bo@example.com>"], " Late ", "Hi\r\nBo");
        let letter = Letter::new(&asked, "t", "ana@acme.test").unwrap();
        let payload = json!({"schema": 1, "tool": "t", "from": "ana@acme.test", "to": ["\"Stone, Bo\" <bo@example.com>"],
            "cc": [], "bcc": [], "subject": "Late", "body": "Hi\nBo"});
        assert_eq!(serde_json::to_value(&letter).unwrap(), payload);
        assert_eq!(Letter::approved(&payload, "t").unwrap(), letter);
        assert!(Letter::approved(&payload, "other").is_err());
        let mut more = payload;
        more["priority"] = json!("high");
        assert!(Letter::approved(&more, "t").is_err());
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anybody_is_asked() {
        let refused = |asked: &Asked| {
            matches!(Letter::new(asked, "t", "a@b.test"), Err(ToolError::InvalidArguments { .. }))
        };
        assert!(refused(&asked(&["bo"], "s", "b")));
        assert!(refused(&asked(&[], "two\nlines", "b")));
        assert!(refused(&asked(&[], &"s".repeat(999), "b")));
        assert!(refused(&asked(&[], "s", &"b".repeat(100_001))));
        assert!(refused(&asked(&[], "s", "\u{0}")));
        assert!(refused(&asked(&["bo@example.com"; 101], "s", "b")));
        assert!(!refused(&asked(&["bo@example.com"; 100], "s", &"é".repeat(100_000))));
    }
}
