//! The identities a person's mail is sent as: the addresses that Gmail lets their account send from, with their
//! signatures.

use google_gmail1::api::{Message, SendAs};
use nod_contract::tool::ToolError;
use nod_people::reading::Unread;

use super::address::Recipient;
use super::mailbox::Mailbox;
use super::message::header_recipients;
use crate::google::reading::to_tool_error;
use nod_contract::wire::Kind;

/// A longer signature is a whole page, and is left to Gmail.
const MAX_SIGNATURE_CHARS: usize = 2_000;

/// An address to send from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub address: String,
    /// The display name in From.
    pub name: Option<String>,
    /// Where answers go, if that is another address.
    pub reply_to: Option<String>,
    /// Plain text; empty if there is none.
    pub signature: String,
    is_default: bool,
    is_verified: bool,
    /// Mail to it is mail to this person; false for an address shared with others.
    is_own: bool,
}

/// All identities of one account.
#[derive(Debug, Clone)]
pub(super) struct Identities {
    account: String,
    all: Vec<Identity>,
}

impl Identity {
    /// Returns the account's own address, without a signature.
    pub(super) fn from_account(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            name: None,
            reply_to: None,
            signature: String::new(),
            is_default: true,
            is_verified: true,
            is_own: true,
        }
    }

    /// Builds an identity with its signature as text.
    fn from_send_as(one: SendAs, signature: &str) -> Option<Self> {
        let primary = one.is_primary.unwrap_or_default();
        let address = one.send_as_email?;
        let named = one.display_name.and_then(|name| Recipient::parse(&format!("{name} <{address}>")).ok());
        let elsewhere = one.reply_to_address.and_then(|to| Recipient::parse(&to).ok());
        Some(Self {
            name: named.and_then(|one| one.name),
            reply_to: elsewhere.map(|one| one.address).filter(|to| !to.eq_ignore_ascii_case(&address)),
            address,
            signature: lines(signature),
            is_default: one.is_default.unwrap_or_default(),
            is_verified: primary || one.verification_status.as_deref() == Some("accepted"),
            is_own: primary || one.treat_as_alias.unwrap_or_default(),
        })
    }
}

impl Identities {
    /// Reads the current settings from Gmail.
    ///
    /// # Errors
    /// If Gmail does not return them.
    pub(super) async fn fetch(mailbox: &Mailbox) -> Result<Self, ToolError> {
        let all = mailbox
            .list_send_as()
            .await
            .map_err(|trouble| trouble.into_read_error("the addresses to send from"))?;
        let (mut read, mut texts) = (Vec::with_capacity(all.len()), mailbox.reading().open_session());
        for one in all {
            // Signatures are HTML.
            let html = one.signature.as_deref().unwrap_or_default();
            let signature = match texts.html(Kind::Signature, html).await {
                Ok(text) => text,
                Err(unread @ (Unread::Busy | Unread::Away)) => return Err(to_tool_error(unread, "")),
                // A signature that cannot be read is left out, and the card shows that.
                Err(_) => String::new(),
            };
            read.push((signature, one));
        }
        Ok(Self::new(mailbox.address(), read))
    }

    fn new(account: &str, all: Vec<(String, SendAs)>) -> Self {
        let read = all.into_iter().filter_map(|(signature, one)| Identity::from_send_as(one, &signature));
        let mut all: Vec<Identity> = read.collect();
        // Gmail uses the account's name for an address without a name.
        let usual = all.iter().find(|one| one.address.eq_ignore_ascii_case(account));
        let name = usual.and_then(|one| one.name.clone());
        for one in &mut all {
            one.name = one.name.take().or_else(|| name.clone());
        }
        Self { account: account.to_owned(), all }
    }

    /// Returns whether mail to it is mail to this person.
    pub(super) fn is_own_address(&self, address: &str) -> bool {
        let same = |one: &str| one.eq_ignore_ascii_case(address);
        same(&self.account) || self.list_verified().any(|one| one.is_own && same(&one.address))
    }

    /// Returns whether Gmail sends from it, even if it is shared with others.
    pub(super) fn sends_as(&self, address: &str) -> bool {
        self.list_verified().any(|one| one.address.eq_ignore_ascii_case(address))
    }

    /// Returns the identity that Gmail uses for this address: the account's own if the address is not (or no longer)
    /// one of its addresses.
    pub(super) fn sender_for(&self, from: &str) -> Identity {
        let same = |one: &&Identity| one.address.eq_ignore_ascii_case(from);
        self.list_verified().find(same).cloned().unwrap_or_else(|| self.primary())
    }

    fn primary(&self) -> Identity {
        let own = self.list_verified().find(|one| one.address.eq_ignore_ascii_case(&self.account));
        own.cloned().unwrap_or_else(|| Identity::from_account(&self.account))
    }

    /// Returns the requested identity; otherwise, for an answer, the one that the mail was sent to; otherwise the
    /// default.
    ///
    /// # Errors
    /// [`ToolError::InvalidArguments`] with the existing ones, if Gmail would not send as the requested one.
    pub(super) fn choose(
        &self,
        wanted: Option<&str>,
        answered: Option<&Message>,
    ) -> Result<Identity, ToolError> {
        if let Some(wanted) = wanted {
            return self.find_verified(wanted);
        }
        let reached = answered.and_then(|mail| self.find_recipient(mail));
        let usual = || self.list_verified().find(|one| one.is_default);
        Ok(reached.or_else(usual).cloned().unwrap_or_else(|| self.primary()))
    }

