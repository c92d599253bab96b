//! A letter as the bytes for Gmail: the same bytes for the same letter, date and effect.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mail_builder::MessageBuilder;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::MimePart;
use nod_contract::clock::Timestamp;
use nod_contract::ids::EffectId;
use nod_contract::tool::ToolError;

use super::address::Recipient;
use super::outgoing_email::OutgoingEmail;

/// Our own header, by which a mail is found again: Gmail overwrites the Message-ID.
pub(super) const EFFECT_HEADER: &str = "X-Nod-Effect";

/// Bytes of text in one encoded word: with base64 (four thirds) and twelve bytes of wrapping it stays under 75.
const MAX_ENCODED_WORD_BYTES: usize = 45;

/// Builds the message with the contents of the letter's files.
///
/// # Errors
/// [`ToolError::Internal`] if a recipient of the letter cannot be parsed.
pub(super) fn bytes(
    letter: &OutgoingEmail,
    date: Timestamp,
    effect: EffectId,
    files: &[Vec<u8>],
) -> Result<Vec<u8>, ToolError> {
    let domain = letter.from.rsplit_once('@').map_or("nod.invalid", |(_, domain)| domain);
    let mut message = MessageBuilder::new()
        .date(Date::new(date.timestamp()))
        // Otherwise the library generates another one each time.
        .message_id(format!("nod-{effect}@{domain}"))
        .header(EFFECT_HEADER, Raw::new(effect.to_string()))
        .header("From", Raw::new(mailbox(letter.name.as_deref(), &letter.from)))
        .header("Subject", Raw::new(text(&letter.subject)))
        .body(body(letter, effect, files));
    for (header, list) in [("To", &letter.to), ("Cc", &letter.cc), ("Bcc", &letter.bcc)] {
        if !list.is_empty() {
            message = message.header(header, Raw::new(recipients(list)?));
        }
    }
    if let Some(to) = &letter.reply_to {
        message = message.header("Reply-To", Raw::new(mailbox(None, to)));
    }
    if let Some(reply) = letter.thread_reply() {
        if let Some(id) = &reply.in_reply_to {
            message = message.header("In-Reply-To", MessageId::new(id.as_str()));
        }
        if !reply.references.is_empty() {
            message = message.header("References", MessageId::from(&reply.references[..]));
        }
    }
    message
        .write_to_vec()
        .map_err(|error| ToolError::internal(format!("the email can't be put together: {error}")))
}

fn body<'a>(letter: &'a OutgoingEmail, effect: EffectId, files: &'a [Vec<u8>]) -> MimePart<'a> {
    // RFC 5322 lines end in CRLF; the library does not convert them if it encodes as base64.
    let text = MimePart::new("text/plain", letter.text().replace('\n', "\r\n"));
    if files.is_empty() {
        return text;
    }
    let file = |(file, bytes): (&'a super::outgoing_attachments::OutgoingAttachment, &'a Vec<u8>)| {
        MimePart::new(file.kind.as_str(), bytes.as_slice()).attachment(file.name.as_str())
    };
    let parts =
        std::iter::once(text).chain(letter.attachments.iter().zip(files).map(file)).collect::<Vec<_>>();
    // Otherwise the library generates another one each time.
    let kind = ContentType::new("multipart/mixed").attribute("boundary", format!("nod-{effect}"));
    MimePart::new(kind, parts)
}

fn recipients(list: &[String]) -> Result<String, ToolError> {
    let mut shown = Vec::with_capacity(list.len());
    for one in list {
        let Recipient { name, address } = Recipient::parse(one).map_err(ToolError::internal)?;
        shown.push(mailbox(name.as_deref(), &address));
    }
    Ok(shown.join(", "))
}

fn mailbox(name: Option<&str>, address: &str) -> String {
    match name {
        Some(name) => format!("{} <{address}>", phrase(name)),
        None => format!("<{address}>"),
    }
}

/// Encodes a name. The library puts encoded words into quotes, which RFC 2047 forbids and some clients show raw, so
/// names are encoded here.
fn phrase(name: &str) -> String {
    let plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ') && name.len() <= MAX_ENCODED_WORD_BYTES;
    if plain && !name.contains("  ") { name.to_owned() } else { encode_words(name) }
}

/// Encodes a subject. The library would fold a long plain one with an extra tab, so that is encoded too.
fn text(subject: &str) -> String {
    let plain =
        subject.chars().all(|c| c.is_ascii_graphic() || c == ' ') && subject.len() <= MAX_ENCODED_WORD_BYTES;
    if plain && !subject.contains("=?") { subject.to_owned() } else { encode_words(subject) }
}

