//! A mail as it is approved: the exact payload, its checks, and how it is shown.

use nod_core::tool::{Fault, Preview, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::address::Recipient;
use super::mailbox::Mailbox;

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
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    pub body: String,
    /// The mail that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The open draft that it is, as it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Seen>,
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
    /// Where that mail asks answers to go, where that is not its sender.
    pub reply_to: Option<String>,
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
    /// [`Fault::Invalid`] with the first thing that is wrong.
    pub(super) fn new(asked: &Asked, tool: &str, from: &str) -> Result<Self, Fault> {
        let letter = Self {
            schema: SCHEMA,
            tool: tool.to_owned(),
            from: from.to_owned(),
            to: recipients(&asked.to).map_err(Fault::invalid)?,
            cc: recipients(&asked.cc).map_err(Fault::invalid)?,
            bcc: recipients(&asked.bcc).map_err(Fault::invalid)?,
            subject: subject(&asked.subject).map_err(Fault::invalid)?,
            body: body(&asked.body).map_err(Fault::invalid)?,
            reply: None,
            draft: None,
        };
        match letter.everybody().count() {
            0..=MOST_RECIPIENTS => Ok(letter),
            many => Err(Fault::invalid(format!("{many} recipients; {MOST_RECIPIENTS} are allowed at most"))),
        }
    }

    /// The letter of an approved payload.
    ///
    /// # Errors
    /// [`Fault::Broken`] where the payload is not one that `preview` made.
    pub(super) fn approved(payload: &Value, tool: &str) -> Result<Self, Fault> {
        let letter = Self::deserialize(payload);
        let letter =
            letter.map_err(|error| Fault::broken(format!("the approved payload cannot be read: {error}")))?;
        if letter.schema != SCHEMA || letter.tool != tool {
            return Err(Fault::broken("the approved payload is of another kind"));
        }
        Ok(letter)
    }

    /// Refuses to act from another account than the one on the card.
    pub(super) fn of_this_account(&self, mailbox: &Mailbox) -> Result<(), Fault> {
        if self.from.eq_ignore_ascii_case(mailbox.address()) {
            return Ok(());
        }
        let (approved, now) = (&self.from, mailbox.address());
        Err(Fault::Forbidden {
            reason: format!("it was approved for {approved}, but {now} is connected now"),
        })
    }

    pub(super) fn everybody(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }

    pub(super) fn preview(&self, question: &str, words: Words, needs_to: bool) -> Result<Preview, Fault> {
        let addresses = self.everybody().filter_map(|one| Recipient::parse(one).ok()).map(|r| r.address);
        Ok(Preview {
            fields: self.fields(),
            body: Some(self.body.clone()),
            account: self.from.clone(),
            recipients: addresses.collect(),
            form: self.form(needs_to),
            draft: self.draft.as_ref().map(|draft| draft.id.clone()),
            risks: self.risks(),
            ..Preview::new(self.payload()?, question, words)
        })
    }

    pub(super) fn payload(&self) -> Result<Value, Fault> {
        serde_json::to_value(self).map_err(|error| Fault::broken(error.to_string()))
    }

    /// Everything but the body, in reading order.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let list = |some: &[String]| some.join(", ");
        let mut fields = vec![
            ("From".into(), self.from.clone()),
            ("To".into(), list(&self.to)),
            ("Cc".into(), list(&self.cc)),
            ("Bcc".into(), list(&self.bcc)),
            ("Subject".into(), self.subject.clone()),
        ];
        if let Some(reply) = &self.reply {
            fields.push(("Thread".into(), format!("answers {}", reply.answers)));
            fields.extend(
                reply.reply_to.iter().map(|to| ("Reply-To".into(), format!("{to}, as that mail asks"))),
            );
        }
        fields
    }

    /// Whoever writes may have answers sent to somebody else.
    fn risks(&self) -> Vec<String> {
        let elsewhere = self.reply.as_ref().and_then(|reply| reply.reply_to.as_ref());
        let line = |to: &String| format!("the mail asks for answers to {to}, not to its sender");
        elsewhere.map(line).into_iter().collect()
    }

    /// In the middle of a sentence: "“Running late” to bo@acme.test".
    pub(super) fn label(&self) -> String {
        let subject = if self.subject.is_empty() { "(no subject)" } else { &self.subject };
        let to = match &self.to[..] {
            [] => "nobody yet".to_owned(),
            [one] => one.clone(),
            [first, more @ ..] => format!("{first} and {} more", more.len()),
        };
        format!("“{subject}” to {to}")
    }

    /// Gmail's thread that it belongs to.
    pub(super) fn thread(&self) -> Option<&str> {
        self.reply.as_ref().map(|reply| reply.thread_id.as_str())
    }
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
        let payload = json!({"schema": 1, "tool": "t", "from": "ana@acme.test", "to": ["Stone, Bo <bo@example.com>"],
            "cc": [], "bcc": [], "subject": "Late", "body": "Hi\nBo"});
        assert_eq!(serde_json::to_value(&letter).unwrap(), payload);
        assert_eq!(Letter::approved(&payload, "t").unwrap(), letter);
        assert!(Letter::approved(&payload, "other").is_err());
        let mut more = payload;
        more["attachments"] = json!([]);
        assert!(Letter::approved(&more, "t").is_err());
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anybody_is_asked() {
        let refused =
            |asked: &Asked| matches!(Letter::new(asked, "t", "a@b.test"), Err(Fault::Invalid { .. }));
        assert!(refused(&asked(&["bo"], "s", "b")));
        assert!(refused(&asked(&[], "two\nlines", "b")));
        assert!(refused(&asked(&[], &"s".repeat(999), "b")));
        assert!(refused(&asked(&[], "s", &"b".repeat(100_001))));
        assert!(refused(&asked(&[], "s", "\u{0}")));
        assert!(refused(&asked(&["bo@example.com"; 101], "s", "b")));
        assert!(!refused(&asked(&["bo@example.com"; 100], "s", &"é".repeat(100_000))));
    }
}
