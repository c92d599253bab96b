//! Reads the responses of Gmail: decoded headers, the text of a message, times.

use google_gmail1::api::{Message, MessagePart};
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{Address, MessageParser};
use nod_contract::outside;
use nod_people::attachment;
use nod_people::reading::Unread;

use super::address::Recipient;
use super::charset;
use super::received_attachments::{is_file, mime};
use crate::google::reading::Texts;
use nod_contract::wire::Kind;

/// The maximum number of characters of a body that is passed on.
pub(super) const BODY_CHARS: usize = 8_000;
/// The maximum size of a header that is parsed, in bytes. Whole mails are parsed by a reader.
const HEADER_BYTES: usize = 8 * 1024;
/// The maximum size of a header that lists people, in bytes.
const LIST_BYTES: usize = 64 * 1024;
/// How deep parts can be nested.
pub(super) const DEPTH: usize = 10;

/// Returns a header as Gmail stores it.
pub(super) fn raw_header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    part_header(message.payload.as_ref()?, name)
}

/// Returns a header in decoded form.
pub(super) fn header(message: &Message, name: &str) -> String {
    decode_encoded_words(raw_header(message, name).unwrap_or_default())
}

/// Returns the address of the sender, if it is a valid one.
pub(super) fn sender(message: &Message) -> Option<String> {
    let from = raw_header(message, "From").filter(|from| from.len() <= HEADER_BYTES)?;
    let line = format!("From: {from}\r\n\r\n");
    let mail = MessageParser::new().parse_headers(line.as_bytes())?;
    outside::valid_email(mail.from()?.first()?.address()?).map(str::to_owned)
}

/// Returns the addresses of a header that mail can be sent to. A name that could deceive is left out.
pub(super) fn header_recipients(mail: &Message, name: &str) -> Vec<Recipient> {
    let Some(value) = raw_header(mail, name) else { return Vec::new() };
    if value.len() > LIST_BYTES {
        // More than any mail should have; half a list would drop people unnoticed.
        return Vec::new();
    }
    let line = format!("To: {}\r\n\r\n", value.replace(['\r', '\n'], " "));
    let parsed = MessageParser::new().parse_headers(line.as_bytes());
    let Some(list) = parsed.as_ref().and_then(|mail| mail.to()) else { return Vec::new() };
    recipients_of(list)
}

fn recipients_of(list: &Address<'_>) -> Vec<Recipient> {
    let person = |one: &mail_parser::Addr<'_>| {
        let address = one.address()?;
        let named = one.name().and_then(|name| Recipient::parse(&format!("{name} <{address}>")).ok());
        named.or_else(|| Recipient::parse(address).ok())
    };
    list.iter().filter_map(person).collect()
}

pub(super) fn has_label(message: &Message, label: &str) -> bool {
    message.label_ids.iter().flatten().any(|one| one == label)
}

/// Returns a text of another person on one line, for use in a line of ours.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim();
    match plain.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain.to_owned(),
    }
}

/// A message's text, with a maximum length.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BoundedText {
    pub text: String,
    /// Describes what was left out; empty if nothing was.
    pub truncation_note: String,
}

/// The text of a message, before anything is left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Text(String),
    /// HTML that is not read yet.
    Html(String),
    /// Gmail stores it as a separate attachment.
    Apart,
    Nothing,
}

impl Body {
    /// Returns plain text if there is any, otherwise HTML.
    pub(super) fn from_message(message: &Message) -> Self {
        let Some(payload) = &message.payload else { return Self::Nothing };
        let plain = find(payload, "text/plain", DEPTH).and_then(part_text);
        if let Some(text) = plain.filter(|text| !text.trim().is_empty()) {
            return Self::Text(text);
        }
        match find(payload, "text/html", DEPTH).and_then(part_text) {
            Some(html) => Self::Html(html),
            None if find(payload, "text/", DEPTH).is_some() => Self::Apart,
            None => Self::Nothing,
        }
    }

    /// Returns the body with its HTML converted to text.
    ///
    /// # Errors
    /// If the HTML cannot be read.
    pub(super) async fn read(message: &Message, texts: &mut Texts) -> Result<Self, Unread> {
        match Self::from_message(message) {
            Self::Html(html) => Ok(Self::Text(texts.html(Kind::Html, &html).await?)),
            other => Ok(other),
        }
    }

    /// Returns at most this many characters of it.
    pub(super) fn to_bounded_text(&self, most: usize) -> BoundedText {
        match self {
            Self::Text(text) => truncate(text.trim_end(), most),
            Self::Apart => BoundedText {
                truncation_note: "the text is kept as an attachment and was not read".into(),
                ..BoundedText::default()
            },
            Self::Html(_) | Self::Nothing => BoundedText::default(),
        }
    }
}

fn find<'a>(part: &'a MessagePart, kind: &str, depth: usize) -> Option<&'a MessagePart> {
    if is_file(part) {
        return None;
    }
    if mime(part).starts_with(kind) {
        return Some(part);
    }
    if depth == 0 {
        return None;
    }
    part.parts.iter().flatten().find_map(|part| find(part, kind, depth - 1))
}

