//! What the people in the conversation wrote themselves, as far as it is in view.

/// Whether a person wrote exactly this address: "jumbo@x.test" and "bo@x.test.evil" do not name "bo@x.test".
pub(super) fn is_email_named<'a>(mut said: impl Iterator<Item = &'a str>, address: &str) -> bool {
    let address = address.to_lowercase();
    said.any(|said| contains_email(&said.to_lowercase(), &address))
}

/// Words before which a name stands: after another one, "will", "may" or "mark" might be no name.
const BEFORE_NAMES: [&str; 20] = [
    "tell", "to", "with", "ask", "email", "mail", "for", "let", "and", "cc", "invite", "from", "add", "send",
    "message", "answer", "forward", "write", "remind", "or",
];

/// Whether a person named this person by their first name: "tell Bo" names Bo Lind.
pub(super) fn is_name_said<'a>(mut said: impl Iterator<Item = &'a str>, name: &str) -> bool {
    let Some(first) = name.split_whitespace().next().map(str::to_lowercase) else { return false };
    let is_said = |text: &str| {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let pairs = words.windows(2).filter(|pair| BEFORE_NAMES.contains(&pair[0]));
        pairs.into_iter().any(|pair| pair[1] == first) || lower.starts_with(&format!("{first},"))
    };
    said.any(is_said)
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
            assert_eq!(is_name_said([said].into_iter(), "Bo Lind"), named, "{said}");
            assert!(!is_name_said([said].into_iter(), " "));
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
            assert_eq!(is_email_named([said].into_iter(), "bo@x.test"), named, "{said}");
        }
    }
}
