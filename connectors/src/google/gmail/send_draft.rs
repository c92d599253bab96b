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

use super::letter::{Letter, Seen};
use super::mailbox::Mailbox;
use super::open_draft::{self, Now};
use super::send_email;
use crate::google::account::Accounts;
use crate::google::trouble::Trouble;
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
        let spec = super::spec(NAME, description, "Looking at the draft", Reach::Others, parameters);
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
        let (known, seen) = open_draft::handed(&mailbox, args).await?;
        let (letter, seen, by_hand) = match open_draft::now(&mailbox, &known, &seen).await? {
            Now::Same(letter, seen) => (letter, seen, false),
            Now::Changed(letter, seen) => (letter, seen, true),
            Now::Gone => return Err(ToolError::Conflict { current: Box::new(open_draft::gone(&seen)) }),
        };
        let text = open_draft::text(cx, &mailbox, &letter, &seen, by_hand)?;
        let letter = Letter { tool: NAME.to_owned(), draft: Some(seen), ..*letter };
        let preview = send_email::ask(&letter)?;
        Ok(Preview { audience: text.audience, provenance: text.provenance, ..preview })
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("body", fault.to_string())];
        let letter = Letter::approved(payload, NAME).map_err(broken)?.revised(filled, true)?;
        send_email::ask(&letter).map_err(broken)
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, _: EffectKey) -> Result<Value, ToolError> {
        let (letter, seen) = approved(payload)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        letter.of_this_account(&mailbox)?;
        let draft = mailbox.draft(&seen.id).await.map_err(Trouble::preparing)?;
        as_seen(&draft, &seen)?;
        send_email::handle(draft, cx.now)
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let (letter, seen) = approved(payload)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        // The first attempt follows right after `prepare`; later ones might follow other changes.
        if permit.key().attempt > 1 {
            let draft = mailbox.draft(&seen.id).await.map_err(Trouble::acting)?;
            as_seen(&draft, &seen)?;
        }
        let sent = send_email::send_letter(&mailbox, &letter, handle, permit.key()).await?;
        Ok(receipt(sent, &letter, seen))
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let (letter, seen) = approved(payload)?;
        let mailbox: Mailbox = self.accounts.mailbox(cx).await?;
        Ok(match send_email::find_letter(&mailbox, &letter, handle, key).await? {
            EffectLookup::Done(sent) => EffectLookup::Done(receipt(sent, &letter, seen)),
            other => other,
        })
    }
}

fn approved(payload: &Value) -> Result<(Letter, Seen), ToolError> {
    let letter = Letter::approved(payload, NAME)?;
    let seen = letter.draft.clone().ok_or_else(|| ToolError::internal("the approved mail names no draft"))?;
    Ok((letter, seen))
}

/// Rejects a draft that was changed since the card was shown: sending would discard that change.
fn as_seen(draft: &google_gmail1::api::Draft, seen: &Seen) -> Result<(), ToolError> {
    let version = draft.message.as_ref().and_then(|message| message.id.as_deref());
    if version == Some(&seen.version) {
        return Ok(());
    }
    let reason =
        "the draft was changed in Gmail after this card was shown. Say “send it” to see it as it is now";
    Err(ToolError::Forbidden { reason: reason.into() })
}

fn receipt(sent: ToolOutput, letter: &Letter, seen: Seen) -> ToolOutput {
    let words = format!("Sent {}.", letter.label());
    sent.with_verbatim(words)
        .with_follow_up(FollowUp::DraftClosed { draft: seen.id, reason: CloseReason::Sent })
}