/// Returns a part's text. Gmail returns the bytes in the sender's character set.
fn part_text(part: &MessagePart) -> Option<String> {
    let bytes = part.body.as_ref()?.data.as_ref()?;
    let kind = part_header(part, "Content-Type").unwrap_or_default().to_ascii_lowercase();
    let charset = kind.split_once("charset=").map(|(_, rest)| rest.trim_start_matches('"'));
    let charset = charset.and_then(|rest| rest.split(['"', ';', ' ']).next()).unwrap_or_default();
    if let Some(text) = charset::like_utf8(charset, bytes) {
        return Some(text);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(text.to_owned());
    }
    let named = Some(charset).filter(|name| !["", "utf-8", "utf8", "us-ascii"].contains(name));
    let named = named.and_then(|name| charset_decoder(name.as_bytes())).map(|decode| decode(bytes));
    let guessed = named.or_else(|| attachment::decode_windows_1252(bytes));
    Some(guessed.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()))
}

pub(super) fn part_header<'a>(part: &'a MessagePart, name: &str) -> Option<&'a str> {
    let mut headers = part.headers.iter().flatten();
    let found = headers.find(|h| h.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)))?;
    found.value.as_deref()
}

/// Decodes RFC 2047 encoded words; plain text stays unchanged.
pub(super) fn decode_encoded_words(value: &str) -> String {
    if !value.contains("=?") {
        return value.trim().to_owned();
    }
    let beginning = &value[..value.floor_char_boundary(HEADER_BYTES)];
    let line = format!("Subject: {beginning}\r\n\r\n");
    let mail = MessageParser::new().parse_headers(line.as_bytes());
    mail.and_then(|mail| mail.subject().map(str::to_owned)).unwrap_or_else(|| value.to_owned())
}

fn truncate(text: &str, most: usize) -> BoundedText {
    let more = text.chars().count().saturating_sub(most);
    if more == 0 {
        return BoundedText { text: text.to_owned(), truncation_note: String::new() };
    }
    let text = text.chars().take(most).collect();
    BoundedText { text, truncation_note: format!("{more} more characters are not shown") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use google_gmail1::api::{MessagePartBody, MessagePartHeader};

    use super::*;

    fn part(kind: &str, content_type: &str, data: &[u8]) -> MessagePart {
        let header =
            MessagePartHeader { name: Some("content-type".into()), value: Some(content_type.into()) };
        MessagePart {
            mime_type: Some(kind.into()),
            headers: Some(vec![header]),
            body: Some(MessagePartBody { data: Some(data.to_vec()), ..Default::default() }),
            ..Default::default()
        }
    }

    fn text(message: &Message) -> BoundedText {
        Body::from_message(message).to_bounded_text(BODY_CHARS)
    }

    fn message_of(parts: Vec<MessagePart>) -> Message {
        let payload = MessagePart {
            mime_type: Some("multipart/mixed".into()),
            parts: Some(parts),
            ..Default::default()
        };
        Message { payload: Some(payload), ..Default::default() }
    }

    #[test]
    fn plain_text_is_preferred_to_html() {
        let html =
            part("text/html", "text/html; charset=utf-8", b"<p>Hello <b>Bo</b></p><script>x()</script>");
        let plain = part("text/plain", "text/plain", "Grüße".as_bytes());
        assert_eq!(Body::from_message(&message_of(vec![html.clone(), plain])), Body::Text("Grüße".into()));
        let read = Body::Html("<p>Hello <b>Bo</b></p><script>x()</script>".into());
        assert_eq!(Body::from_message(&message_of(vec![html])), read);
    }

    #[test]
    fn an_old_character_set_is_read() {
        let old = part("text/plain", "text/plain; charset=\"ISO-8859-1\"; format=flowed", b"Gr\xfc\xdfe");
        assert_eq!(text(&message_of(vec![old])).text, "Grüße");
        for lying in ["text/plain; charset=nonsense", "text/plain; charset=UTF-8", "text/plain"] {
            let lying = part("text/plain", lying, b"Gr\xfc\xdfe aus Ulm");
            assert_eq!(text(&message_of(vec![lying])).text, "Grüße aus Ulm");
        }
        let other = part("text/plain", "text/plain; charset=utf-8", b"\x93\xfa\x96\x7b");
        assert_eq!(text(&message_of(vec![other])).text, "\u{fffd}\u{fffd}\u{fffd}{");
    }

    #[test]
    fn an_attached_text_is_no_body() {
        let mut file = part("text/plain", "text/plain", b"secret");
        file.filename = Some("a.txt".into());
        assert_eq!(text(&message_of(vec![file])), BoundedText::default());
    }

    #[test]
    fn a_long_body_says_what_is_missing() {
        let text = text(&message_of(vec![part("text/plain", "text/plain", "ä".repeat(8_010).as_bytes())]));
        assert_eq!(
            (text.text.chars().count(), text.truncation_note.as_str()),
            (8_000, "10 more characters are not shown")
        );
    }

    #[test]
    fn headers_are_in_peoples_letters() {
        let from = "=?utf-8?Q?J=C3=B6rg?= <j@example.com>";
        assert_eq!(decode_encoded_words(from), "Jörg <j@example.com>");
        let header = MessagePartHeader { name: Some("from".into()), value: Some(from.into()) };
        let payload = MessagePart { headers: Some(vec![header]), ..Default::default() };
        let message = Message { payload: Some(payload), ..Default::default() };
        assert_eq!(sender(&message).as_deref(), Some("j@example.com"));
    }
}
