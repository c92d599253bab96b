//! `gmail_send_email`: sends a mail once. No other module sends mail.
//!
//! The mail is first a draft that carries our own header; the effect sends that draft, with the approved bytes. So a
//! later lookup can decide: if the draft still exists, it was not sent; if a sent mail carries our header, it was sent.
//! If neither exists, the outcome is unknown, because people delete drafts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use google_gmail1::api::{Draft, Message};
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, ActionLabels, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::mailbox::Mailbox;
use super::message::{has_label, raw_header};
use super::mime::EFFECT_HEADER;
use super::outgoing_email::OutgoingEmail;
use super::{contacts, drafts, outgoing_attachments};
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_send_email";
const MESSAGE_ID: &str = "Message-ID";
/// The time limit for details of the receipt beyond "sent".
const RECEIPT_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct SendEmail {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

/// The draft that `prepare` left in Gmail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SendHandle {
    draft_id: String,
    message_id: Option<String>,
    thread_id: Option<String>,
    /// The date in the mail, the same for every attempt.
    date: Timestamp,
}

impl SendEmail {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_send_email.md");
        let spec = super::spec(NAME, description, "Writing an email", Reach::Others, drafts::parameters(1));
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for SendEmail {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        let written = drafts::compose_email(cx, &mailbox, args, NAME).await?;
        let preview = written.with_provenance(cx, approval_preview(&written.email)?);
        Ok(add_first_contacts(&mailbox, preview).await)
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
        email_preview(&letter).map_err(broken)
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError> {
        prepare_payload(cx, &self.accounts.mailbox(cx).await?, payload, key).await
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        send_payload(&self.accounts.mailbox(cx).await?, payload, handle, permit.key()).await
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        find_sent(&self.accounts.mailbox(cx).await?, payload, handle, key).await
    }
}

/// Adds to whom outside the organisation it would be the first mail.
pub(super) async fn add_first_contacts(mailbox: &Mailbox, preview: Preview) -> Preview {
    let first = contacts::find_never_written_to(mailbox, &preview.recipients).await;
    Preview { never_written_to: first, ..preview }
}

/// Returns what the person sees before a letter is sent.
pub(super) fn approval_preview(letter: &OutgoingEmail) -> Result<Preview, ToolError> {
    if letter.all_recipients().next().is_none() {
        return Err(ToolError::invalid("an email needs at least one recipient"));
    }
    email_preview(letter)
}

fn email_preview(letter: &OutgoingEmail) -> Result<Preview, ToolError> {
    let words = ActionLabels {
        approve: "Approve & send".into(),
        in_progress: "Sending…".into(),
        done: "Sent".into(),
        not_done: "Not sent".into(),
        noun: "email".into(),
    };
    letter.preview("Send this email?", words, true)
}

pub(super) async fn prepare_payload(
    cx: &ToolContext,
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> Result<Value, ToolError> {
    prepare_email(cx, mailbox, &OutgoingEmail::from_payload(payload, NAME)?, key).await
}

/// Creates the draft that is sent later.
pub(super) async fn prepare_email(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    key: EffectKey,
) -> Result<Value, ToolError> {
    letter.check_account(mailbox)?;
    let left = match key.attempt {
        0 | 1 => None,
        _ => drafts::find_draft_of_effect(mailbox, key).await.map_err(GoogleApiError::into_prepare_error)?,
    };
    let draft = match left {
        Some(draft) => draft,
        None => {
            let raw = outgoing_attachments::render_email(mailbox, letter, cx.now, key).await?;
            mailbox.create_draft(raw, letter.thread()).await.map_err(GoogleApiError::into_prepare_error)?
        }
    };
    encode_send_handle(draft, cx.now)
}

/// Returns the handle of the draft to send.
pub(super) fn encode_send_handle(draft: Draft, date: Timestamp) -> Result<Value, ToolError> {
    let handle = SendHandle::from_draft(draft, date)?;
    serde_json::to_value(handle).map_err(|error| ToolError::internal(error.to_string()))
}

/// Sends the draft with the approved bytes, so a later edit in Gmail cannot be sent by mistake.
pub(super) async fn send_payload(
    mailbox: &Mailbox,
    payload: &Value,
    handle: &Value,
    key: EffectKey,
) -> ToolResult {
    send_email(mailbox, &OutgoingEmail::from_payload(payload, NAME)?, handle, key).await
}

pub(super) async fn send_email(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    handle: &Value,
    key: EffectKey,
) -> ToolResult {
    letter.check_account(mailbox)?;
    let handle = SendHandle::read(handle)?;
    let raw = outgoing_attachments::render_email(mailbox, letter, handle.date, key).await?;
    let sent = mailbox.send_draft(&handle.draft_id, raw, letter.thread()).await;
    let sent = sent.map_err(GoogleApiError::into_write_error)?;
    // Only for the receipt: the mail is sent, even if this lookup fails.
    let id = sent.id.as_deref().unwrap_or_default();
    let known = timeout(RECEIPT_TIMEOUT, mailbox.fetch_headers(id, &[MESSAGE_ID])).await;
    let known = known.ok().and_then(Result::ok).unwrap_or_default();
    Ok(receipt(mailbox, letter, &sent, raw_header(&known, MESSAGE_ID)))
}

pub(super) async fn find_sent(
    mailbox: &Mailbox,
    payload: &Value,
    handle: &Value,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    find_sent_email(mailbox, &OutgoingEmail::from_payload(payload, NAME)?, handle, key).await
}

pub(super) async fn find_sent_email(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    handle: &Value,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    if letter.check_account(mailbox).is_err() {
        // The current account is only for its owner, and everyone sees this text on the card.
        let from = letter.account();
        return Ok(EffectLookup::Inconclusive(format!("couldn't check: {from} isn't connected any more")));
    }
    let handle = SendHandle::read(handle)?;
    let looking = |trouble: GoogleApiError| trouble.into_read_error("the mail");
    let done =
        |sent: Message| EffectLookup::Done(receipt(mailbox, letter, &sent, raw_header(&sent, MESSAGE_ID)));
    match mailbox.fetch_draft(&handle.draft_id).await {
        Ok(_) => {
            let copy = find_in_thread(mailbox, &handle, key).await.map_err(looking)?;
            return Ok(copy.map_or(EffectLookup::NotDone, done));
        }
        Err(trouble) if trouble.is_gone() => {}
        Err(trouble) => return Err(looking(trouble)),
    }
    // The search lags behind; the caller looks again a few times before it asks a person.
    let copy = find_in_sent_mail(mailbox, &handle, key).await.map_err(looking)?;
    let unsettled =
        || EffectLookup::Inconclusive("checked the draft, its thread and your Sent folder".into());
    Ok(copy.map_or_else(unsettled, done))
}

async fn find_in_sent_mail(
    mailbox: &Mailbox,
    handle: &SendHandle,
    key: EffectKey,
) -> Result<Option<Message>, GoogleApiError> {
    if let Some(copy) = find_in_thread(mailbox, handle, key).await? {
        return Ok(Some(copy));
    }
    let newest = mailbox.list_message_ids(None, Some("SENT"), drafts::MAX_SCANNED).await?;
    let sent = mailbox.fetch_all_headers(newest, &[EFFECT_HEADER, MESSAGE_ID]).await?;
    Ok(sent.into_iter().find(|message| is_copy(message, key)))
}

async fn find_in_thread(
    mailbox: &Mailbox,
    handle: &SendHandle,
    key: EffectKey,
) -> Result<Option<Message>, GoogleApiError> {
    let Some(thread) = &handle.thread_id else { return Ok(None) };
    match mailbox.fetch_thread(thread, Some(&[EFFECT_HEADER, MESSAGE_ID])).await {
        Ok(thread) => Ok(thread.messages.into_iter().flatten().find(|message| is_copy(message, key))),
        // The thread was deleted with the draft.
        Err(trouble) if trouble.is_gone() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

fn is_copy(message: &Message, key: EffectKey) -> bool {
    has_label(message, "SENT") && drafts::carries(raw_header(message, EFFECT_HEADER), key)
}

/// Reports what was sent to whom, and nothing from the mailbox.
fn receipt(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    sent: &Message,
    message_id: Option<&str>,
) -> ToolOutput {
    let id = sent.id.as_deref();
    let mut content = json!({
        "status": "sent",
        "id": id,
        "thread_id": sent.thread_id,
        "link": drafts::link(mailbox.address(), &id.map_or_else(|| "sent".into(), |id| format!("all/{id}"))),
        "to": letter.to,
    });
    if let Some(message_id) = message_id {
        content["message_id"] = json!(message_id);
    }
    ToolOutput::trusted(content)
}

impl SendHandle {
    fn from_draft(draft: Draft, date: Timestamp) -> Result<Self, ToolError> {
        let message = draft.message.unwrap_or_default();
        let draft_id =
            draft.id.ok_or_else(|| ToolError::internal("Gmail saved the draft but didn't tell me where"))?;
        Ok(Self { draft_id, message_id: message.id, thread_id: message.thread_id, date })
    }

    fn read(handle: &Value) -> Result<Self, ToolError> {
        Self::deserialize(handle)
            .map_err(|error| ToolError::internal(format!("the effect's handle cannot be read: {error}")))
    }
}
