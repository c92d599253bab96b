//! `gmail_update_draft`: changes an open draft in place. Gmail has no conditional update, so the draft is read right
//! before: if it changed since it was seen, it is not overwritten.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::open_draft::{self, DraftState};
use super::outgoing_email::{
    BODY_CHARS, DraftVersion, EmailArguments, MAX_RECIPIENTS, OutgoingEmail, SUBJECT_CHARS,
};
use super::{create_draft, outgoing_attachments, parse_arguments};
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_update_draft";

pub(super) struct UpdateDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

/// The arguments; fields that are left out stay unchanged.
#[derive(Deserialize)]
struct Arguments {
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    bcc: Option<Vec<String>>,
    subject: Option<String>,
    body: Option<String>,
}

impl UpdateDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_update_draft.md");
        let spec = super::spec(NAME, description, "Updating the draft", Reach::Drafts, parameters());
        Self { spec, accounts }
    }
}

fn parameters() -> Value {
    let recipients = json!({"type": "array", "maxItems": MAX_RECIPIENTS,
        "description": "The whole new list: addresses, or names of people.",
        "items": {"type": "string", "minLength": 1, "maxLength": 320, "format": "recipient"}});
    json!({
        "type": "object",
        "properties": {
            "draft": open_draft::argument(),
            "to": recipients,
            "cc": recipients,
            "bcc": recipients,
            "subject": {"type": "string", "maxLength": SUBJECT_CHARS},
            "body": {"type": "string", "minLength": 1, "maxLength": BODY_CHARS,
                "description": "The whole new text."},
        },
        "additionalProperties": false,
    })
}

#[async_trait]
impl ActTool for UpdateDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        let (known, seen) = open_draft::load_open_draft(&mailbox, args).await?;
        let letter = apply_change(known, seen, parse_arguments(args)?)?;
        letter.preview("Save this draft?", create_draft::action_labels(), false)
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("body", fault.to_string())];
        let letter = OutgoingEmail::from_payload(payload, NAME).map_err(broken)?.apply_form(filled, false)?;
        letter.preview("Save this draft?", create_draft::action_labels(), false).map_err(broken)
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        update_draft(cx, &self.accounts.mailbox(cx).await?, payload, permit.key()).await
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        find_updated(&self.accounts.mailbox(cx).await?, payload, key).await
    }
}

fn apply_change(
    known: OutgoingEmail,
    seen: DraftVersion,
    change: Arguments,
) -> Result<OutgoingEmail, ToolError> {
    let asked = EmailArguments {
        to: change.to.unwrap_or(known.to),
        cc: change.cc.unwrap_or(known.cc),
        bcc: change.bcc.unwrap_or(known.bcc),
        subject: change.subject.unwrap_or(known.subject),
        body: change.body.unwrap_or(known.body),
    };
    Ok(OutgoingEmail {
        name: known.name,
        reply_to: known.reply_to,
        account: known.account,
        signature: known.signature,
        quoted: known.quoted,
        attachments: known.attachments,
        reply: known.reply,
        draft: Some(seen),
        has_rich_formatting: known.has_rich_formatting,
        ..OutgoingEmail::new(&asked, NAME, &known.from)?
    })
}

async fn update_draft(cx: &ToolContext, mailbox: &Mailbox, payload: &Value, key: EffectKey) -> ToolResult {
    let letter = OutgoingEmail::from_payload(payload, NAME)?;
    let seen = letter.draft.clone().ok_or_else(|| ToolError::internal("the change names no draft"))?;
    let base = OutgoingEmail { draft: None, ..letter.clone() };
    match open_draft::check_state(mailbox, &base, &seen).await? {
        DraftState::Gone => return Ok(open_draft::gone_output(&seen)),
        // A newer version with exactly the new text is `Unchanged`: it needs no write, but is written again.
        DraftState::Changed(there, seen) => {
            return Err(open_draft::outdated_output(cx, mailbox, &there, &seen)?);
        }
        DraftState::Unchanged(..) => {}
    }
    let raw = outgoing_attachments::render_email(mailbox, &letter, cx.now, key).await?;
    let draft = mailbox
        .update_draft(&seen.id, raw, letter.thread())
        .await
        .map_err(GoogleApiError::into_write_error)?;
    open_draft::saved_output(mailbox, &OutgoingEmail { has_rich_formatting: false, ..letter }, &draft)
}

/// A draft with another header was not written by this effect, or was changed since; the next attempt finds out which.
async fn find_updated(mailbox: &Mailbox, payload: &Value, key: EffectKey) -> Result<EffectLookup, ToolError> {
    let letter = OutgoingEmail::from_payload(payload, NAME)?;
    letter.check_account(mailbox)?;
    let Some(seen) = &letter.draft else { return Err(ToolError::internal("the change names no draft")) };
    match open_draft::find_written_by(mailbox, &seen.id, key).await {
        Ok(Some(draft)) => {
            let letter = OutgoingEmail { has_rich_formatting: false, ..letter.clone() };
            open_draft::saved_output(mailbox, &letter, &draft).map(EffectLookup::Done)
        }
        Ok(None) => Ok(EffectLookup::NotDone),
        Err(trouble) if trouble.is_gone() => Ok(EffectLookup::Done(open_draft::gone_output(seen))),
        Err(trouble) => Err(trouble.into_read_error("the draft")),
    }
}
