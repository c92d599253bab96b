//! Resolves a name to an address. An address is taken unchanged; a name that fits one person resolves; a name that fits
//! several is never guessed.

use std::str::FromStr;

use email_address::EmailAddress;

use super::Person;
use nod_contract::chat::Membership;
use nod_contract::tool::{Choice, Principal, ToolError};

/// Resolves a recipient written by a model or a person, among `people`.
///
/// # Errors
/// [`ToolError::Ambiguous`] if several people fit, [`ToolError::NoAddress`] if none does or the one who does has no
/// address, [`ToolError::InvalidArguments`] if it looks like an address and is none.
pub fn resolve(written: &str, me: &Principal, people: &[Person]) -> Result<String, ToolError> {
    let written = written.trim();
    if written.contains('@') && !written.starts_with('@') && !written.starts_with("<@") {
        return parse_email(written);
    }
    let name = strip_quotes(written);
    if name.is_empty() {
        return Err(ToolError::invalid("an empty recipient"));
    }
    if is_self_reference(name) {
        return me.email.clone().ok_or_else(|| no_address(&me.name, "has no email address here"));
    }
    match &find_matches(name, people)[..] {
        [] => Err(no_address(name, "isn't in this workspace, so I need an address")),
        [one] => {
            one.email.clone().ok_or_else(|| no_address(one.display_name(), "has no email address I can see"))
        }
        several => {
            Err(ToolError::Ambiguous { name: name.to_owned(), choices: choices(several), message: None })
        }
    }
}

/// Returns the name to look up, without a leading `@` and spaces.
#[must_use]
pub fn strip_quotes(written: &str) -> &str {
    written.trim().trim_start_matches('@').trim()
}

/// Returns whether it is neither an address nor a mention, nor the person themselves.
#[must_use]
pub fn is_name(written: &str) -> bool {
    search_words(written).is_some() && !is_self_reference(strip_quotes(written))
}

fn is_self_reference(name: &str) -> bool {
    ["me", "myself"].contains(&name.to_lowercase().as_str())
}

/// Returns the words to look a name up by; `None` if it is an address.
#[must_use]
pub fn search_words(written: &str) -> Option<Vec<String>> {
    if written.contains('@') && !written.starts_with('@') {
        return None;
    }
    Some(strip_quotes(written).to_lowercase().split_whitespace().map(str::to_owned).collect())
}

/// Splits the recipients that a person wrote into one line: separated by commas, semicolons or line ends, unless these
/// are in quotes or between `<` and `>`.
#[must_use]
pub fn split_recipients(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let (mut quoted, mut angled) = (false, false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '<' if !quoted => angled = true,
            '>' if !quoted => angled = false,
            _ => {}
        }
        if matches!(c, ',' | ';' | '\n' | '\r') && !quoted && !angled {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.into_iter().map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}

/// Returns the platform's ids of the people whom a text mentions, as adapters write them: `<@U2>`. Each once.
#[must_use]
pub fn mentions(text: &str) -> Vec<&str> {
    let mut users: Vec<&str> = Vec::new();
    for piece in text.split("<@").skip(1) {
        let Some((user, _)) = piece.split_once('>') else { continue };
        let plain = !user.is_empty() && user.len() <= 64 && user.bytes().all(|b| b.is_ascii_alphanumeric());
        if plain && !users.contains(&user) {
            users.push(user);
        }
    }
    users
}

/// Returns the user whom a recipient means that is only a mention.
#[must_use]
pub fn parse_mention(written: &str) -> Option<&str> {
    let written = written.trim();
    mentions(written).first().copied().filter(|user| written.len() == user.len() + 3)
}

/// Returns the address of a mentioned person.
///
/// # Errors
/// [`ToolError::NoAddress`] if it is not a member, or they show no address.
pub(crate) fn email_of_mentioned(person: Option<&Person>) -> Result<String, ToolError> {
    let member = person.filter(|p| p.membership == Membership::Member);
    let person = member.ok_or_else(|| {
        no_address("the person you mentioned", "isn't a member of this workspace, so I need an address")
    })?;
    person.email.clone().ok_or_else(|| no_address(person.display_name(), "has no email address I can see"))
}

/// Parses `bo@x.test` or `Bo <bo@x.test>` to the bare address.
fn parse_email(written: &str) -> Result<String, ToolError> {
    let bare = match (written.rfind('<'), written.strip_suffix('>')) {
        (Some(open), Some(inner)) => &inner[open + 1..],
        _ => written,
    };
    EmailAddress::from_str(bare.trim())
        .map(|address| address.to_string())
        .map_err(|_| ToolError::invalid(format!("“{written}” isn't an email address")))
}

/// Matches complete names first, then single words: "Bob Stone" is not ambiguous because there is a "Bob Reyes".
fn find_matches<'a>(name: &str, people: &'a [Person]) -> Vec<&'a Person> {
    let wanted = name.to_lowercase();
    let whole: Vec<&Person> = people
        .iter()
        .filter(|p| p.full_name.to_lowercase() == wanted || p.name.to_lowercase() == wanted)
        .collect();
    let words = |p: &Person| {
        let all = format!("{} {}", p.full_name, p.name).to_lowercase();
        wanted.split_whitespace().all(|w| all.split_whitespace().any(|has| has == w))
    };
    let by_word: Vec<&Person> = people.iter().filter(|p| words(p)).collect();
    // A display name "bob" is as common as a first name, so it is not preferred to another Bob.
    if whole.len() == 1 && (wanted.contains(' ') || by_word.len() <= 1) { whole } else { by_word }
}

