//! `gmail_create_label`: creates a label in the person's own mailbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, Summary, ToolContext, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::mailbox::Mailbox;
use super::{labels, organise, parse_arguments};
use crate::google::account::Accounts;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_create_label";
/// Gmail's limit.
const MAX_NAME_CHARS: usize = 225;

pub(super) struct CreateLabel {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    name: String,
}

impl CreateLabel {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS,
                    "description": "As the person says it; a slash makes it a label inside another."},
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_create_label.md");
        let spec = super::spec(NAME, description, "Creating a label", Reach::OwnAccount, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for CreateLabel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: Arguments = parse_arguments(args)?;
        let name = asked.name.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(ToolError::invalid("a label needs a name on one line"));
        }
        let mailbox = organise::open_mailbox(&self.accounts, cx).await?;
        let account = mailbox.address().to_owned();
        let payload = json!({"schema": 1, "tool": NAME, "account": account, "name": name});
        Ok(Preview {
            fields: vec![("Account".into(), account.clone()), ("Label".into(), name.to_owned())],
            account,
            topic: Some(labels::normalize_name(name)),
            summary: Some(Summary::from_title(name, "a label", |what| format!("Make {what}"))),
            ..Preview::new(payload, "Create this label?", organise::action_labels("label"))
        })
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new(
            "name",
            "This can't be edited. Deny it and tell me what you'd like instead.",
        )])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, _: Permit) -> ToolResult {
        let mailbox = organise::open_mailbox(&self.accounts, cx).await?;
        let name = parse_payload(payload, &mailbox)?;
        if let Some(there) = find_label(&mailbox, name).await? {
            return Ok(label_output(cx, &there, "already existed"));
        }
        mailbox
            .create_label(name)
            .await
            .map_err(|trouble| trouble.into_repeatable_write_error("the label"))?;
        Ok(label_output(cx, name, "made"))
    }

    /// Any label of that name counts, regardless of who created it.
    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        _: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let mailbox = organise::open_mailbox(&self.accounts, cx).await?;
        let there = find_label(&mailbox, parse_payload(payload, &mailbox)?).await?;
        Ok(there.map_or(EffectLookup::NotDone, |name| EffectLookup::Done(label_output(cx, &name, "made"))))
    }
}

fn parse_payload<'a>(payload: &'a Value, mailbox: &Mailbox) -> Result<&'a str, ToolError> {
    organise::check_account(payload, mailbox)?;
    payload["name"].as_str().ok_or_else(|| ToolError::internal("the approved payload names no label"))
}

async fn find_label(mailbox: &Mailbox, name: &str) -> Result<Option<String>, ToolError> {
    let all = mailbox.list_labels().await.map_err(|trouble| trouble.into_read_error("the labels"))?;
    let same =
        |label: &labels::UserLabel| labels::normalize_name(&label.name) == labels::normalize_name(name);
    Ok(labels::list_user_labels(all).into_iter().find(same).map(|label| label.name))
}

fn label_output(cx: &ToolContext, name: &str, how: &str) -> ToolOutput {
    ToolOutput::trusted(json!({"status": how, "label": name})).private_to(cx.principal.person)
}
