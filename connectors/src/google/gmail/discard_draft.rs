//! `gmail_discard_draft`: deletes an open draft, unless it has changes that the person has not seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, ActionLabels, EffectLookup, FieldValue, FollowUp, Preview, Reach, Summary, ToolContext,
    ToolError, ToolOutput, ToolResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::open_draft::{self, DraftState};
use super::outgoing_email::{DraftVersion, OutgoingEmail};
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::draft::{CloseReason, Draft as Open};
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_discard_draft";

pub(super) struct DiscardDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl DiscardDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object", "properties": {"draft": open_draft::argument()}, "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_discard_draft.md");
        let spec = super::spec(NAME, description, "Discarding the draft", Reach::Drafts, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for DiscardDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, _: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let open = Open::from_payload(args).map_err(|error| ToolError::internal(error.to_string()))?;
        let words = ActionLabels {
            approve: "Approve & discard".into(),
            in_progress: "Discarding…".into(),
            done: "Discarded".into(),
            not_done: "Not discarded".into(),
            noun: "draft".into(),
        };
        let letter = OutgoingEmail::deserialize(&open.content)
            .map_err(|error| ToolError::internal(error.to_string()))?;
        let payload = open.payload();
        Ok(Preview {
            summary: Some(Summary::from_title(&letter.subject, "a draft", |what| {
                format!("Throw away {what}")
            })),
            fields: open.fields,
            body: Some(open.body),
            account: letter.account().to_owned(),
            draft: Some(open.id),
            ..Preview::new(payload, "Discard this draft?", words)
        })
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new("body", "There's nothing to edit here.")])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, _: Permit) -> ToolResult {
        let mailbox = self.accounts.mailbox(cx).await?;
        let (letter, seen) = open_draft::load_open_draft(&mailbox, payload).await?;
        match open_draft::check_state(&mailbox, &letter, &seen).await? {
            DraftState::Gone => return Ok(open_draft::gone_output(&seen)),
            DraftState::Changed(letter, seen) => {
                return Err(open_draft::outdated_output(cx, &mailbox, &letter, &seen)?);
            }
            DraftState::Unchanged(..) => {}
        }
        mailbox.delete_draft(&seen.id).await.map_err(GoogleApiError::into_write_error)?;
        Ok(discarded_output(&seen))
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        _: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let (_, seen) = open_draft::parse_draft(payload)?;
        match self.accounts.mailbox(cx).await?.fetch_draft(&seen.id).await {
            Ok(_) => Ok(EffectLookup::NotDone),
            // Deleted by us, or by hand a moment before. That cannot be known, so the answer claims neither.
            Err(trouble) if trouble.is_gone() => Ok(EffectLookup::Done(no_more(&seen))),
            Err(trouble) => Err(trouble.into_read_error("the draft")),
        }
    }
}

fn no_more(seen: &DraftVersion) -> ToolOutput {
    ToolOutput::trusted(json!({"status": "gone", "id": seen.id}))
        .with_verbatim("That draft isn't in Gmail any more.")
        .with_follow_up(FollowUp::DraftClosed {
            draft: seen.id.clone(),
            reason: CloseReason::DeletedExternally,
        })
}

fn discarded_output(seen: &DraftVersion) -> ToolOutput {
    ToolOutput::trusted(json!({"status": "discarded", "id": seen.id}))
        .with_verbatim("Draft discarded. It wasn't sent.")
        .with_follow_up(FollowUp::DraftClosed { draft: seen.id.clone(), reason: CloseReason::Discarded })
}
