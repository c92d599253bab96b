//! `gmail_read_draft`: reads the current state of an open draft in Gmail.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::open_draft::{self, Now};
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
        let mailbox = self.accounts.mailbox_with(cx, &[scopes::READONLY]).await?;
        let (letter, seen) = open_draft::handed(&mailbox, args).await?;
        match open_draft::now(&mailbox, &letter, &seen).await? {
            Now::Same(letter, seen) => open_draft::text(cx, &mailbox, &letter, &seen, false),
            Now::Changed(letter, seen) => open_draft::text(cx, &mailbox, &letter, &seen, true),
            Now::Gone => Ok(open_draft::gone(&seen)),
        }
    }
}
