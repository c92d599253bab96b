//! Messages in Gmail's JSON: labels, snippet, headers and the tree of parts.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use mail_parser::{Encoding, Message, MessageParser, MessagePart as MailPart, MimeHeaders, PartType};
use serde_json::{Value, json};

use super::consent::escape;
use super::mailbox::StoredMessage;
use super::mime::{Mime, decode_words};

/// How much of a message is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    Full,
    Metadata(Vec<String>),
    Minimal,
    Raw,
}

impl Format {
    pub fn parse(name: Option<&str>, headers: Vec<String>) -> Result<Self, String> {
        match name {
            None | Some("full") => Ok(Self::Full),
            Some("metadata") => Ok(Self::Metadata(headers)),
            Some("minimal") => Ok(Self::Minimal),
            Some("raw") => Ok(Self::Raw),
            Some(other) => Err(format!("Invalid value at 'format': \"{other}\"")),
        }
    }
}

/// Returns only the ids, as in lists and in answers to writes.
pub(super) fn reference(stored: &StoredMessage) -> Value {
    json!({"id": stored.id, "threadId": stored.thread})
}

/// Returns the ids and the labels.
pub(super) fn with_label_ids(stored: &StoredMessage) -> Value {
    json!({"id": stored.id, "threadId": stored.thread, "labelIds": stored.labels})
}

/// Returns a message resource.
pub(super) fn message(stored: &StoredMessage, format: &Format) -> Value {
    let raw = stored.mime.raw();
    let mut resource = json!({
        "id": stored.id,
        "threadId": stored.thread,
        "labelIds": stored.labels,
        "snippet": snippet(&stored.mime),
        "historyId": stored.history.to_string(),
        "internalDate": stored.at.timestamp_millis().to_string(),
        "sizeEstimate": raw.len(),
    });
    match format {
        Format::Minimal => {}
        Format::Raw => resource["raw"] = json!(URL_SAFE.encode(&raw)),
        Format::Metadata(wanted) => {
            let payload = tree(&raw, false);
            resource["payload"] =
                json!({"mimeType": payload["mimeType"], "headers": chosen(&stored.mime, wanted)});
        }
        Format::Full => resource["payload"] = tree(&raw, true),
    }
    resource
}

/// Returns the first words, with HTML entities, as Gmail does.
pub(super) fn snippet(mime: &Mime) -> String {
    let text = mime.body_text();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape(&words.chars().take(200).collect::<String>())
}

/// Returns the bytes of an attachment by the id from [`tree`], which is its position among the parts, including those
/// of nested mails.
pub(super) fn attachment(mime: &Mime, id: &str) -> Option<Value> {
    let raw = mime.raw();
    let whole = MessageParser::default().parse(&raw)?;
    let (mut message, mut places) = (&whole, id.strip_prefix("ANGjdJ-")?.split('.').peekable());
    while let Some(at) = places.next() {
        let part = message.parts.get(at.parse::<usize>().ok()?)?;
        if places.peek().is_none() {
            let bytes = part_content(part, message.raw_message());
            return Some(json!({"size": bytes.len(), "data": URL_SAFE.encode(bytes)}));
        }
        message = part.message()?;
    }
    None
}

/// Returns a part's content. For a nested mail these are its raw lines.
fn part_content<'a>(part: &'a MailPart<'a>, raw: &'a [u8]) -> &'a [u8] {
    match (&part.body, part.encoding) {
        (PartType::Message(_), Encoding::None) => lines(part, raw),
        _ => part.contents(),
    }
}

fn lines<'a>(part: &MailPart<'_>, raw: &'a [u8]) -> &'a [u8] {
    raw.get(part.offset_body as usize..part.offset_end as usize).unwrap_or_default()
}

fn chosen(mime: &Mime, wanted: &[String]) -> Vec<Value> {
    let all = mime.headers.iter().filter(|(name, _)| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
    });
    all.map(|(name, value)| json!({"name": name, "value": decode_words(value)})).collect()
}

fn tree(raw: &[u8], with_bodies: bool) -> Value {
    match MessageParser::default().parse(raw) {
        Some(message) => part(&message, 0, &PartPosition::default(), with_bodies),
        None => json!({}),
    }
}

/// The position of a part: Gmail's part id, and the nested mails that contain it.
#[derive(Default)]
struct PartPosition {
    id: String,
    within: String,
}

impl PartPosition {
    fn child(&self, index: usize) -> Self {
        let id = if self.id.is_empty() { index.to_string() } else { format!("{}.{index}", self.id) };
        Self { id, within: self.within.clone() }
    }
}

fn part(message: &Message<'_>, at: usize, place: &PartPosition, with_bodies: bool) -> Value {
    let Some(part_here) = message.parts.get(at) else { return json!({}) };
    let raw = message.raw_message();
    let headers = part_here.headers.iter().map(|header| {
        let bytes = raw.get(header.offset_start as usize..header.offset_end as usize).unwrap_or_default();
        let value = String::from_utf8_lossy(bytes).replace(['\r', '\n'], "");
        json!({"name": header.name(), "value": decode_words(value.trim())})
    });
    let mut resource = json!({
        "partId": place.id,
        "mimeType": mime_type(part_here),
        "filename": part_here.attachment_name().unwrap_or_default(),
        "headers": headers.collect::<Vec<_>>(),
    });
    if !with_bodies {
        return resource;
    }
    resource["body"] = body(part_here, raw, &format!("{}{at}", place.within));
    match &part_here.body {
        PartType::Multipart(children) => {
            let parts = children.iter().enumerate();
            let parts =
                parts.map(|(index, child)| part(message, *child as usize, &place.child(index), with_bodies));
            resource["parts"] = parts.collect();
        }
        // Gmail shows the content of a nested mail as parts of the outer one.
        PartType::Message(inner) => {
            let within = PartPosition { within: format!("{}{at}.", place.within), ..place.child(0) };
            resource["parts"] = json!([part(inner, 0, &within, with_bodies)]);
        }
        _ => {}
    }
    resource
}

fn mime_type(part: &MailPart<'_>) -> String {
    match part.content_type() {
        Some(kind) => format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("plain")).to_lowercase(),
        None => "text/plain".to_owned(),
    }
}

fn body(part: &MailPart<'_>, raw: &[u8], place: &str) -> Value {
    if matches!(part.body, PartType::Multipart(_)) {
        return json!({"size": 0});
    }
    let bytes = part_content(part, raw);
    if is_file(part) {
        return json!({"size": bytes.len(), "attachmentId": format!("ANGjdJ-{place}")});
    }
    // The parser has decoded a text's bytes to characters; Gmail returns the bytes.
    let as_sent = lines(part, raw);
    let sent = match part.encoding {
        Encoding::None => Some(as_sent.to_vec()),
        Encoding::Base64 => unpacked(as_sent),
        _ => None,
    };
    let bytes = sent.unwrap_or_else(|| bytes.to_vec());
    json!({"size": bytes.len(), "data": URL_SAFE.encode(bytes)})
}

/// Decodes base64; `None` if it is not valid.
fn unpacked(lines: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = lines.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(letters).ok()
}

/// Returns whether the mail has an attachment.
pub(super) fn has_attachment(mime: &Mime) -> bool {
    let raw = mime.raw();
    let message = MessageParser::default().parse(&raw);
    message.is_some_and(|message| message.parts.iter().any(is_file))
}

/// Returns whether the part is a file, named or not.
fn is_file(part: &MailPart<'_>) -> bool {
    let attached = part.content_disposition().is_some_and(|how| how.is_attachment());
    part.attachment_name().is_some() || part.is_message() || attached
}
