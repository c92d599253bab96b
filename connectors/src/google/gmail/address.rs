//! Addresses as people and models write them: `bo@example.com` or `Bo Stone <bo@example.com>`.

use std::fmt;

use email_address::{EmailAddress, Options};
use nod_contract::hidden_chars::is_hidden_char;

const NAME_CHARS: usize = 100;

/// A recipient of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::google) struct Recipient {
    pub(in crate::google) name: Option<String>,
    /// ASCII; a domain in another script is in its `xn--` form, which cannot be mistaken for a similar one.
    pub(in crate::google) address: String,
}

impl Recipient {
    /// Parses one recipient.
    ///
    /// # Errors
    /// A sentence for the model that names the invalid recipient.
    pub(in crate::google) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bad = |why: &str| format!("{text:?} isn't an address I can send to: {why}");
        let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            Some((name, address)) => (name.trim(), address.trim()),
            None => ("", text),
        };
        let address = to_ascii_address(address).ok_or_else(|| bad("only plain letters work before the @"))?;
        let options = Options::default().with_required_tld().without_domain_literal().without_display_text();
        EmailAddress::parse_with_options(&address, options).map_err(|error| bad(&error.to_string()))?;
        let name = unquote_name(name).ok_or_else(|| bad("the name contains characters a name can't have"))?;
        let name = Some(name).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(&address));
        // A name that looks like an address can deceive people about the recipient.
        if name.as_ref().is_some_and(|name| name.contains('@')) {
            return Err(bad("the name can't look like another address"));
        }
        Ok(Self { name, address })
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            // In a list, the name would end at this character.
            Some(name) if name.contains([',', ';']) => write!(f, "\"{name}\" <{}>", self.address),
            Some(name) => write!(f, "{name} <{}>", self.address),
            None => f.write_str(&self.address),
        }
    }
}

fn to_ascii_address(address: &str) -> Option<String> {
    let (local, domain) = address.rsplit_once('@')?;
    if domain.is_ascii() {
        return address.is_ascii().then(|| address.to_owned());
    }
    let Ok(url::Host::Domain(domain)) = url::Host::parse(domain) else { return None };
    local.is_ascii().then(|| format!("{local}@{domain}"))
}

/// Removes the quotes.
fn unquote_name(name: &str) -> Option<String> {
    let name = match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\"", "'").replace("\\\\", ""),
        None => name.to_owned(),
    };
    let sound = |c: char| !c.is_control() && !matches!(c, '<' | '>' | '"' | '\\') && !is_hidden_char(c);
    (name.chars().all(sound) && name.chars().count() <= NAME_CHARS).then(|| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, shown) in [
            ("bo@example.com", "bo@example.com"),
            (" Bo Stone <bo@example.com> ", "Bo Stone <bo@example.com>"),
            ("\"Stone, Bo\" <bo@example.com>", "\"Stone, Bo\" <bo@example.com>"),
            ("Stone; Bo <bo@example.com>", "\"Stone; Bo\" <bo@example.com>"),
            ("Jörg Müller <j@example.com>", "Jörg Müller <j@example.com>"),
            ("bo@example.com <bo@example.com>", "bo@example.com"),
            ("<bo@example.com>", "bo@example.com"),
            ("bo+list@sub.example.co.uk", "bo+list@sub.example.co.uk"),
            ("info@bücher.example", "info@xn--bcher-kva.example"),
        ] {
            assert_eq!(Recipient::parse(text).map(|r| r.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_bad_address_is_named() {
        for text in [
            "",
            "bo",
            "bo@",
            "@example.com",
            "bo@localhost",
            "bo@example..com",
            "a@b.c, d@e.f",
            "bo@example.com\r\nBcc: eve@example.com",
            "Bo\r\nX: y <bo@example.com>",
            "jörg@example.com",
            "bo@example.com <eve@evil.test>",
            "\u{202e}oB <bo@example.com>",
            "Bo <bo@[127.0.0.1]>",
            "Bo <bo@example.com> and others",
        ] {
            let refused = Recipient::parse(text);
            assert!(
                refused.as_ref().is_err_and(|why| why.contains(&format!("{:?}", text.trim()))),
                "{refused:?}"
            );
        }
    }
}
