//! `gmail_read_draft`: reads the current state of an open draft in Gmail.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::open_draft::{self, DraftState};
use crate::google::account::Accounts;
use crate::google::scopes;

pub(super) const NAME: &str = "gmail_read_draft";

pub(super) struct ReadDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl ReadDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object", "properties": {"draft": open_draft::argument()}, "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_read_draft.md");
        let spec = super::spec(NAME, description, "Reading the draft", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ReadDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        let (letter, seen) = open_draft::load_open_draft(&mailbox, args).await?;
        match open_draft::check_state(&mailbox, &letter, &seen).await? {
            DraftState::Unchanged(letter, seen) => {
                open_draft::draft_output(cx, &mailbox, &letter, &seen, false)
            }
            DraftState::Changed(letter, seen) => open_draft::draft_output(cx, &mailbox, &letter, &seen, true),
            DraftState::Gone => Ok(open_draft::gone_output(&seen)),
        }
    }
}
