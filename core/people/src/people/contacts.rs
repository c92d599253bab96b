//! Resolves a name to people outside the workspace whom a person's own mail knows. The name in a mail is chosen by its
//! sender, so it never resolves by itself, not even if only one fits: the person sees it with its address, and picks.

use nod_contract::contacts::Contact;
use nod_contract::hidden_chars::show_hidden_chars;
use nod_contract::tool::{Choice, Principal};

/// More words are not a name.
const MAX_WORDS: usize = 6;
/// A longer word is not part of a name, in characters.
const MAX_WORD_CHARS: usize = 40;
/// Contacts that are offered in addition to the people of the workspace.
const MAX_CHOICES: usize = 8;
/// How much of a label the strictest platform shows on a button, in UTF-16 units: the address must fit completely.
const LABEL: usize = 75;
/// Distinguishes a contact from the people of the workspace, whatever its name.
const SOURCE: &str = " · from your email";
/// A name shortened further than this is useless, in UTF-16 units.
const MIN_NAME_UNITS: usize = 4;

/// Returns the words to look a name up by; `None` if there are none to look for in mail.
pub fn search_words(name: &str) -> Option<Vec<String>> {
    let words = split_name(name);
    let fits = words.len() <= MAX_WORDS && words.iter().all(|word| word.chars().count() <= MAX_WORD_CHARS);
    (fits && !words.is_empty()).then_some(words)
}

/// Returns those of `contacts` that fit, except `me` and the `people` of the workspace who are offered already. An address
/// is offered once, with a name if one of them shows it: a mail to it often has none.
pub fn choices(words: &[String], contacts: &[Contact], people: &[Choice], me: &Principal) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    let fitting = || contacts.iter().filter(|contact| is_match(contact, words));
    for contact in fitting() {
        let is = |address: &str| address.eq_ignore_ascii_case(&contact.email);
        let known = people.iter().chain(&choices).any(|choice| is(&choice.value));
        if !known && !me.email.as_deref().is_some_and(is) {
            let mut labels = fitting().filter(|other| is(&other.email)).filter_map(label);
            let first = labels.next();
            let is_named = |label: &String| !is(label.trim_end_matches(SOURCE));
            let named = first.clone().into_iter().chain(labels).find(is_named);
            let label = named.or(first);
            choices.extend(label.map(|label| Choice { label, value: contact.email.clone() }));
        }
    }
    choices.truncate(MAX_CHOICES);
    choices
}

/// Returns whether all the words are in the name, or before the `@` of the address.
fn is_match(contact: &Contact, words: &[String]) -> bool {
    let local = contact.email.rsplit_once('@').map_or("", |(local, _)| local);
    let has = [split_name(&contact.name), split_name(local)].concat();
    words.iter().all(|word| has.contains(word))
}

fn split_name(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// "Zoe Kim (zoe@partner.example) · from your mail"; `None` if the address would not fit completely. A name that looks
/// like another address is left out.
fn label(contact: &Contact) -> Option<String> {
    let Contact { name, email: address } = contact;
    let room = LABEL.checked_sub(units(address) + units(SOURCE))?;
    let name = show_hidden_chars(name).split_whitespace().collect::<Vec<_>>().join(" ");
    let name = name.replace(char::is_control, " ");
    let deceives = name.contains(['@', '＠', '﹫']) || name.eq_ignore_ascii_case(address);
    let shown = room.checked_sub(units(" ()")).map(|room| truncate(&name, room)).unwrap_or_default();
    match !deceives && (shown == name || units(&shown) >= MIN_NAME_UNITS) && !shown.is_empty() {
        true => Some(format!("{shown} ({address}){SOURCE}")),
        false => Some(format!("{address}{SOURCE}")),
    }
}

fn truncate(name: &str, room: usize) -> String {
    if units(name) <= room {
        return name.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(c.len_utf16()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let start: String = name.chars().take_while(fits).collect();
    format!("{}…", start.trim_end())
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn contact(name: &str, address: &str) -> Contact {
        Contact { name: name.to_owned(), email: address.to_owned() }
    }

    fn labels(name: &str, contacts: &[Contact], people: &[Choice]) -> Vec<String> {
        let me = Principal {
            person: Uuid::nil().into(),
            name: "Ana".to_owned(),
            email: Some("ana@acme.test".to_owned()),
            zone: "UTC".to_owned(),
        };
        let words = search_words(name).unwrap();
        choices(&words, contacts, people, &me).into_iter().map(|choice| choice.label).collect()
    }

    #[test]
    fn contact_matches_all_words_and_is_listed_once() {
        let all = [
            contact("Kim, Zoe", "zoe@partner.example"),
            contact("", "zoe.kim@far.example"),
            contact("zoe.kim@far.example", "zoe.kim@far.example"),
            contact("Zoe K", "zoe.kim@far.example"),
            contact("Zoë Kim", "z@far.example"),
            contact("Zoe Kim", "ANA@acme.test"),
            contact("Zoe Stone", "ZOE@partner.example"),
            contact("Someone Else", "else@zoe.example"),
            contact("Zoe Stone", "stone@acme.test"),
        ];
        let stone = Choice { label: "Zoe Stone, Sales".to_owned(), value: "Stone@acme.test".to_owned() };
        assert_eq!(
            labels("zoe", &all, &[stone]),
            [
                "Kim, Zoe (zoe@partner.example) · from your email",
                "Zoe K (zoe.kim@far.example) · from your email"
            ]
        );
        assert_eq!(labels("Zoe Kim", &all, &[]).len(), 2);
        assert_eq!(labels("O'Neil", &[contact("Sam O’Neil", "sam@far.example")], &[]).len(), 1);
        let many: Vec<Contact> = (0..20).map(|n| contact("Zoe", &format!("zoe{n}@far.example"))).collect();
        assert_eq!(labels("Zoe", &many, &[]).len(), MAX_CHOICES);
    }

    #[test]
    fn non_names_are_not_looked_up() {
        for name in ["", " . ", "the one who wrote to me last week", &"x".repeat(41)] {
            assert_eq!(search_words(name), None, "{name}");
        }
        assert_eq!(search_words("Anne-Marie O'Neil").unwrap(), ["anne", "marie", "o", "neil"]);
    }

    #[test]
    fn contact_label_always_shows_the_full_email() {
        for (name, address, wanted) in [
            ("Bo \u{202e}dniL", "eve@evil.test", "Bo ⟨202E⟩dniL (eve@evil.test) · from your email"),
            ("bo\n lind", "bo@x.test", "bo lind (bo@x.test) · from your email"),
            ("bo@acme.test", "bo@evil.test", "bo@evil.test · from your email"),
            ("bo＠acme.test", "bo@evil.test", "bo@evil.test · from your email"),
            (
                "Bo Lind (the one of accounting, who sits beside you)",
                "eve@evil.test",
                "Bo Lind (the one of accounting, who sits… (eve@evil.test) · from your email",
            ),
        ] {
            let shown = label(&contact(name, address)).unwrap();
            assert_eq!(shown, wanted);
            assert!(units(&shown) <= LABEL, "{shown}");
        }
        let long = |letters| format!("{}@acme.test.evil.example", "b".repeat(letters));
        assert_eq!(label(&contact("Bo", &long(36))), None);
        assert_eq!(label(&contact("Bo Lind", &long(32))).unwrap(), format!("{}{SOURCE}", long(32)));
    }
}
