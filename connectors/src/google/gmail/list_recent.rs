//! `gmail_list_recent`: lists the newest mail of the inbox.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{message_list, parse_arguments};
use crate::google::account::Accounts;
use crate::google::scopes;

const DEFAULT_MAX: u32 = 10;

pub(super) struct ListRecent {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    max: Option<u32>,
}

impl ListRecent {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "max": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many; 10 if left out."},
            },
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_list_recent.md");
        let spec = super::spec("gmail_list_recent", description, "Checking mail", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ListRecent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        let ids = mailbox.list_message_ids(None, Some("INBOX"), asked.max.unwrap_or(DEFAULT_MAX)).await;
        message_list::list_messages(
            cx,
            &mailbox,
            ids.map_err(|trouble| trouble.into_read_error("the inbox"))?,
        )
        .await
    }
}
