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

use super::mailbox::Mailbox;
use super::outgoing_email::OutgoingEmail;
use super::{drafts, open_draft, outgoing_attachments};
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
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
        let written = drafts::compose_email(cx, &mailbox, args, NAME).await?;
        let preview = written.email.preview("Save this draft?", action_labels(), false)?;
        Ok(written.with_provenance(cx, preview))
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
        letter.preview("Save this draft?", action_labels(), false).map_err(broken)
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        create_from_payload(cx, &self.accounts.mailbox(cx).await?, payload, permit.key()).await
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        find_by_payload(&self.accounts.mailbox(cx).await?, payload, key).await
    }
}

pub(super) fn action_labels() -> ActionLabels {
    ActionLabels {
        approve: "Approve & save draft".into(),
        in_progress: "Saving…".into(),
        done: "Saved".into(),
        not_done: "Not saved".into(),
        noun: "draft".into(),
    }
}

pub(super) async fn create_from_payload(
    cx: &ToolContext,
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> ToolResult {
    create_from_email(cx, mailbox, &OutgoingEmail::from_payload(payload, NAME)?, key).await
}

pub(super) async fn create_from_email(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    key: EffectKey,
) -> ToolResult {
    letter.check_account(mailbox)?;
    let raw = outgoing_attachments::render_email(mailbox, letter, cx.now, key).await?;
    let draft = mailbox.create_draft(raw, letter.thread()).await.map_err(GoogleApiError::into_write_error)?;
    open_draft::saved_output(mailbox, letter, &draft)
}

pub(super) async fn find_by_payload(
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    find_created_draft(mailbox, &OutgoingEmail::from_payload(payload, NAME)?, key).await
}

/// A second draft in the person's own mailbox does no harm, so a draft that is not among the newest counts as absent.
pub(super) async fn find_created_draft(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    key: EffectKey,
) -> Result<EffectLookup, ToolError> {
    letter.check_account(mailbox)?;
    let found = drafts::find_draft_of_effect(mailbox, key)
        .await
        .map_err(|trouble| trouble.into_read_error("the drafts"))?;
    found.map_or(Ok(EffectLookup::NotDone), |draft| {
        open_draft::saved_output(mailbox, letter, &draft).map(EffectLookup::Done)
    })
}
