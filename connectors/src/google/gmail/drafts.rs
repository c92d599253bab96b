//! What writing a draft and sending a mail share: the schema, and finding a draft by our header.

use google_gmail1::api::Draft;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::{Preview, ToolContext, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::identity::Identities;
use super::mailbox::Mailbox;
use super::message::raw_header;
use super::mime::EFFECT_HEADER;
use super::outgoing_attachments::OutgoingAttachment;
use super::outgoing_email::{BODY_CHARS, EmailArguments, MAX_RECIPIENTS, OutgoingEmail, SUBJECT_CHARS};
use super::{outgoing_attachments, parse_arguments, reply};
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::effect::EffectKey;

/// The number of newest drafts or sent mails that are searched.
pub(super) const MAX_SCANNED: u32 = 25;

/// Returns the arguments of both tools; a mail needs a recipient, a draft does not.
pub(super) fn parameters(least_to: usize) -> Value {
    let recipients = |least: usize, what: &str| {
        json!({"type": "array", "minItems": least, "maxItems": MAX_RECIPIENTS, "description": what,
            "items": {"type": "string", "minLength": 1, "maxLength": 320, "format": "recipient"}})
    };
    let mut required = vec!["subject", "body"];
    if least_to > 0 {
        required.insert(0, "to");
    }
    json!({
        "type": "object",
        "properties": {
            "to": recipients(least_to, "Addresses, or names of people."),
            "cc": recipients(0, "Addresses, or names of people."),
            "bcc": recipients(0, "Addresses, or names of people."),
            "subject": {"type": "string", "maxLength": SUBJECT_CHARS, "description": "One line."},
            "body": {"type": "string", "minLength": 1, "maxLength": BODY_CHARS, "description": "Plain text, whole."},
            "from": reply::sender_schema(),
            "attach": outgoing_attachments::argument(),
        },
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments in addition to the text.
#[derive(Deserialize)]
struct ExtraArguments {
    from: Option<String>,
    #[serde(default)]
    attach: Vec<outgoing_attachments::AttachmentArgument>,
}

/// A letter built from the arguments, and whether it contains data from the person's mailbox.
pub(super) struct ComposedEmail {
    pub email: OutgoingEmail,
    has_mailbox_content: bool,
}

impl ComposedEmail {
    /// Sets the audience of the preview: data from the person's mailbox is private to them.
    pub(super) fn with_provenance(&self, cx: &ToolContext, preview: Preview) -> Preview {
        let audience =
            if self.has_mailbox_content { Audience::Person(cx.principal.person) } else { Audience::Channel };
        let provenance = match self.email.attachments.iter().any(OutgoingAttachment::is_from_message) {
            true => Provenance::untrusted("a file that came with an email"),
            false => Provenance::Trusted,
        };
        Preview { audience, provenance, ..preview }
    }
}

/// Builds the letter from the arguments.
pub(super) async fn compose_email(
    cx: &ToolContext,
    mailbox: &Mailbox,
    args: &Value,
    tool: &str,
) -> Result<ComposedEmail, ToolError> {
    let (asked, wanted): (EmailArguments, ExtraArguments) = (parse_arguments(args)?, parse_arguments(args)?);
    let letter = OutgoingEmail::new(&asked, tool, mailbox.address())?;
    let identity = Identities::fetch(mailbox).await?.choose(wanted.from.as_deref(), None)?;
    let attachments = outgoing_attachments::resolve_attachments(mailbox, &wanted.attach).await?;
    let letter = OutgoingEmail { attachments, ..letter.with_sender(&identity) };
    // An address that no one named here, or a name other than the person's name here, comes from Gmail's settings.
    let told = |name: &String| !name.eq_ignore_ascii_case(&cx.principal.name);
    let settings = (letter.account.is_some() && wanted.from.is_none())
        || letter.name.as_ref().is_some_and(told)
        || letter.reply_to.is_some();
    let of_mailbox = settings || letter.attachments.iter().any(OutgoingAttachment::is_from_message);
    Ok(ComposedEmail { email: letter, has_mailbox_content: of_mailbox })
}

/// Returns the draft that an earlier attempt of this effect left, if there is one.
pub(super) async fn find_draft_of_effect(
    mailbox: &Mailbox,
    key: EffectKey,
) -> Result<Option<Draft>, GoogleApiError> {
    let drafts = mailbox.list_drafts(MAX_SCANNED).await?;
    Ok(drafts.into_iter().find(|draft| {
        draft.message.as_ref().is_some_and(|message| carries(raw_header(message, EFFECT_HEADER), key))
    }))
}

/// Returns whether a header names this effect.
pub(super) fn carries(header: Option<&str>, key: EffectKey) -> bool {
    header.is_some_and(|value| value.trim() == key.id.to_string())
}

/// Returns the link with which the person opens it in the right one of their accounts.
pub(super) fn link(account: &str, place: &str) -> String {
    let account: String = url::form_urlencoded::byte_serialize(account.as_bytes()).collect();
    format!("https://mail.google.com/mail/?authuser={account}#{place}")
}
