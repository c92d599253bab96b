//! Form fields that a person fills in before approving, and errors in their values.

use nod_contract::card::{Field, FieldError};

/// Returns a field for one line of text; callers set the other properties.
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

/// Stores a parsed value, or adds the error to its field.
pub(super) fn store_or_report<T>(
    read: Result<T, String>,
    place: &mut T,
    id: &str,
    errors: &mut Vec<FieldError>,
) {
    match read {
        Ok(value) => *place = value,
        Err(why) => errors.push(FieldError::new(id, sentence(&why))),
    }
}

/// Turns a message for the model into a sentence for a person.
pub(super) fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
