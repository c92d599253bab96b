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
}

impl Letter {
    /// Checks what was asked for and puts it into its exact form.
    ///
    /// # Errors
    /// [`Fault::Invalid`] with the first thing that is wrong.
    pub(super) fn new(asked: &Asked, tool: &str, from: &str) -> Result<Self, Fault> {
        let subject = asked.subject.trim();
        if subject.chars().any(char::is_control) {
            return Err(Fault::invalid("a subject is one line"));
        }
        if subject.len() > SUBJECT_CHARS {
            return Err(Fault::invalid(format!("a subject has at most {SUBJECT_CHARS} characters")));
        }
        let body = asked.body.replace("\r\n", "\n").replace('\r', "\n");
        if body.chars().count() > BODY_CHARS {
            return Err(Fault::invalid(format!("a body has at most {BODY_CHARS} characters")));
        }
        if body.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(Fault::invalid("the body has control characters"));
        }
        let all = |list: &[String]| -> Result<Vec<String>, Fault> {
            list.iter()
                .map(|one| Recipient::parse(one).map(|r| r.to_string()).map_err(Fault::invalid))
                .collect()
        };
        let letter = Self {
            schema: SCHEMA,
            tool: tool.to_owned(),
            from: from.to_owned(),
            to: all(&asked.to)?,
            cc: all(&asked.cc)?,
            bcc: all(&asked.bcc)?,
            subject: subject.to_owned(),
            body,
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

    pub(super) fn preview(&self, question: &str, words: Words) -> Result<Preview, Fault> {
        let list = |some: &[String]| some.join(", ");
        let addresses = self.everybody().filter_map(|one| Recipient::parse(one).ok()).map(|r| r.address);
        Ok(Preview {
            payload: serde_json::to_value(self).map_err(|error| Fault::broken(error.to_string()))?,
            question: question.to_owned(),
            fields: vec![
                ("From".into(), self.from.clone()),
                ("To".into(), list(&self.to)),
                ("Cc".into(), list(&self.cc)),
                ("Bcc".into(), list(&self.bcc)),
                ("Subject".into(), self.subject.clone()),
            ],
            body: Some(self.body.clone()),
            account: self.from.clone(),
            recipients: addresses.collect(),
            words,
        })
    }
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
