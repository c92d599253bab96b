//! Hostile mails as raw MIME.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::Rng;

use super::{Dice, html, names};

/// A mail that nests `depth` mails in each other.
#[must_use]
pub fn nested_mail(depth: usize) -> Vec<u8> {
    format!("{}Subject: inmost\r\n\r\nx", "Content-Type: message/rfc822\r\n\r\n".repeat(depth)).into_bytes()
}

/// An HTML mail from one person to another, as an answer in a thread.
#[must_use]
pub fn html_mail(to: &str, from: &str, id: &str, answers: &str, html: &str) -> Vec<u8> {
    let lines = [
        format!("From: {from}"),
        format!("To: {to}"),
        "Subject: Plan".to_owned(),
        format!("Message-ID: <{id}>"),
        format!("In-Reply-To: <{answers}>"),
        format!("References: <{answers}>"),
        "Date: Fri, 6 Mar 2026 09:00:00 +0000".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/html; charset=utf-8".to_owned(),
        String::new(),
        html.to_owned(),
    ];
    lines.join("\r\n").into_bytes()
}

/// The headers of a mail.
pub(super) struct Heads {
    pub from: String,
    pub to: String,
    pub subject: String,
    pub id: String,
}

impl Heads {
    /// Creates the headers of a harmless mail to this recipient.
    pub(super) fn new(to: &str, number: u64) -> Self {
        Self {
            from: "Kim <kim@northwind.test>".to_owned(),
            to: to.to_owned(),
            subject: format!("Offer {number}"),
            id: format!("<{number}@hostile.test>"),
        }
    }

    /// Returns the mail with a body of this content type.
    pub(super) fn mail_with_body(&self, kind: &str, body: &[u8]) -> Vec<u8> {
        let Self { from, to, subject, id } = self;
        let heads = format!(
            "From: {from}\r\nTo: {to}\r\nSubject: {subject}\r\nMessage-ID: {id}\r\n\
             Date: Fri, 6 Mar 2026 09:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: {kind}\r\n\r\n"
        );
        [heads.as_bytes(), body].concat()
    }

    /// Returns the mail with an HTML body.
    pub(super) fn above_html(&self, html: &str) -> Vec<u8> {
        self.mail_with_body("text/html; charset=utf-8", html.as_bytes())
    }

    /// Returns the mail with these parts, each with its own headers.
    pub(super) fn above_parts(&self, parts: &[String]) -> Vec<u8> {
        let parts: String = parts.iter().map(|part| format!("--=b\r\n{part}\r\n")).collect();
        self.mail_with_body("multipart/mixed; boundary=\"=b\"", format!("{parts}--=b--\r\n").as_bytes())
    }

    /// Returns the mail with a short text and a file.
    pub(super) fn mail_with_file(&self, name: &str, bytes: &[u8]) -> Vec<u8> {
        self.above_parts(&["Content-Type: text/plain\r\n\r\nSee the file.".to_owned(), file(name, bytes)])
    }
}

/// Returns a file as a MIME part.
pub(super) fn file(name: &str, bytes: &[u8]) -> String {
    let lines: Vec<String> = STANDARD
        .encode(bytes)
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!(
        "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"{name}\"\r\n\r\n{}",
        lines.join("\r\n")
    )
}

/// Nested parts, or more parts than any mail has.
pub(super) fn parts(dice: &mut Dice, heads: &Heads) -> Vec<u8> {
    if dice.random_bool(0.5) {
        return heads.above_parts(&vec!["\r\nx".to_owned(); dice.random_range(500..3_000)]);
    }
    // Gmail reports nested parts as nested JSON, of which a client reads 128 levels.
    let deep: usize = dice.random_range(2..60);
    let kind = |n: usize| format!("multipart/mixed; boundary=\"={n}\"");
    let inner: String =
        (1..deep).map(|n| format!("--={}\r\nContent-Type: {}\r\n\r\n", n - 1, kind(n))).collect();
    heads.mail_with_body(&kind(0), format!("{inner}--={}\r\n\r\nx\r\n", deep - 1).as_bytes())
}

/// A mail with an attached mail that is malformed.
pub(super) fn with_malformed_attached_mail(dice: &mut Dice, heads: &Heads, name: &str) -> Vec<u8> {
    let inner = match dice.random_range(0..4) {
        0 => "Content-Type: message/rfc822\r\n\r\n".repeat(dice.random_range(2..50)) + "Subject: x\r\n\r\nx",
        1 => {
            let parts = "--=m\r\n\r\nx\r\n".repeat(dice.random_range(500..3_000));
            format!("Content-Type: multipart/mixed; boundary=\"=m\"\r\n\r\n{parts}--=m--\r\n")
        }
        2 => format!("Content-Type: text/html\r\n\r\n{}", html::nested(dice)),
        _ => format!("From: {}\r\nSubject: {}\r\n\r\nx", names::sender(dice), names::subject(dice)),
    };
    let head =
        format!("Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename=\"{name}\"");
    heads.above_parts(&[
        "Content-Type: text/plain\r\n\r\nSee the mail.".to_owned(),
        format!("{head}\r\n\r\n{inner}"),
    ])
}

/// A mail with hostile file names, and one file with the name that the test asks for.
pub(super) fn with_named_files(dice: &mut Dice, heads: &Heads, asked: &str) -> Vec<u8> {
    let mut parts =
        vec!["Content-Type: text/plain\r\n\r\nSee the files.".to_owned(), file(asked, b"The plan.")];
    for _ in 0..dice.random_range(1..100) {
        let name = names::encoded(&names::tricks(dice, 2_000));
        parts.push(file(&name, b"x"));
        parts.push(file(asked, b"The other plan."));
    }
    heads.above_parts(&parts)
}

/// Bytes that are not valid in the content type and charset that they declare.
pub(super) fn bytes(dice: &mut Dice, heads: &Heads) -> Vec<u8> {
    const KINDS: [&str; 7] = [
        "text/plain; charset=utf-7",
        "text/plain; charset=iso-2022-jp",
        "text/plain; charset=x-evil",
        "text/html; charset=utf-16",
        "text/plain\r\nContent-Transfer-Encoding: base64",
        "text/plain\r\nContent-Transfer-Encoding: quoted-printable",
        "multipart/alternative; boundary=x",
    ];
    let mut body = vec![0; dice.random_range(1..200_000)];
    dice.fill(&mut body[..]);
    heads.mail_with_body(KINDS[dice.random_range(0..KINDS.len())], &body)
}
