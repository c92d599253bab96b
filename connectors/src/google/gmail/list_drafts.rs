//! `gmail_list_drafts` and `gmail_open_draft`: lists the drafts in the person's mailbox, including those made by hand,
//! and opens one of them, so that it can be changed, sent or deleted like any other.

use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::{Draft, Message};
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::message::{header, raw_header};
use super::search_dates::received_at;
use super::{open_draft, parse_arguments};
use crate::google::account::Accounts;

const DEFAULT_MAX: u32 = 10;

/// Lists the drafts.
pub(super) struct ListDrafts {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

/// Opens a draft.
pub(super) struct OpenDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct ListArguments {
    max: Option<u32>,
}

#[derive(Deserialize)]
struct OpenArguments {
    draft_id: String,
}

impl ListDrafts {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "max": {"type": "integer", "minimum": 1, "maximum": 25, "description": "How many; 10 if left out."},
            },
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_list_drafts.md");
        let spec = super::spec("gmail_list_drafts", description, "Checking drafts", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

impl OpenDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "draft_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                    "description": "From gmail_list_drafts."},
            },
            "required": ["draft_id"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_open_draft.md");
        let spec =
            super::spec("gmail_open_draft", description, "Reading that draft", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ListDrafts {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: ListArguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        let drafts = mailbox.list_drafts(asked.max.unwrap_or(DEFAULT_MAX)).await;
        let drafts = drafts.map_err(|trouble| trouble.into_read_error("the drafts"))?;
        let answers = drafts.iter().any(|draft| draft.message.as_ref().is_some_and(answers));
        let content = json!({ "drafts": drafts.iter().map(|draft| summary(draft, cx)).collect::<Vec<_>>() });
        let provenance = match answers {
            true => Provenance::untrusted("drafts that reply to email"),
            false => Provenance::Trusted,
        };
        Ok(ToolOutput::trusted(content).with_provenance(provenance).private_to(cx.principal.person))
    }
}

#[async_trait]
impl ReadTool for OpenDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let wanted: OpenArguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        let draft = mailbox.fetch_raw_draft(&wanted.draft_id).await;
        let draft: Draft = draft.map_err(|trouble| trouble.into_read_error("that draft"))?;
        let (letter, seen) = open_draft::open_from_mailbox(&mailbox, &wanted.draft_id, draft).await?;
        let mut output = open_draft::draft_output(cx, &mailbox, &letter, &seen, true)?;
        let content =
            output.content.as_object_mut().ok_or_else(|| ToolError::internal("a draft is not an object"))?;
        content.remove("changed");
        Ok(output)
    }
}

/// Returns whether the draft is an answer; its subject then comes from another person.
fn answers(message: &Message) -> bool {
    raw_header(message, "In-Reply-To").is_some()
}

fn summary(draft: &Draft, cx: &ToolContext) -> Value {
    let message = draft.message.clone().unwrap_or_default();
    json!({
        "draft_id": draft.id,
        "to": header(&message, "To"),
        "subject": header(&message, "Subject"),
        "at": received_at(&message, cx),
    })
}
