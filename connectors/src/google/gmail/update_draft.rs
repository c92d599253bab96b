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

use super::letter::{Asked, BODY_CHARS, Letter, MOST_RECIPIENTS, SUBJECT_CHARS, Seen};
use super::mailbox::Mailbox;
use super::open_draft::{self, Now};
use super::{arguments, create_draft, files};
use crate::google::account::Accounts;
use crate::google::trouble::Trouble;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_update_draft";

pub(super) struct UpdateDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

/// The arguments; fields that are left out stay unchanged.
#[derive(Deserialize)]
struct Change {
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    bcc: Option<Vec<String>>,
    subject: Option<String>,
    body: Option<String>,
}

impl UpdateDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_update_draft.md");
        let spec = super::spec(NAME, description, "Changing the draft", Reach::Drafts, parameters());
        Self { spec, accounts }
    }
}

fn parameters() -> Value {
    let recipients = json!({"type": "array", "maxItems": MOST_RECIPIENTS,
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
        let (known, seen) = open_draft::handed(&mailbox, args).await?;
        let letter = changed(known, seen, arguments(args)?)?;
        letter.preview("Save this draft?", create_draft::words(), false)
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("body", fault.to_string())];
        let letter = Letter::approved(payload, NAME).map_err(broken)?.revised(filled, false)?;
        letter.preview("Save this draft?", create_draft::words(), false).map_err(broken)
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        update(cx, &self.accounts.mailbox(cx).await?, payload, permit.key()).await
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        find(&self.accounts.mailbox(cx).await?, payload, key).await
    }
}

fn changed(known: Letter, seen: Seen, change: Change) -> Result<Letter, ToolError> {
    let asked = Asked {
        to: change.to.unwrap_or(known.to),
        cc: change.cc.unwrap_or(known.cc),
        bcc: change.bcc.unwrap_or(known.bcc),
        subject: change.subject.unwrap_or(known.subject),
        body: change.body.unwrap_or(known.body),
    };
    Ok(Letter {
        name: known.name,
        reply_to: known.reply_to,
        account: known.account,
        signature: known.signature,
        quoted: known.quoted,
        attachments: known.attachments,
        reply: known.reply,
        draft: Some(seen),
        formatted: known.formatted,
        ..Letter::new(&asked, NAME, &known.from)?
    })
}

async fn update(cx: &ToolContext, mailbox: &Mailbox, payload: &Value, key: EffectKey) -> ToolResult {
    let letter = Letter::approved(payload, NAME)?;
    let seen = letter.draft.clone().ok_or_else(|| ToolError::internal("the change names no draft"))?;
    let base = Letter { draft: None, ..letter.clone() };
    match open_draft::now(mailbox, &base, &seen).await? {
        Now::Gone => return Ok(open_draft::gone(&seen)),
        // A newer version with exactly the new text is `Same`: it needs no write, but is written again.
        Now::Changed(there, seen) => return Err(open_draft::outdated(cx, mailbox, &there, &seen)?),
        Now::Same(..) => {}
    }
    let raw = files::raw(mailbox, &letter, cx.now, key).await?;
    let draft = mailbox.update_draft(&seen.id, raw, letter.thread()).await.map_err(Trouble::acting)?;
    open_draft::saved(mailbox, &Letter { formatted: false, ..letter }, &draft)
}

/// A draft with another header was not written by this effect, or was changed since; the next attempt finds out which.
async fn find(mailbox: &Mailbox, payload: &Value, key: EffectKey) -> Result<EffectLookup, ToolError> {
    let letter = Letter::approved(payload, NAME)?;
    letter.of_this_account(mailbox)?;
    let Some(seen) = &letter.draft else { return Err(ToolError::internal("the change names no draft")) };
    match open_draft::carries(mailbox, &seen.id, key).await {
        Ok(Some(draft)) => {
            let letter = Letter { formatted: false, ..letter.clone() };
            open_draft::saved(mailbox, &letter, &draft).map(EffectLookup::Done)
        }
        Ok(None) => Ok(EffectLookup::NotDone),
        Err(trouble) if trouble.is_gone() => Ok(EffectLookup::Done(open_draft::gone(seen))),
        Err(trouble) => Err(trouble.looking("the draft")),
    }
}
