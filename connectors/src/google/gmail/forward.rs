//! `gmail_forward`: forwards a mail with its files to other people, below a few words of the person. The person names
//! the recipients; everything else is read from the mail.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::identity::Identities;
use super::mailbox::Mailbox;
use super::message::{Body, has_label, header, sender};
use super::outgoing_email::{BODY_CHARS, EmailArguments, MAX_RECIPIENTS, OutgoingEmail, Reply};
use super::{outgoing_attachments, parse_arguments, quote, reply, send_email};
use crate::google::account::Accounts;
use crate::google::reading;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_forward";

pub(super) struct Forward {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    thread_id: String,
    message_id: Option<String>,
    to: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    bcc: Vec<String>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    without_files: bool,
    from: Option<String>,
}

impl Forward {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_forward.md");
        let spec = super::spec(NAME, description, "Reading that email", Reach::Others, parameters());
        Self { spec, accounts }
    }
}

fn parameters() -> Value {
    let id = |what: &str| json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": what});
    let recipients = |least: usize| {
        json!({"type": "array", "minItems": least, "maxItems": MAX_RECIPIENTS,
            "description": "People that the person named, and nobody else: addresses, or names.",
            "items": {"type": "string", "minLength": 1, "maxLength": 320, "format": "recipient"}})
    };
    json!({
        "type": "object",
        "properties": {
            "thread_id": id("The thread with the mail: from a hint, or from a tool that lists or reads mail."),
            "message_id": id("Which mail of the thread; the newest if left out."),
            "to": recipients(1),
            "cc": recipients(0),
            "bcc": recipients(0),
            "body": {"type": "string", "maxLength": BODY_CHARS,
                "description": "The person's own words above it; empty if they gave none."},
            "without_files": {"type": "boolean", "description": "Leaves out the mail's files; false if left out."},
            "from": reply::sender_schema(),
        },
        "required": ["thread_id", "to"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl ActTool for Forward {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let wanted: Arguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        let (letter, source) = compose_forward(cx, &mailbox, wanted).await?;
        let preview = Preview {
            audience: Audience::Person(cx.principal.person),
            provenance: Provenance::untrusted(source),
            ..send_email::approval_preview(&letter)?
        };
        Ok(send_email::add_first_contacts(&mailbox, preview).await)
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("body", fault.to_string())];
        let letter = OutgoingEmail::from_payload(payload, NAME).map_err(broken)?.apply_form(filled, true)?;
        send_email::approval_preview(&letter).map_err(broken)
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        send_email::prepare_email(cx, &mailbox, &OutgoingEmail::from_payload(payload, NAME)?, key).await
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let mailbox = self.accounts.mailbox(cx).await?;
        send_email::send_email(&mailbox, &OutgoingEmail::from_payload(payload, NAME)?, handle, permit.key())
            .await
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        send_email::find_sent_email(&mailbox, &OutgoingEmail::from_payload(payload, NAME)?, handle, key).await
    }
}

async fn compose_forward(
    cx: &ToolContext,
    mailbox: &Mailbox,
    wanted: Arguments,
) -> Result<(OutgoingEmail, String), ToolError> {
    let mail = match &wanted.message_id {
        Some(id) => {
            mailbox.fetch_message(id).await.map_err(|trouble| trouble.into_read_error("that email"))?
        }
        None => reply::fetch_newest(mailbox, &wanted.thread_id).await?,
    };
    if has_label(&mail, "DRAFT") || mail.thread_id.as_deref() != Some(&wanted.thread_id) {
        return Err(ToolError::NotFound { what: "that email".into() });
    }
    let from = sender(&mail).unwrap_or_else(|| "an unknown sender".to_owned());
    let identity = Identities::fetch(mailbox).await?.choose(wanted.from.as_deref(), Some(&mail))?;
    let subject = reply::header_line(&header(&mail, "Subject"));
    let asked = EmailArguments {
        to: wanted.to,
        cc: wanted.cc,
        bcc: wanted.bcc,
        subject: forward_subject(&subject),
        body: wanted.body,
    };
    let attachments = if wanted.without_files {
        Vec::new()
    } else {
        outgoing_attachments::list_from_message(mailbox, &mail).await?
    };
    let body = Body::read(&mail, &mut mailbox.reading().open_session()).await;
    let unread = |unread| {
        reading::to_tool_error(unread, "that mail cannot be read safely; forward it in Gmail itself")
    };
    let letter = OutgoingEmail {
        quoted: Some(quote::quote_for_forward(&mail, &body.map_err(unread)?, &from, &cx.principal.zone)?),
        attachments,
        // Gmail keeps a forward in the thread of the forwarded mail.
        reply: Some(Reply {
            reply_to: None,
            forwards: true,
            ..reply::reply_headers(&mail, wanted.thread_id, &subject, &from)
        }),
        ..OutgoingEmail::new(&asked, NAME, mailbox.address())?.with_sender(&identity)
    };
    Ok((letter, format!("an email from {from}")))
}

/// Adds the prefix once; prefixes in other languages count too.
fn forward_subject(of: &str) -> String {
    let said = ["fwd:", "fw:", "wg:", "tr:", "rv:", "vb:"];
    let start = of.to_lowercase();
    match said.iter().any(|prefix| start.starts_with(prefix)) {
        true => of.to_owned(),
        false => format!("Fwd: {of}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_says_fwd_once() {
        assert_eq!(forward_subject("Terms"), "Fwd: Terms");
        assert_eq!(forward_subject("Re: Terms"), "Fwd: Re: Terms");
        assert_eq!(forward_subject("FW: Terms"), "FW: Terms");
        assert_eq!(forward_subject("WG: Terms"), "WG: Terms");
    }
}
