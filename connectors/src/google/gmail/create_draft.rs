//! `gmail_create_draft`: creates a draft in the person's own mailbox. It is sent to no one, and stays open for changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, ActionLabels, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolResult,
    ToolSpec,
};
use serde_json::{Value, json};

use super::letter::Letter;
use super::mailbox::Mailbox;
use super::{drafts, files, open_draft};
use crate::google::account::Accounts;
use crate::google::trouble::Trouble;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_create_draft";

pub(super) struct CreateDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CreateDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_create_draft.md");
        let spec = super::spec(NAME, description, "Writing a draft", Reach::Drafts, drafts::parameters(0));
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for CreateDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let mailbox = self.accounts.mailbox(cx).await?;
        let written = drafts::written(cx, &mailbox, args, NAME).await?;
        let preview = written.letter.preview("Save this draft?", words(), false)?;
        Ok(written.sourced(cx, preview))
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
        letter.preview("Save this draft?", words(), false).map_err(broken)
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        create(cx, &self.accounts.mailbox(cx).await?, payload, permit.key()).await
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

pub(super) fn words() -> ActionLabels {
    ActionLabels {
        approve: "Save draft".into(),
        in_progress: "Saving…".into(),
        done: "Saved".into(),
        not_done: "Not saved".into(),
        noun: "draft".into(),
        recipient_noun: "mail".into(),
    }
}

pub(super) async fn create(
    cx: &ToolContext,
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> ToolResult {
    create_letter(cx, mailbox, &Letter::approved(payload, NAME)?, key).await
}

pub(super) async fn create_letter(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &Letter,
    key: EffectKey,
) -> ToolResult {
    letter.of_this_account(mailbox)?;
    let raw = files::raw(mailbox, letter, cx.now, key).await?;
    let draft = mailbox.create_draft(raw, letter.thread()).await.map_err(Trouble::acting)?;
    open_draft::saved(mailbox, letter, &draft)
}

pub(super) async fn find(
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    find_letter(mailbox, &Letter::approved(payload, NAME)?, key).await
}

/// A second draft in the person's own mailbox does no harm, so a draft that is not among the newest counts as absent.
pub(super) async fn find_letter(
    mailbox: &Mailbox,
    letter: &Letter,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    letter.of_this_account(mailbox)?;
    let found = drafts::left_by(mailbox, key).await.map_err(|trouble| trouble.looking("the drafts"))?;
    found.map_or(Ok(EffectLookup::NotDone), |draft| {
        open_draft::saved(mailbox, letter, &draft).map(EffectLookup::Done)
    })
}
