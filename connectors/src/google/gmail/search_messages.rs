//! `gmail_search_messages`: searches with Gmail's own search.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{message_list, parse_arguments, search_dates};
use crate::google::account::Accounts;
use crate::google::scopes;

const DEFAULT_MAX: u32 = 10;

pub(super) struct SearchMessages {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    max: Option<u32>,
}

impl SearchMessages {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 500,
                    "description": "In Gmail's search syntax."},
                "max": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many; 10 if left out."},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_search_messages.md");
        let spec =
            super::spec("gmail_search_messages", description, "Searching mail", Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for SearchMessages {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked: Arguments = parse_arguments(args)?;
        let query = search_dates::resolve_dates(&asked.query, &search_dates::zone(&cx.principal))?;
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        let ids = mailbox.list_message_ids(Some(&query), None, asked.max.unwrap_or(DEFAULT_MAX)).await;
        message_list::list_messages(
            cx,
            &mailbox,
            ids.map_err(|trouble| trouble.into_read_error("the search"))?,
        )
        .await
    }
}
