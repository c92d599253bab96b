//! Converts a client's bytes to mail as Gmail would store or send it.
//!
//! Gmail replaces the client's Message-ID with its own, adds a missing date, and replaces a From that the account
//! cannot use by the account's own address. Everything else stays, including custom headers.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::Account;
use super::mailbox::Mailboxes;
use super::mime::Mime;
use super::response::Rejection;

/// Returns mail as it is stored in a draft: recipients may be missing, but must be valid.
pub(super) fn as_draft(
    mail: &mut Mailboxes,
    account: &Account,
    raw: &[u8],
    now: DateTime<Utc>,
) -> Result<Mime, Rejection> {
    let mut mime =
        Mime::parse(raw).map_err(|why| Rejection::bad_request(format!("Invalid message: {why}")))?;
    recipients(&mime)?;
    own_from(&mut mime, account)?;
    if mime.header("Date").is_none() {
        mime.set("Date", &now.to_rfc2822());
    }
    mime.set("Message-ID", &mail.message_id());
    if mime.header("MIME-Version").is_none() {
        mime.set("MIME-Version", "1.0");
    }
    Ok(mime)
}

/// Returns all recipients in lower case; mail without recipients is rejected.
pub(super) fn envelope(mime: &Mime) -> Result<BTreeSet<String>, Rejection> {
    let all = recipients(mime)?;
    if all.is_empty() {
        return Err(Rejection::bad_request("Recipient address required"));
    }
    Ok(all)
}

fn recipients(mime: &Mime) -> Result<BTreeSet<String>, Rejection> {
    let mut all = BTreeSet::new();
    for header in ["To", "Cc", "Bcc"] {
        let some = mime.addresses(header).map_err(Rejection::bad_request)?;
        all.extend(some.into_iter().map(|mailbox| mailbox.email.to_lowercase()));
    }
    Ok(all)
}

fn own_from(mime: &mut Mime, account: &Account) -> Result<(), Rejection> {
    let from = mime.addresses("From").map_err(Rejection::bad_request)?;
    if from.len() > 1 {
        return Err(Rejection::bad_request("Invalid From header"));
    }
    if !from.first().is_some_and(|from| account.may_send_as(&from.email)) {
        mime.set("From", &format!("{} <{}>", phrase(&account.name), account.email));
    }
    Ok(())
}

/// Returns a display name for a header: unchanged, quoted, or encoded.
pub(super) fn phrase(name: &str) -> String {
    let atom = |c: char| c.is_ascii_alphanumeric() || " !#$%&'*+-/=?^_`{|}~".contains(c);
    if name.chars().all(atom) {
        name.to_owned()
    } else if name.is_ascii() {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        encoded(name)
    }
}

/// Returns text for an unstructured header, in encoded words if necessary.
pub(super) fn encoded(text: &str) -> String {
    use base64::Engine;
    if text.is_ascii() {
        return text.to_owned();
    }
    // An encoded word has at most 75 characters, and no character may be split.
    let chars: Vec<char> = text.chars().collect();
    let words = chars.chunks(10).map(|chunk| {
        let piece: String = chunk.iter().collect();
        format!("=?UTF-8?B?{}?=", base64::engine::general_purpose::STANDARD.encode(piece))
    });
    words.collect::<Vec<_>>().join(" ")
}
