//! What a person can change in a letter before they approve it, and how the result is applied.

use std::collections::BTreeMap;

use nod_contract::card::{Field, FieldError};
use nod_contract::tool::{FieldValue, MAX_BODY_CHARS};

use super::outgoing_email::{self, MAX_RECIPIENTS, OutgoingEmail, SUBJECT_CHARS};
use crate::google::form::{field, store_or_report};

/// Enough for a hundred addresses of the usual length, with names.
const PEOPLE_CHARS: usize = 10_000;

impl OutgoingEmail {
    /// Returns the letter as form fields.
    pub(super) fn form(&self, needs_to: bool) -> Vec<Field> {
        let people = |id: &str, label: &str, list: &[String], optional| Field {
            accepts_recipients: true,
            ..field(id, label, &list.join(", "), PEOPLE_CHARS, optional)
        };
        vec![
            people("to", "To", &self.to, !needs_to),
            people("cc", "Cc", &self.cc, true),
            people("bcc", "Bcc", &self.bcc, true),
            // Gmail also sends mails without a subject.
            field("subject", "Subject", &self.subject, SUBJECT_CHARS, true),
            Field { multiline: true, ..field("body", "Body", &self.body, MAX_BODY_CHARS, self.forwards()) },
        ]
    }

    /// Returns the same letter with the submitted values; everything else is unchanged.
    ///
    /// # Errors
    /// A sentence for each field with an invalid value.
    pub(super) fn apply_form(
        &self,
        filled: &BTreeMap<String, FieldValue>,
        needs_to: bool,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut letter = self.clone();
        for (id, list) in [("to", &mut letter.to), ("cc", &mut letter.cc), ("bcc", &mut letter.bcc)] {
            let Some(FieldValue::Recipients(people)) = filled.get(id) else { continue };
            store_or_report(outgoing_email::recipients(people), list, id, &mut errors);
        }
        if let Some(FieldValue::Text(text)) = filled.get("subject") {
            store_or_report(outgoing_email::subject(text), &mut letter.subject, "subject", &mut errors);
        }
        if let Some(FieldValue::Text(text)) = filled.get("body") {
            store_or_report(outgoing_email::body(text), &mut letter.body, "body", &mut errors);
        }
        if needs_to && letter.to.is_empty() {
            errors.push(FieldError::new("to", "Add at least one recipient."));
        }
        let many = letter.all_recipients().count();
        if many > MAX_RECIPIENTS {
            let why = format!("That's {many} recipients, and {MAX_RECIPIENTS} is the limit.");
            errors.push(FieldError::new("to", why));
        }
        if letter.body.trim().is_empty() && !letter.forwards() {
            errors.push(FieldError::new("body", "Write something in the email."));
        }
        if errors.is_empty() { Ok(letter) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::outgoing_email::EmailArguments;
    use super::*;

    fn email() -> OutgoingEmail {
        let asked = EmailArguments {
            to: vec!["bo@example.com".into()],
            cc: vec!["cho@example.com".into()],
            bcc: vec![],
            subject: "Late".into(),
            body: "Hi Bo".into(),
        };
        OutgoingEmail::new(&asked, "t", "ana@acme.test").unwrap()
    }

    fn text(id: &str, text: &str) -> (String, FieldValue) {
        (id.to_owned(), FieldValue::Text(text.to_owned()))
    }

    fn people_value(id: &str, all: &[&str]) -> (String, FieldValue) {
        (id.to_owned(), FieldValue::Recipients(all.iter().map(|one| (*one).to_owned()).collect()))
    }

    fn field_errors(filled: (String, FieldValue)) -> Vec<(String, String)> {
        let errors = email().apply_form(&BTreeMap::from([filled]), true).unwrap_err();
        errors.into_iter().map(|error| (error.field, error.message)).collect()
    }

    #[test]
    fn unchanged_fields_are_kept() {
        let filled = BTreeMap::from([people_value("cc", &[]), text("body", "Hi Bo,\r\n  later ")]);
        let revised = email().apply_form(&filled, true).unwrap();
        assert_eq!(revised, OutgoingEmail { cc: vec![], body: "Hi Bo,\n  later ".into(), ..email() });
    }

    #[test]
    fn errors_name_their_field() {
        let at = |field: &str, why: &str| vec![(field.to_owned(), why.to_owned())];
        assert_eq!(field_errors(people_value("to", &[])), at("to", "Add at least one recipient."));
        assert_eq!(field_errors(text("body", " \n")), at("body", "Write something in the email."));
        assert_eq!(
            field_errors(text("body", "\u{0}")),
            at("body", "The text contains characters that can't be sent.")
        );
        assert_eq!(field_errors(text("subject", "a\nb")), at("subject", "A subject has to fit on one line."));
        assert_eq!(field_errors(people_value("cc", &["bo@localhost"]))[0].0, "cc");
        let many = ["bo@example.com"; 101];
        assert_eq!(
            field_errors(people_value("to", &many)),
            at("to", "That's 102 recipients, and 100 is the limit.")
        );
    }
}
