//! Files that are sent with a mail. A letter stores the size, digest and location of each, but not the bytes. They are
//! fetched again on sending, and a file that differs from the approved one is not sent.

use google_gmail1::api::Message;
use nod_contract::clock::Timestamp;
use nod_contract::hidden_chars::is_hidden_char;
use nod_contract::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::mailbox::Mailbox;
use super::message::one_line;
use super::mime;
use super::outgoing_email::OutgoingEmail;
use super::received_attachments::{self, Attachment, attachments};
use nod_contract::tool::effect::EffectKey;

/// Gmail's limit, for all files of a mail together.
const MAX_TOTAL_BYTES: u64 = 25 * 1024 * 1024;
pub(super) const MAX_FILES: usize = 20;
const MAX_NAME_CHARS: usize = 150;
const KEPT: &str = "Gmail won't give me a file from that email. Send it from Gmail, or leave the files out";

/// A file of a letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutgoingAttachment {
    pub name: String,
    pub kind: String,
    pub size: u64,
    pub sha256: String,
    #[serde(rename = "lies")]
    pub source: AttachmentSource,
}

/// Where the bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttachmentSource {
    /// In a mail, at this index among its files. (Gmail's own ids of files do not last.)
    InMail { message: String, at: usize },
    /// In the conversation.
    InChat { file: Uuid },
}

impl OutgoingAttachment {
    /// Returns whether it came with a mail, so another person might have sent it.
    pub(super) fn is_from_message(&self) -> bool {
        matches!(self.source, AttachmentSource::InMail { .. })
    }
}

/// A file as a model names it.
#[derive(Debug, Deserialize)]
pub(super) struct AttachmentArgument {
    message_id: Option<String>,
    name: String,
    #[serde(default)]
    which: Option<usize>,
}

/// Returns the schema of the tools' argument for attachments.
pub(super) fn argument() -> Value {
    json!({"type": "array", "maxItems": MAX_FILES,
    "description": "Files to attach, only those the person asked for: dropped into this conversation, or come with a mail.",
    "items": {"type": "object", "required": ["name"], "additionalProperties": false,
        "properties": {
            "message_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                "description": "The mail that it came with; left out for a file of this conversation."},
            "name": {"type": "string", "minLength": 1, "maxLength": 2000,
                "description": "Exactly as it is called there."},
            "which": {"type": "integer", "minimum": 1, "maximum": 100,
                "description": "Of several files with this name; the first unless given."},
        }}})
}

/// Returns the requested files in their current form.
///
/// # Errors
/// [`ToolError::NotFound`] if one does not exist, [`ToolError::InvalidArguments`] if they are too large together.
pub(super) async fn resolve_attachments(
    mailbox: &Mailbox,
    asked: &[AttachmentArgument],
) -> Result<Vec<OutgoingAttachment>, ToolError> {
    let mut found = Vec::new();
    for one in asked {
        let Some(id) = &one.message_id else {
            let file = mailbox.find_conversation_file(&one.name).await?;
            found.push((file.name, file.media_type, 0, AttachmentSource::InChat { file: file.id }));
            continue;
        };
        let message =
            mailbox.fetch_message(id).await.map_err(|trouble| trouble.into_read_error("that email"))?;
        let all = from_message(id, attachments(&message));
        let mut same = all.into_iter().filter(|(name, ..)| name.trim() == one.name.trim());
        found.push(same.nth(one.which.unwrap_or(1).saturating_sub(1)).ok_or_else(no_such)?);
    }
    with_digests(mailbox, found).await
}

/// Returns all files attached to a mail.
///
/// # Errors
/// As [`wanted`].
pub(super) async fn list_from_message(
    mailbox: &Mailbox,
    message: &Message,
) -> Result<Vec<OutgoingAttachment>, ToolError> {
    let id = message.id.clone().unwrap_or_default();
    with_digests(mailbox, from_message(&id, attachments(message))).await
}

