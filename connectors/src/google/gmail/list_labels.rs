//! `gmail_list_labels`: lists the labels that the person created.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::tool::{Reach, ReadTool, ToolContext, ToolOutput, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::labels;
use crate::google::account::Accounts;

pub(super) struct ListLabels {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl ListLabels {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let description = include_str!("../../../prompts/gmail_list_labels.md");
        let doing = "Checking labels";
        let spec = super::spec("gmail_list_labels", description, doing, Reach::Reads, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ReadTool for ListLabels {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, _: &Value) -> ToolResult {
        let all = self.accounts.mailbox(cx).await?.list_labels().await;
        let all = labels::list_user_labels(all.map_err(|trouble| trouble.into_read_error("the labels"))?);
        let names: Vec<String> = all.into_iter().map(|label| label.name).collect();
        Ok(ToolOutput::trusted(json!({ "labels": names })).private_to(cx.principal.person))
    }
}