fn choices(people: &[&Person]) -> Vec<Choice> {
    people
        .iter()
        .filter_map(|p| {
            let address = p.email.clone()?;
            let label = match &p.title {
                Some(title) if !title.is_empty() => format!("{}, {title}", p.display_name()),
                _ => format!("{} ({address})", p.display_name()),
            };
            Some(Choice { label, value: address })
        })
        .collect()
}

fn no_address(name: &str, why: &str) -> ToolError {
    ToolError::NoAddress { reason: format!("{name} {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nod_contract::ids::PersonId;
    use uuid::Uuid;

    fn person(full_name: &str, title: &str, address: &str) -> Person {
        Person {
            id: PersonId(Uuid::from_u128(1)),
            name: full_name.split(' ').next().unwrap_or_default().to_lowercase(),
            full_name: full_name.to_owned(),
            title: (!title.is_empty()).then(|| title.to_owned()),
            email: (!address.is_empty()).then(|| address.to_owned()),
            zone: None,
            membership: Membership::Member,
            has_profile: true,
        }
    }

    #[test]
    fn mentions_are_read() {
        assert_eq!(mentions("tell <@U2> and <@U3>, not <@> <@U 4> <@U2>"), ["U2", "U3"]);
        assert_eq!(parse_mention(" <@U2> "), Some("U2"));
        assert_eq!(parse_mention("<@U2> and Bo"), None);
        assert_eq!(parse_mention("Bo"), None);
    }

    #[test]
    fn recipient_line_is_split_at_separators() {
        for (line, wanted) in [
            ("Bo, cho@x.test;dana@x.test,", &["Bo", "cho@x.test", "dana@x.test"][..]),
            ("\"Stone, Bo\" <bo@x.test>\nCho", &["\"Stone, Bo\" <bo@x.test>", "Cho"]),
            ("\"open, quote", &["\"open, quote"]),
            (" ,; \n", &[]),
        ] {
            assert_eq!(split_recipients(line), wanted, "{line}");
        }
    }

    #[test]
    fn a_name_resolves_only_where_it_fits_one_person() {
        let me = person("Ana Silva", "", "ana@acme.test").principal();
        let people = [
            person("Ana Silva", "", "ana@acme.test"),
            person("Bo Lind", "", "bo@acme.test"),
            person("Bob Stone", "Sales", "stone@acme.test"),
            person("Bob Reyes", "Legal", "reyes@acme.test"),
            person("Cho Park", "", ""),
        ];
        let table = [
            ("bo@x.test", "Ok(bo@x.test)"),
            ("Bo Li <bo@x.test>", "Ok(bo@x.test)"),
            ("Bo", "Ok(bo@acme.test)"),
            ("@bo", "Ok(bo@acme.test)"),
            ("bo lind", "Ok(bo@acme.test)"),
            ("me", "Ok(ana@acme.test)"),
            ("Bob", "Ambiguous [Bob Stone, Sales] [Bob Reyes, Legal]"),
            ("Bob Stone", "Ok(stone@acme.test)"),
            ("Cho", "Cho Park has no email address I can see"),
            ("Zoe", "Zoe isn't in this workspace, so I need an address"),
            ("bo@", "“bo@” isn't an email address"),
            (" ", "an empty recipient"),
        ];
        for (written, wanted) in table {
            let got = match resolve(written, &me, &people) {
                Ok(address) => format!("Ok({address})"),
                Err(ToolError::Ambiguous { choices, .. }) => {
                    let labels: Vec<String> = choices.iter().map(|c| format!("[{}]", c.label)).collect();
                    format!("Ambiguous {}", labels.join(" "))
                }
                Err(fault) => fault.to_string(),
            };
            assert_eq!(got, wanted, "{written}");
        }
    }
}