/// Returns the letter as the bytes to send, with its files as they were approved.
///
/// # Errors
/// [`ToolError::Forbidden`] if a file differs from the approved one.
pub(super) async fn render_email(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    date: Timestamp,
    key: EffectKey,
) -> Result<Vec<u8>, ToolError> {
    let mut contents = Vec::with_capacity(letter.attachments.len());
    for file in &letter.attachments {
        let bytes = fetch_bytes(mailbox, &file.source).await?;
        if digest(&bytes) != file.sha256 {
            let reason = format!("“{}” has changed since it was on the card", file.name);
            return Err(ToolError::Forbidden { reason });
        }
        contents.push(bytes);
    }
    mime::bytes(letter, date, key.id, &contents)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a file: "terms.pdf (1.2 MB)".
pub(super) fn describe(file: &OutgoingAttachment) -> String {
    format!("{} ({})", file.name, size(file.size))
}

fn no_such() -> ToolError {
    // Another person chose the names, so they are not repeated here.
    ToolError::NotFound { what: "that file in the email".to_owned() }
}

/// Name, MIME type, claimed size and location.
type Told = (String, String, u64, AttachmentSource);

fn from_message(message: &str, files: Vec<Attachment>) -> Vec<Told> {
    let told = |(at, file): (usize, Attachment)| {
        let size = u64::try_from(file.size).unwrap_or_default();
        (file.name, file.kind, size, AttachmentSource::InMail { message: message.to_owned(), at })
    };
    files.into_iter().enumerate().map(told).collect()
}

async fn with_digests(mailbox: &Mailbox, found: Vec<Told>) -> Result<Vec<OutgoingAttachment>, ToolError> {
    if found.len() > MAX_FILES {
        return Err(ToolError::invalid(format!(
            "that's {} files, and {MAX_FILES} is the limit",
            found.len()
        )));
    }
    check_total_size(found.iter().map(|(_, _, size, _)| size).sum())?;
    let mut files = Vec::with_capacity(found.len());
    for (name, kind, _, lies) in found {
        let bytes = fetch_bytes(mailbox, &lies).await?;
        let (size, sha256) = (u64::try_from(bytes.len()).unwrap_or(u64::MAX), digest(&bytes));
        files.push(OutgoingAttachment {
            name: safe_name(&name),
            kind: safe_media_type(&kind),
            size,
            sha256,
            source: lies,
        });
    }
    check_total_size(files.iter().map(|file| file.size).sum())?;
    Ok(files)
}

fn check_total_size(bytes: u64) -> Result<(), ToolError> {
    if bytes <= MAX_TOTAL_BYTES {
        return Ok(());
    }
    let (all, most) = (size(bytes), size(MAX_TOTAL_BYTES));
    Err(ToolError::invalid(format!(
        "the files are {all} together, and Gmail's limit is {most}. Nothing was sent"
    )))
}

async fn fetch_bytes(mailbox: &Mailbox, lies: &AttachmentSource) -> Result<Vec<u8>, ToolError> {
    let (message, at) = match lies {
        AttachmentSource::InChat { file } => {
            return mailbox
                .fetch_conversation_file(*file, usize::try_from(MAX_TOTAL_BYTES).unwrap_or(usize::MAX))
                .await;
        }
        AttachmentSource::InMail { message, at } => (message, *at),
    };
    let mail = mailbox.fetch_message(message).await;
    let mail = mail.map_err(|trouble| trouble.into_read_error("the email a file came with"))?;
    let file = attachments(&mail).into_iter().nth(at).ok_or_else(no_such)?;
    let bytes = received_attachments::fetch_bytes(mailbox, message, file).await?;
    bytes.ok_or_else(|| ToolError::Forbidden { reason: KEPT.to_owned() })
}

/// Cleans a name: removes characters that reorder or hide text, and those that end a header.
fn safe_name(name: &str) -> String {
    let sound: String = name.chars().filter(|c| !is_hidden_char(*c)).collect();
    let name = one_line(&sound.replace(['"', '\\', '/'], "_"), MAX_NAME_CHARS);
    if name.is_empty() { "file".to_owned() } else { name }
}

/// Returns the MIME type, if it cannot be anything but a file.
fn safe_media_type(kind: &str) -> String {
    let token = |part: &str| {
        let sound = |c: char| c.is_ascii_alphanumeric() || "-.+_".contains(c);
        !part.is_empty() && part.len() < 80 && part.chars().all(sound)
    };
    let kind = kind.trim().to_ascii_lowercase();
    match kind.split_once('/') {
        Some((of, what)) if token(of) && token(what) && !["message", "multipart"].contains(&of) => kind,
        _ => "application/octet-stream".to_owned(),
    }
}

/// Formats a size: "1.2 MB".
fn size(bytes: u64) -> String {
    const KB: u64 = 1024;
    match bytes {
        0..KB => format!("{bytes} bytes"),
        _ if bytes < KB * KB => format!("{} KB", bytes.div_ceil(KB)),
        _ => format!("{}.{} MB", bytes / KB / KB, bytes % (KB * KB) * 10 / KB / KB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_names_and_types_are_sanitized() {
        assert_eq!(safe_name("inv\u{202e}fdp.exe"), "invfdp.exe");
        assert_eq!(safe_name("a\"; x=\"b\r\nc/d"), "a_; x=_b  c_d");
        assert_eq!(safe_name(" \u{200b}"), "file");
        assert_eq!(safe_media_type("Application/PDF"), "application/pdf");
        for kind in ["message/rfc822", "multipart/mixed", "text/plain; boundary=x", "", "x"] {
            assert_eq!(safe_media_type(kind), "application/octet-stream", "{kind}");
        }
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let sizes = [0, 1_023, 1_024, 1_500, 1_048_576, 26_214_400].map(size);
        assert_eq!(sizes, ["0 bytes", "1023 bytes", "1 KB", "2 KB", "1.0 MB", "25.0 MB"]);
        assert!(check_total_size(MAX_TOTAL_BYTES).is_ok() && check_total_size(MAX_TOTAL_BYTES + 1).is_err());
    }
}
