//! The attachments of a mail: files and whole mails. Gmail shows the parts of an attached mail as if they were the
//! mail's own. Another person wrote them, so nothing here looks into one.

use google_gmail1::api::{Message, MessagePart};
use nod_contract::tool::ToolError;

use super::mailbox::Mailbox;
use super::message::{DEPTH, decode_encoded_words, part_header};

/// The name of an attached mail without a name.
const MAIL: &str = "attached email.eml";
/// The name of a file without a name, as in Gmail.
const UNNAMED_FILE: &str = "noname";

/// A file attached to a mail.
pub(super) struct Attachment {
    pub name: String,
    /// The MIME type that the sender gave.
    pub kind: String,
    /// In bytes.
    pub size: i32,
    /// Gmail's id to fetch the bytes, if they are not included.
    id: Option<String>,
    data: Option<Vec<u8>>,
}

impl Attachment {
    pub(super) fn is_mail(&self) -> bool {
        self.kind.eq_ignore_ascii_case("message/rfc822")
    }
}

/// Returns the attached files.
pub(super) fn attachments(message: &Message) -> Vec<Attachment> {
    let mut files = Vec::new();
    if let Some(payload) = &message.payload {
        collect(payload, DEPTH, &mut files);
    }
    files
}

fn collect(part: &MessagePart, depth: usize, files: &mut Vec<Attachment>) {
    if is_file(part) {
        let body = part.body.clone().unwrap_or_default();
        files.push(Attachment {
            name: name(part),
            kind: part.mime_type.clone().unwrap_or_default(),
            size: body.size.unwrap_or_default(),
            id: body.attachment_id,
            data: body.data,
        });
    }
    if depth > 0 && !is_mail(part) {
        part.parts.iter().flatten().for_each(|part| collect(part, depth - 1, files));
    }
}

fn name(part: &MessagePart) -> String {
    match part.filename.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => decode_encoded_words(name),
        None if is_mail(part) => MAIL.to_owned(),
        None => UNNAMED_FILE.to_owned(),
    }
}

/// Returns whether a part is not text of the mail itself. Gmail returns large texts separately, but they are not files.
pub(super) fn is_file(part: &MessagePart) -> bool {
    let attached = || {
        let how = part_header(part, "Content-Disposition").unwrap_or_default();
        how.trim_start().to_ascii_lowercase().starts_with("attachment")
    };
    let apart = || part.body.as_ref().is_some_and(|body| body.attachment_id.is_some());
    let kind = mime(part);
    let leaf = !kind.starts_with("multipart/");
    let named = part.filename.as_deref().is_some_and(|name| !name.is_empty());
    named || is_mail(part) || (leaf && (attached() || (apart() && !kind.starts_with("text/"))))
}

/// Returns the MIME type: "text/plain".
pub(super) fn mime(part: &MessagePart) -> String {
    part.mime_type.as_deref().unwrap_or_default().to_ascii_lowercase()
}

fn is_mail(part: &MessagePart) -> bool {
    mime(part) == "message/rfc822"
}

/// Returns its bytes; `None` if Gmail shows that the file exists, but does not return it.
pub(super) async fn fetch_bytes(
    mailbox: &Mailbox,
    message: &str,
    file: Attachment,
) -> Result<Option<Vec<u8>>, ToolError> {
    let withheld = file.size > 0 || file.is_mail();
    match (file.data, file.id) {
        (Some(bytes), _) => Ok(Some(bytes)),
        (None, Some(id)) => {
            let bytes = mailbox.fetch_attachment(message, &id).await;
            bytes.map(Some).map_err(|trouble| trouble.into_read_error("that file"))
        }
        (None, None) => Ok((!withheld).then(Vec::new)),
    }
}

#[cfg(test)]
mod tests {
    use google_gmail1::api::{MessagePartBody, MessagePartHeader};

    use super::*;

    fn part(kind: &str, name: &str, disposition: &str, apart: bool, parts: Vec<MessagePart>) -> MessagePart {
        let owned = |text: &str| Some(text.to_owned());
        let header = MessagePartHeader { name: owned("content-disposition"), value: owned(disposition) };
        let id = apart.then(|| "ANGjdJ-1".to_owned());
        MessagePart {
            mime_type: owned(kind),
            filename: owned(name),
            headers: Some(vec![header]),
            body: Some(MessagePartBody { attachment_id: id, size: Some(9), ..Default::default() }),
            parts: Some(parts),
            ..Default::default()
        }
    }

    fn names(part: MessagePart) -> Vec<String> {
        let message = Message { payload: Some(part), ..Message::default() };
        attachments(&message).into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn file_part_is_known_by_name_or_disposition() {
        for (kind, name, disposition, apart, shown) in [
            ("text/plain", "=?utf-8?B?w6QudHh0?=", "", false, Some("ä.txt")),
            ("text/plain", "", "Attachment", false, Some("noname")),
            ("application/pdf", "", "", true, Some("noname")),
            ("message/rfc822", "", "", false, Some("attached email.eml")),
            ("message/rfc822", "Offer.eml", "", true, Some("Offer.eml")),
            ("message/delivery-status", "", "", false, None),
            ("text/html", "", "inline", true, None),
            ("multipart/mixed", "", "attachment", false, None),
        ] {
            let files = names(part(kind, name, disposition, apart, vec![]));
            assert_eq!(files.first().map(String::as_str), shown, "{kind} {name} {disposition}");
        }
    }

    #[test]
    fn nested_mail_attachments_are_not_listed() {
        let inner = part("application/pdf", "inner.pdf", "", true, vec![]);
        let mail = part("message/rfc822", "", "attachment", true, vec![inner]);
        let outer = part("application/pdf", "outer.pdf", "", true, vec![]);
        let whole = part("multipart/mixed", "", "", false, vec![mail, outer]);
        assert_eq!(names(whole), ["attached email.eml", "outer.pdf"]);
    }
}