/// Returns RFC 2047 encoded words, split between characters; the space between two of them is ignored.
fn encode_words(text: &str) -> String {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut cut = rest.len().min(MAX_ENCODED_WORD_BYTES);
        while !rest.is_char_boundary(cut) {
            cut -= 1;
        }
        let (word, more) = rest.split_at(cut);
        words.push(format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
        rest = more;
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use chrono::DateTime;
    use mail_parser::{Address, MessageParser, MimeHeaders};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::outgoing_email::EmailArguments;
    use super::*;

    fn write(asked: &EmailArguments) -> (OutgoingEmail, Vec<u8>) {
        let letter = OutgoingEmail::new(asked, "t", "ana@acme.test").unwrap();
        let date = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let raw = bytes(&letter, date, EffectId(Uuid::from_u128(7)), &[]).unwrap();
        assert_eq!(raw, bytes(&letter, date, EffectId(Uuid::from_u128(7)), &[]).unwrap());
        (letter, raw)
    }

    fn read(address: Option<&Address<'_>>) -> Vec<String> {
        let all = address.map(|all| all.iter().collect::<Vec<_>>()).unwrap_or_default();
        let shown = |a: &&mail_parser::Addr<'_>| Recipient {
            name: a.name().map(str::to_owned),
            address: a.address().unwrap_or_default().to_owned(),
        };
        all.iter().map(|a| shown(a).to_string()).collect()
    }

    #[test]
    fn a_plain_letter_reads_plainly() {
        let asked = EmailArguments {
            to: vec!["Bo Stone <bo@example.com>".into()],
            cc: vec![],
            bcc: vec!["eve@example.com".into()],
            subject: "Running late".into(),
            body: "Hi Bo,\nten minutes.\n".into(),
        };
        let (_, raw) = write(&asked);
        assert_eq!(
            String::from_utf8(raw).unwrap(),
            "Date: Mon, 21 Sep 2026 14:13:20 +0000\r\n\
             Message-ID: <nod-00000000-0000-0000-0000-000000000007@acme.test>\r\n\
             X-Nod-Effect: 00000000-0000-0000-0000-000000000007\r\n\
             From: <ana@acme.test>\r\n\
             Subject: Running late\r\n\
             To: Bo Stone <bo@example.com>\r\n\
             Bcc: <eve@example.com>\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=\"utf-8\"\r\n\
             Content-Transfer-Encoding: 7bit\r\n\r\n\
             Hi Bo,\r\nten minutes.\r\n"
        );
    }

    fn name() -> impl Strategy<Value = String> {
        "[\\PC&&[^<>\"\\\\@]]{0,40}"
    }

    fn recipient() -> impl Strategy<Value = String> {
        (name(), "[a-z][a-z0-9.+_-]{0,10}[a-z0-9]@[a-z]{1,10}\\.(test|example\\.com)")
            .prop_map(|(name, address)| format!("{name} <{}>", address.replace("..", ".")))
            .prop_filter("an address that can be sent to", |text| Recipient::parse(text).is_ok())
    }

    #[test]
    fn files_arrive_as_they_are_and_the_same_bytes_leave_each_time() {
        let asked =
            EmailArguments { to: vec![], cc: vec![], bcc: vec![], subject: "s".into(), body: "Hi".into() };
        let contents = [vec![0, 255, 13, 10, 46, 10], b"month,sum\n".to_vec()];
        let file = |name: &str, kind: &str| super::super::outgoing_attachments::OutgoingAttachment {
            name: name.into(),
            kind: kind.into(),
            size: 0,
            sha256: String::new(),
            source: super::super::outgoing_attachments::AttachmentSource::InMail {
                message: String::new(),
                at: 0,
            },
        };
        let attachments = vec![file("Über uns; 2.pdf", "application/pdf"), file("a.csv", "text/csv")];
        let letter =
            OutgoingEmail { attachments, ..OutgoingEmail::new(&asked, "t", "ana@acme.test").unwrap() };
        let date = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let raw = bytes(&letter, date, EffectId(Uuid::from_u128(7)), &contents).unwrap();
        assert_eq!(raw, bytes(&letter, date, EffectId(Uuid::from_u128(7)), &contents).unwrap());
        let mail = MessageParser::new().parse(&raw).unwrap();
        assert_eq!(mail.body_text(0).unwrap(), "Hi");
        let read: Vec<(String, Vec<u8>)> = mail
            .attachments()
            .map(|part| (part.attachment_name().unwrap_or_default().to_owned(), part.contents().to_vec()))
            .collect();
        let [pdf, csv] = contents;
        assert_eq!(read, [("Über uns; 2.pdf".to_owned(), pdf), ("a.csv".to_owned(), csv)]);
    }

    proptest! {
        #[test]
        fn what_was_approved_is_what_arrives(
            to in prop::collection::vec(recipient(), 1..6),
            cc in prop::collection::vec(recipient(), 0..3),
            subject in "\\PC{0,120}",
            body in prop_oneof!["(\\PC|\n|\t| ){0,400}", "([ -~]|\n|=|\\.){0,400}"],
        ) {
            let (letter, raw) = write(&EmailArguments { to, cc, bcc: vec![], subject, body });
            prop_assert!(raw.split(|b| *b == b'\n').all(|line| line.len() <= 998));
            prop_assert!(raw.is_ascii());
            let mail = MessageParser::new().parse(&raw).unwrap();
            prop_assert_eq!(mail.subject().unwrap_or_default(), &letter.subject);
            prop_assert_eq!(read(mail.to()), letter.to);
            prop_assert_eq!(read(mail.cc()), letter.cc);
            let body = mail.body_text(0).unwrap_or_default().replace("\r\n", "\n");
            prop_assert_eq!(body, letter.body);
        }
    }
}