    fn list_verified(&self) -> impl Iterator<Item = &Identity> {
        self.all.iter().filter(|one| one.is_verified)
    }

    fn find_verified(&self, wanted: &str) -> Result<Identity, ToolError> {
        let wanted = Recipient::parse(wanted).map_err(ToolError::invalid)?.address;
        let same = |one: &&Identity| one.address.eq_ignore_ascii_case(&wanted);
        if let Some(found) = self.list_verified().find(same) {
            return Ok(found.clone());
        }
        let why = match self.all.iter().any(|one| same(&one)) {
            true => "isn't verified in Gmail yet",
            false => "isn't an address this Gmail sends from",
        };
        let there: Vec<&str> = self.list_verified().map(|one| one.address.as_str()).collect();
        Err(ToolError::invalid(format!("{wanted} {why}. You can use {}", there.join(", "))))
    }

    /// Returns the address of ours that a mail was sent to; for our own mail, the one that it was sent from.
    fn find_recipient(&self, mail: &Message) -> Option<&Identity> {
        let headers = ["To", "Cc", "Delivered-To", "From"];
        let named = headers.into_iter().flat_map(|name| header_recipients(mail, name));
        named
            .into_iter()
            .find_map(|one| self.list_verified().find(|own| own.address.eq_ignore_ascii_case(&one.address)))
    }
}

/// Formats a signature for the end of a letter.
fn lines(signature: &str) -> String {
    let plain: String = signature.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let text = lines.join("\n").trim().to_owned();
    if text.chars().count() > MAX_SIGNATURE_CHARS { String::new() } else { text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use google_gmail1::api::{MessagePart, MessagePartHeader};

    use super::*;

    fn send_as(address: &str, usual: bool, status: Option<&str>) -> (String, SendAs) {
        let one = SendAs {
            send_as_email: Some(address.to_owned()),
            is_default: Some(usual),
            is_primary: Some(status.is_none()),
            verification_status: status.map(str::to_owned),
            treat_as_alias: Some(!address.starts_with("team")),
            display_name: address.starts_with("ana").then(|| "Silva, Ana".to_owned()),
            reply_to_address: address.starts_with("team").then(|| "desk@acme.test".to_owned()),
            ..SendAs::default()
        };
        (String::new(), one)
    }

    fn message_to(address: &str) -> Message {
        let header =
            MessagePartHeader { name: Some("To".to_owned()), value: Some(format!("Ana <{address}>")) };
        Message {
            payload: Some(MessagePart { headers: Some(vec![header]), ..MessagePart::default() }),
            ..Message::default()
        }
    }

    #[test]
    fn sender_is_the_recipient_address_or_the_default() {
        let all = vec![
            send_as("ana@acme.test", false, None),
            send_as("sales@acme.test", true, Some("accepted")),
            send_as("team@acme.test", false, Some("accepted")),
            send_as("boss@acme.test", false, Some("pending")),
        ];
        let all = Identities::new("ana@acme.test", all);
        let chosen = |wanted, answered: Option<&Message>| all.choose(wanted, answered).map(|one| one.address);
        assert_eq!(chosen(None, None).unwrap(), "sales@acme.test");
        assert_eq!(chosen(None, Some(&message_to("ANA@acme.test"))).unwrap(), "ana@acme.test");
        assert_eq!(chosen(None, Some(&message_to("boss@acme.test"))).unwrap(), "sales@acme.test");
        assert_eq!(chosen(Some("Ana <ana@acme.test>"), None).unwrap(), "ana@acme.test");
        for (wanted, why) in [
            (
                "boss@acme.test",
                "boss@acme.test isn't verified in Gmail yet. You can use ana@acme.test, sales@acme.test, team",
            ),
            ("eve@acme.test", "eve@acme.test isn't an address this Gmail sends from. You can use ana"),
        ] {
            let said = chosen(Some(wanted), None).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        for (address, own) in
            [("Sales@acme.test", true), ("boss@acme.test", false), ("team@acme.test", false)]
        {
            assert_eq!(all.is_own_address(address), own, "{address}");
        }
        let team = all.sender_for("team@acme.test");
        assert_eq!(
            (team.name.as_deref(), team.reply_to.as_deref()),
            (Some("Silva, Ana"), Some("desk@acme.test"))
        );
        assert_eq!(all.sender_for("boss@acme.test").address, "ana@acme.test");
        let bare = Identities::new("ana@acme.test", Vec::new());
        assert_eq!(bare.choose(None, None).unwrap(), Identity::from_account("ana@acme.test"));
    }

    #[test]
    fn a_signature_is_lines_of_text() {
        assert_eq!(lines("Ana Silva \nAcme\u{7} · acme.test\n"), "Ana Silva\nAcme · acme.test");
        assert_eq!(lines(&"x".repeat(3_000)), "");
    }
}
