//! Raw mail as a list of headers and a body, and what can be read from it.
//!
//! Headers are stored as they were written, so unchanged ones are passed on byte for byte. Stricter than Gmail: a
//! header section that RFC 5322 does not allow is rejected.

use mail_parser::parsers::MessageStream;
use mail_parser::{Addr, MessageParser, MimeHeaders};

/// A parsed mail.
#[derive(Debug, Clone)]
pub(super) struct Mime {
    /// Name and unfolded raw value, in order.
    pub headers: Vec<(String, String)>,
    /// With CRLF line ends, so that a large mail can be returned repeatedly without being converted again.
    body: Vec<u8>,
}

/// One mailbox address of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mailbox {
    pub name: Option<String>,
    pub email: String,
}

impl Mime {
    /// Parses raw mail; lines end in CRLF or in LF only.
    pub fn parse(raw: &[u8]) -> Result<Self, String> {
        if raw.is_empty() {
            return Err("the message is empty".to_owned());
        }
        let (head, body) = split(raw);
        let mut headers: Vec<(String, String)> = Vec::new();
        for line in head.split(|byte| *byte == b'\n') {
            let line = header_line(line.strip_suffix(b"\r").unwrap_or(line))?;
            if line.is_empty() {
                continue;
            }
            if line.starts_with([' ', '\t']) {
                let (_, value) = headers.last_mut().ok_or("the first header line is a continuation")?;
                value.push_str(&line.replace('\t', " "));
                continue;
            }
            let (name, value) = line.split_once(':').ok_or("a header line has no colon")?;
            let printable = |c: char| c.is_ascii_graphic();
            if name.is_empty() || !name.chars().all(printable) {
                return Err("a header name holds a space or a control character".to_owned());
            }
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        if headers.is_empty() {
            return Err("the message has no header".to_owned());
        }
        let mime = Self { headers, body: with_crlf(body) };
        mime.check_unique_headers()?;
        if MessageParser::default().parse(&mime.raw()).is_none() {
            return Err("the message cannot be parsed".to_owned());
        }
        Ok(mime)
    }

    fn check_unique_headers(&self) -> Result<(), String> {
        const ONCE: [&str; 10] = [
            "from",
            "to",
            "cc",
            "bcc",
            "subject",
            "date",
            "message-id",
            "in-reply-to",
            "references",
            "content-type",
        ];
        for name in ONCE {
            if self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count() > 1 {
                return Err(format!("the header {name} is given twice"));
            }
        }
        Ok(())
    }

    /// Returns the raw mail, with CRLF line ends and long headers folded at spaces.
    pub fn raw(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        for (name, value) in &self.headers {
            raw.extend_from_slice(folded(name, value).as_bytes());
        }
        raw.extend_from_slice(b"\r\n");
        raw.extend_from_slice(&self.body);
        raw
    }

    /// Returns a header's raw value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns a header's value with its encoded words decoded.
    pub fn decoded_header(&self, name: &str) -> Option<String> {
        self.header(name).map(decode_words)
    }

    /// Replaces a header in its position, or adds it.
    pub fn set(&mut self, name: &str, value: &str) {
        match self.headers.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
            Some((_, old)) => value.clone_into(old),
            None => self.headers.push((name.to_owned(), value.to_owned())),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
    }

    /// Replaces the body with plain text; the headers must declare that.
    pub fn set_body(&mut self, text: &str) {
        self.body = with_crlf(text.as_bytes());
    }

    /// Returns the addresses of a header; an error names the header, in Gmail's words.
    pub fn addresses(&self, name: &str) -> Result<Vec<Mailbox>, String> {
        let Some(value) = self.header(name).filter(|value| !value.is_empty()) else { return Ok(Vec::new()) };
        let invalid = || format!("Invalid {name} header");
        let line = format!("{value}\n");
        let parsed = MessageStream::new(line.as_bytes()).parse_address();
        let all = parsed.as_address().ok_or_else(invalid)?;
        all.iter().map(|addr| mailbox(addr).ok_or_else(invalid)).collect()
    }

    /// Returns the message ids to which this mail replies, the nearest last.
    pub fn answers(&self) -> Vec<String> {
        let both = [self.header("References"), self.header("In-Reply-To")];
        both.into_iter().flatten().flat_map(str::split_whitespace).map(str::to_owned).collect()
    }

    /// Returns the text of the mail: its text parts, or its HTML as text.
    pub fn body_text(&self) -> String {
        let raw = self.raw();
        let Some(message) = MessageParser::default().parse(&raw) else { return String::new() };
        let all = (0..message.text_body_count()).filter_map(|at| message.body_text(at));
        all.collect::<Vec<_>>().join("\n").replace("\r\n", "\n").trim_end().to_owned()
    }

    /// Returns the names and sizes of the attachments.
    pub fn files(&self) -> Vec<(String, usize)> {
        let raw = self.raw();
        let Some(message) = MessageParser::default().parse(&raw) else { return Vec::new() };
        let named = |part: &mail_parser::MessagePart<'_>| {
            part.attachment_name().map(|name| (name.to_owned(), part.contents().len()))
        };
        message.parts.iter().filter_map(named).collect()
    }
}

/// Decodes encoded words (RFC 2047).
pub(super) fn decode_words(value: &str) -> String {
    let line = format!("{value}\n");
    let parsed = MessageStream::new(line.as_bytes()).parse_unstructured();
    parsed.as_text().unwrap_or_default().to_owned()
}

fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(words) => {
                lines.extend_from_slice(words.strip_suffix(b"\r").unwrap_or(words));
                lines.extend_from_slice(b"\r\n");
            }
            None => lines.extend_from_slice(line),
        }
    }
    lines
}

/// Splits header section and body at the first empty line.
fn split(raw: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        if at > 0 && matches!(line, b"\n" | b"\r\n") {
            return (&raw[..at], &raw[at + line.len()..]);
        }
        at += line.len();
    }
    (raw, &[])
}

fn header_line(line: &[u8]) -> Result<&str, String> {
    if line.len() > 998 {
        return Err("a header line is longer than 998 characters".to_owned());
    }
    if !line.is_ascii() {
        return Err("a header holds bytes outside ASCII that are not encoded".to_owned());
    }
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    if line.contains('\r') {
        return Err("a header holds a bare carriage return".to_owned());
    }
    Ok(line)
}

fn folded(name: &str, value: &str) -> String {
    if name.len() + value.len() < 76 {
        return format!("{name}: {value}\r\n");
    }
    let mut text = format!("{name}:");
    let mut width = text.len();
    for word in value.split_whitespace() {
        if width + word.len() > 76 && width > name.len() + 1 {
            text.push_str("\r\n");
            width = 0;
        }
        text.push(' ');
        text.push_str(word);
        width += word.len() + 1;
    }
    text + "\r\n"
}

fn mailbox(addr: &Addr<'_>) -> Option<Mailbox> {
    let email = addr.address()?.to_owned();
    let name = addr.name().filter(|name| !name.is_empty()).map(str::to_owned);
    is_address(&email).then_some(Mailbox { name, email })
}

/// Returns whether mail can be sent to the address: `local@domain.tld`.
pub(super) fn is_address(email: &str) -> bool {
    let Some((local, domain)) = email.rsplit_once('@') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c);
    let label = |l: &str| {
        !l.is_empty()
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    !local.is_empty()
        && local.chars().all(plain)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && domain.contains('.')
        && domain.split('.').all(label)
}
