//! What the people in the conversation wrote themselves, as far as it is in view.

use nod_contract::model::Turn;

/// Whether a person wrote exactly this address: "jumbo@x.test" and "bo@x.test.evil" do not name "bo@x.test".
pub(super) fn is_email_named<'a>(turns: impl Iterator<Item = &'a Turn>, address: &str) -> bool {
    let address = address.to_lowercase();
    let said = turns.filter_map(|turn| match turn {
        Turn::Human { text } => Some(text.to_lowercase()),
        _ => None,
    });
    said.into_iter().any(|said| contains_email(&said, &address))
}

/// Words before which a name stands: after another one, "will", "may" or "mark" might be no name.
const BEFORE_NAMES: [&str; 20] = [
    "tell", "to", "with", "ask", "email", "mail", "for", "let", "and", "cc", "invite", "from", "add", "send",
    "message", "answer", "forward", "write", "remind", "or",
];

/// Whether a person named this person by their first name: "tell Bo" names Bo Lind.
pub(super) fn is_name_said<'a>(turns: impl Iterator<Item = &'a Turn>, name: &str) -> bool {
    let Some(first) = name.split_whitespace().next().map(str::to_lowercase) else { return false };
    let is_said = |text: &str| {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let pairs = words.windows(2).filter(|pair| BEFORE_NAMES.contains(&pair[0]));
        pairs.into_iter().any(|pair| pair[1] == first) || lower.starts_with(&format!("{first},"))
    };
    turns.into_iter().any(|turn| matches!(turn, Turn::Human { text } if is_said(text)))
}

/// Whether a text, in lower case, has this address and not only a longer one.
pub(super) fn contains_email(said: &str, address: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "@_-+%".contains(c);
    said.match_indices(address).any(|(at, _)| {
        let before = said[..at].chars().next_back();
        let mut after = said[at + address.len()..].chars();
        let (next, then) = (after.next(), after.next());
        let ends = match next {
            // The end of a sentence, or a longer address.
            Some('.') => !then.is_some_and(part),
            next => !next.is_some_and(part),
        };
        ends && !before.is_some_and(|c| part(c) || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_said_only_as_a_word() {
        for (said, named) in [
            ("tell Bo I'm late", true),
            ("tell bo, please", true),
            ("read the Boston mail", false),
            ("Bo, Cho and I are late", true),
            ("will bo come?", false),
            ("", false),
            ("tell Lind", false),
        ] {
            let turns = [Turn::Human { text: said.to_owned() }];
            assert_eq!(is_name_said(turns.iter(), "Bo Lind"), named, "{said}");
            assert!(!is_name_said(turns.iter(), " "));
        }
    }

    #[test]
    fn email_is_named_only_when_written_in_full() {
        for (said, named) in [
            ("write to Bo@x.test.", true),
            ("<mailto:bo@x.test|bo@x.test>, please", true),
            ("(bo@x.test)", true),
            ("jumbo@x.test", false),
            ("a.bo@x.test", false),
            ("bo@x.test.evil", false),
            ("bo@x.testing", false),
            ("bo at x.test", false),
        ] {
            let turns = [Turn::Human { text: said.to_owned() }];
            assert_eq!(is_email_named(turns.iter(), "bo@x.test"), named, "{said}");
        }
        let answered = [Turn::Ai { text: "bo@x.test".to_owned(), calls: Vec::new() }];
        assert!(!is_email_named(answered.iter(), "bo@x.test"));
    }
}
