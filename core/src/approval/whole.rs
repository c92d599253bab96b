//! How much of a payload its card shows: all of it where a chat message holds it, else the beginning of the
//! body, its length and a way to the rest. Nobody approves what they cannot see.

use serde_json::Value;

use crate::tool::{LONGEST_BODY, Preview};
use crate::visible::visible;

/// A field is a few runs of text, which cost about this much to write beside the words.
const FIELD: usize = 120;
/// What is shown of a body that does not fit: in characters, and written. Every platform has room for it beside
/// some fields.
const BEGINNING: (usize, usize) = (1_500, 1_700);

/// Why nobody can be asked about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooLong {
    /// The body, with its length in characters.
    Body(usize),
    /// The fields: so many people.
    Fields(usize),
}

/// Whether it can be shown: every field on the card, and the body there or behind a button.
pub(crate) fn askable(preview: &Preview) -> Result<(), TooLong> {
    let both = preview.body.iter().chain(&preview.below);
    let length: usize = both.map(|text| text.chars().count()).sum();
    if length > LONGEST_BODY {
        return Err(TooLong::Body(length));
    }
    let body = preview.body.as_deref().map_or(0, written).min(BEGINNING.1);
    if fields(preview) + body > preview.room {
        return Err(TooLong::Fields(preview.recipients.len()));
    }
    Ok(())
}

/// Whether something stands on no card and has to be shown on demand.
pub(crate) fn more(preview: &Preview) -> bool {
    preview.below.is_some() || beginning(preview).is_some()
}

/// The beginning of a body that does not fit on the card; `None` where it does.
pub(crate) fn beginning(preview: &Preview) -> Option<&str> {
    let body = preview.body.as_deref()?;
    if fields(preview) + written(body) <= preview.room {
        return None;
    }
    let mut cost = 0;
    let end = body.char_indices().take(BEGINNING.0).take_while(|(_, c)| {
        cost += written(c.encode_utf8(&mut [0; 4])) - 2;
        cost <= BEGINNING.1
    });
    let end = end.last().map_or(0, |(at, c)| at + c.len_utf8());
    let head = &body[..end];
    let late = |at: &usize| *at > end / 2;
    let cut = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late)).unwrap_or(end);
    Some(&head[..cut])
}

fn fields(preview: &Preview) -> usize {
    let marks = |text: &str| text.chars().filter(char::is_ascii_punctuation).count();
    let field = |(name, value): &(String, String)| FIELD + written(name) + written(value) + marks(value);
    preview.fields.iter().map(field).sum()
}

/// As JSON and in UTF-16: each is how some platform counts. In fields what could be a mark may be escaped.
fn written(text: &str) -> usize {
    Value::from(visible(text).as_ref()).to_string().encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Words;

    fn preview(to: &str, body: &str) -> Preview {
        let word = String::new;
        let words = Words {
            approve: word(),
            doing: word(),
            done: word(),
            not_done: word(),
            thing: word(),
            brings: word(),
        };
        Preview {
            fields: vec![("To".to_owned(), to.to_owned())],
            body: Some(body.to_owned()),
            recipients: vec![to.to_owned()],
            ..Preview::new(Value::Null, "", words)
        }
    }

    #[test]
    fn a_body_is_shown_whole_or_its_beginning_is() {
        assert_eq!(beginning(&preview("bo", "Hi")), None);
        assert_eq!(beginning(&preview("bo", &"é".repeat(8_000))), None);
        let long = preview("bo", &"word ".repeat(2_000));
        assert_eq!(beginning(&long).map(str::len), Some(1_499));
        let quotes = preview("bo", &"\"".repeat(8_000));
        assert_eq!(beginning(&quotes).map(str::len), Some(850));
        let marks = preview("bo", &"\u{1}".repeat(8_000));
        assert!(beginning(&marks).is_some_and(|head| written(head) <= 1_702));
    }

    #[test]
    fn how_much_is_shown_is_the_platforms_to_say() {
        let small = |to: &str, body: &str| Preview { room: 3_000, ..preview(to, body) };
        assert_eq!(beginning(&small("bo", &"x".repeat(2_800))), None);
        assert_eq!(beginning(&small("bo", &"x".repeat(2_900))).map(str::len), Some(1_500));
        // Marks may have to be escaped, so fields count them twice.
        assert_eq!(askable(&small(&"_".repeat(1_000), "Hi")), Ok(()));
        assert_eq!(askable(&small(&"_".repeat(1_500), "Hi")), Err(TooLong::Fields(1)));
    }

    #[test]
    fn what_cannot_be_shown_is_not_asked_about() {
        assert_eq!(askable(&preview("bo", &"x".repeat(LONGEST_BODY))), Ok(()));
        assert_eq!(askable(&preview("bo", &"x".repeat(LONGEST_BODY + 1))), Err(TooLong::Body(30_001)));
        assert_eq!(askable(&preview(&"x".repeat(5_500), &"x".repeat(20_000))), Ok(()));
        assert_eq!(askable(&preview(&"x".repeat(9_000), "Hi")), Err(TooLong::Fields(1)));
    }
}
