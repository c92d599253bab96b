//! Reads sent mails and drafts: their text, and what is attached. A mail can nest hundreds of thousands of parts in one
//! another; the limits of the process end that.

use mail_parser::{Addr, Address, HeaderValue, Message, MessageParser, MimeHeaders, PartType};
use nod_contract::wire::{Block, Cut, Done, Failure};
use sha2::{Digest, Sha256};

use crate::sink::Sink;

/// The most parts of a mail; one with more is not read.
const MAX_PARTS: usize = 1_000;
/// The name of a file that has none, as Gmail shows it.
const NAMELESS: &str = "noname";
const HEADER_CHARS: usize = 1_000;
/// The longest header that is parsed by itself, in bytes.
const HEADER_BYTES: usize = 8 * 1024;

/// Reads an attached mail: its main headers, the names of its files, and its text.
pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let mail = parse_message(bytes)?;
    let mut lines = Vec::new();
    for name in ["From", "To", "Cc", "Date", "Subject"] {
        if let Some(value) = mail.header_raw(name) {
            lines.push(format!("{name}: {}", one_line(&decoded(value))));
        }
    }
    let files: Vec<&str> =
        mail.attachments().map(|file| file.attachment_name().unwrap_or(NAMELESS)).collect();
    if !files.is_empty() {
        lines.push(format!("Files, which cannot be read from here: {}", files.join(", ")));
    }
    lines.push(String::new());
    lines.push(body(&mail).trim_end().to_owned());
    Ok(finish_reading(sink.text(&lines.join("\n"), None)))
}

/// Reads a draft: each header that counts, the digests of its files in order, whether it is formatted, and its text.
pub(crate) fn draft(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let mail = parse_message(bytes)?;
    let mut whole = true;
    for (name, list) in [("from", mail.from()), ("to", mail.to()), ("cc", mail.cc()), ("bcc", mail.bcc())] {
        for one in list.map(Address::iter).into_iter().flatten() {
            whole &= sink.block(person(name, one));
        }
    }
    for (name, value) in [("in-reply-to", mail.in_reply_to()), ("references", mail.references())] {
        for id in ids(value) {
            whole &= sink.block(field(name, &id));
        }
    }
    whole &= sink.block(field("subject", mail.subject().unwrap_or_default()));
    for file in mail.attachments() {
        let digest: String =
            Sha256::digest(file.contents()).iter().map(|byte| format!("{byte:02x}")).collect();
        whole &= sink.block(field("file", &digest));
    }
    if formatted(&mail) {
        whole &= sink.block(field("formatted", "yes"));
    }
    whole &= sink.text(&body(&mail), None);
    Ok(finish_reading(whole))
}

fn parse_message(bytes: &[u8]) -> Result<Message<'_>, Failure> {
    let mail = MessageParser::new().parse(bytes).ok_or(Failure::Broken)?;
    match mail.parts.len() > MAX_PARTS {
        true => Err(Failure::Large),
        false => Ok(mail),
    }
}

fn finish_reading(whole: bool) -> Done {
    Done { cut: (!whole).then_some(Cut::Size), ..Done::default() }
}

fn body(mail: &Message<'_>) -> String {
    mail.body_text(0).unwrap_or_default().replace("\r\n", "\n")
}

fn field(name: &str, text: &str) -> Block {
    Block::Field { name: name.to_owned(), text: text.to_owned() }
}

/// Returns a row with the name, empty if there is none, and the email address.
fn person(list: &str, one: &Addr<'_>) -> Block {
    let cells = [one.name(), one.address()].map(|text| text.unwrap_or_default().to_owned());
    Block::Row { head: vec![list.to_owned()], cells: cells.into() }
}

fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    value.as_text_list().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// Decodes the RFC 2047 encoded words of a header; plain text is only trimmed.
fn decoded(value: &str) -> String {
    let value = &value[..value.floor_char_boundary(HEADER_BYTES)];
    if !value.contains("=?") {
        return value.trim().to_owned();
    }
    let line = format!("Subject: {value}\r\n\r\n");
    let mail = MessageParser::new().parse_headers(line.as_bytes());
    mail.and_then(|mail| mail.subject().map(str::to_owned)).unwrap_or_else(|| value.to_owned())
}

/// Fits text into one of our lines: control characters become spaces, and long text is cut.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim();
    match plain.char_indices().nth(HEADER_CHARS) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain.to_owned(),
    }
}

/// Returns whether the mail has formatting that plain text cannot keep. Gmail writes every draft as HTML, but plain
/// text only as lines.
fn formatted(mail: &Message<'_>) -> bool {
    const LINES: [&str; 10] = ["", "!doctype", "html", "head", "meta", "body", "div", "p", "br", "wbr"];
    let look = |tag: &str| {
        let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '!').collect();
        !LINES.contains(&name.to_ascii_lowercase().as_str())
    };
    let mut html = mail.parts.iter().filter_map(|part| match &part.body {
        PartType::Html(html) => Some(html),
        _ => None,
    });
    html.any(|html| {
        html.contains("style=") || html.split('<').skip(1).any(|tag| look(tag.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Kind;

    use super::*;
    use crate::tests::{blocks, extract_text};

    const MAIL: &str = "From: =?utf-8?Q?J=C3=B6rg?= <j@example.com>\r\nTo: Ana <ana@acme.test>, bo@acme.test\r\n\
        Subject: Plan\r\nIn-Reply-To: <1@acme.test>\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n\
        <div>Hi <b>Bo</b></div>\r\n--b\r\nContent-Type: text/csv\r\n\
        Content-Disposition: attachment; filename=sums.csv\r\n\r\na,b\r\n--b--\r\n";

    #[test]
    fn an_attached_mail_says_who_wrote_it() {
        let read = extract_text(Kind::Mail, MAIL.as_bytes()).map(|(words, _)| words);
        let said = "From: Jörg <j@example.com>\nTo: Ana <ana@acme.test>, bo@acme.test\nSubject: Plan\n\
                    Files, which cannot be read from here: sums.csv\n\nHi Bo";
        assert_eq!(read.as_deref(), Ok(said));
    }

    #[test]
    fn a_draft_is_told_piece_by_piece() {
        let row = |list: &str, name: &str, address: &str| Block::Row {
            head: vec![list.to_owned()],
            cells: vec![name.to_owned(), address.to_owned()],
        };
        let read = blocks(Kind::Draft, MAIL.as_bytes()).map(|(blocks, _)| blocks).unwrap_or_default();
        let digest: String = Sha256::digest("a,b").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            read[..7],
            [
                row("from", "Jörg", "j@example.com"),
                row("to", "Ana", "ana@acme.test"),
                row("to", "", "bo@acme.test"),
                field("in-reply-to", "1@acme.test"),
                field("subject", "Plan"),
                field("file", &digest),
                field("formatted", "yes"),
            ]
        );
    }

    #[test]
    fn a_mail_of_too_many_parts_is_not_read() {
        let parts = "--b\r\n\r\nx\r\n".repeat(MAX_PARTS + 1);
        let mail = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n");
        assert_eq!(extract_text(Kind::Mail, mail.as_bytes()), Err(Failure::Large));
    }
}
