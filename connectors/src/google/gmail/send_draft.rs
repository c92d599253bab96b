//! `gmail_send_draft`: sends the open draft exactly as the person saw it on the card.
//!
//! The draft is the key, as with every mail: if it still exists, it was not sent, and it can be sent only once.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, FollowUp, Preview, Reach, ToolContext, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::open_draft::{self, DraftState};
use super::outgoing_email::{DraftVersion, OutgoingEmail};
use super::{send_email, update_draft};
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::draft::CloseReason;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_send_draft";

pub(super) struct SendDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl SendDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object", "properties": {"draft": open_draft::argument()}, "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_send_draft.md");
        let spec = super::spec(NAME, description, "Checking the draft", Reach::Others, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for SendDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Shows the newest text, including changes made by hand.
    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        let (known, seen) = open_draft::load_open_draft(&mailbox, args).await?;
        let (letter, seen, by_hand) = match open_draft::check_state(&mailbox, &known, &seen).await? {
            DraftState::Unchanged(letter, seen) => (letter, seen, false),
            DraftState::Changed(letter, seen) => (letter, seen, true),
            DraftState::Gone => {
                return Err(ToolError::Conflict { current: Box::new(open_draft::gone_output(&seen)) });
            }
        };
        let text = open_draft::draft_output(cx, &mailbox, &letter, &seen, by_hand)?;
        let letter = OutgoingEmail { tool: NAME.to_owned(), draft: Some(seen), ..*letter };
        let preview = send_email::approval_preview(&letter)?;
        let preview = Preview { audience: text.audience, provenance: text.provenance, ..preview };
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

    /// The draft is changed in place, unless it was changed by hand since.
    fn keep(&self, payload: &Value) -> Option<(&'static str, Value)> {
        let letter = OutgoingEmail::from_payload(payload, NAME).ok()?;
        let kept = OutgoingEmail { tool: update_draft::NAME.to_owned(), ..letter };
        Some((update_draft::NAME, kept.payload().ok()?))
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, _: EffectKey) -> Result<Value, ToolError> {
        let (letter, seen) = parse_payload(payload)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        letter.check_account(&mailbox)?;
        let draft = mailbox.fetch_draft(&seen.id).await.map_err(GoogleApiError::into_prepare_error)?;
        check_unchanged(&draft, &seen)?;
        send_email::encode_send_handle(draft, cx.now)
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let (letter, seen) = parse_payload(payload)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        // The first attempt follows right after `prepare`; later ones might follow other changes.
        if permit.key().attempt > 1 {
            let draft = mailbox.fetch_draft(&seen.id).await.map_err(GoogleApiError::into_write_error)?;
            check_unchanged(&draft, &seen)?;
        }
        let sent = send_email::send_email(&mailbox, &letter, handle, permit.key()).await?;
        Ok(receipt(sent, &letter, seen))
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let (letter, seen) = parse_payload(payload)?;
        let mailbox: Mailbox = self.accounts.mailbox(cx).await?;
        Ok(match send_email::find_sent_email(&mailbox, &letter, handle, key).await? {
            EffectLookup::Done(sent) => EffectLookup::Done(receipt(sent, &letter, seen)),
            other => other,
        })
    }
}

fn parse_payload(payload: &Value) -> Result<(OutgoingEmail, DraftVersion), ToolError> {
    let letter = OutgoingEmail::from_payload(payload, NAME)?;
    let seen = letter.draft.clone().ok_or_else(|| ToolError::internal("the approved mail names no draft"))?;
    Ok((letter, seen))
}

/// Rejects a draft that was changed since the card was shown: sending would discard that change.
fn check_unchanged(draft: &google_gmail1::api::Draft, seen: &DraftVersion) -> Result<(), ToolError> {
    let version = draft.message.as_ref().and_then(|message| message.id.as_deref());
    if version == Some(&seen.version) {
        return Ok(());
    }
    let reason =
        "the draft was changed in Gmail after this card was shown. Say “send it” to see the new version";
    Err(ToolError::Forbidden { reason: reason.into() })
}

fn receipt(sent: ToolOutput, letter: &OutgoingEmail, seen: DraftVersion) -> ToolOutput {
    let words = format!("Sent {}.", letter.short_label());
    sent.with_verbatim(words)
        .with_follow_up(FollowUp::DraftClosed { draft: seen.id, reason: CloseReason::Sent })
}
