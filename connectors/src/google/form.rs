//! Fields that a person fills in before they nod, and what is wrong with what they wrote.

use nod_contract::card::{Field, FieldError};

/// One line of text; everything else is said by whoever needs it.
pub(super) fn field(id: &str, label: &str, value: &str, limit: usize, optional: bool) -> Field {
    Field {
        id: id.to_owned(),
        label: label.to_owned(),
        value: value.to_owned(),
        multiline: false,
        max_chars: limit,
        optional,
        accepts_recipients: false,
    }
}

/// Takes what was read, or says at its field why it cannot be.
pub(super) fn keep<T>(read: Result<T, String>, place: &mut T, id: &str, errors: &mut Vec<FieldError>) {
    match read {
        Ok(value) => *place = value,
        Err(why) => errors.push(FieldError::new(id, sentence(&why))),
    }
}

/// What is said to a model, as it is said to a person.
pub(super) fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
