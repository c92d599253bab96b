//! Wraps every tool where accounts are delegated: says that the tool worked with the organisation's account, and sends
//! no one to a connect link who has nothing to connect.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use nod_accounts::connection::DelegatedAccount;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, ReadTool, Tool, ToolContext, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use serde_json::Value;

use super::delegated_tokens::DelegatedTokenProvider;
use nod_contract::tool::effect::{EffectKey, Permit};

/// A tool that might work with a delegated account.
struct DelegatedTool<T: ?Sized> {
    tool: Arc<T>,
    tokens: Arc<DelegatedTokenProvider>,
}

pub(super) fn with_delegated_access(tool: Tool, lent: &Arc<DelegatedTokenProvider>) -> Tool {
    let lent = lent.clone();
    match tool {
        Tool::Read(tool) => Tool::Read(Arc::new(DelegatedTool { tool, tokens: lent })),
        Tool::Act(tool) => Tool::Act(Arc::new(DelegatedTool { tool, tokens: lent })),
    }
}

impl<T: ?Sized> DelegatedTool<T> {
    fn annotate_result(&self, loan: Option<&DelegatedAccount>, result: ToolResult) -> ToolResult {
        match (loan, result) {
            (Some(DelegatedAccount::Organisation), Ok(output)) => Ok(self.with_account_note(output)),
            (loan, result) => map_connect_error(loan, result),
        }
    }

    fn with_account_note(&self, output: ToolOutput) -> ToolOutput {
        let account = self.tokens.organisation_label();
        output.with_note(format!("I used {account}, your organisation's account, not your own."))
    }
}

/// Turns `NeedsConnect` into `NeedsAdmin`: Google rejected a token for a delegated account, which no consent can fix.
fn map_connect_error<T>(
    loan: Option<&DelegatedAccount>,
    result: Result<T, ToolError>,
) -> Result<T, ToolError> {
    let account = match (loan, &result) {
        (Some(DelegatedAccount::Impersonated(address)), Err(ToolError::NeedsConnect { .. })) => {
            address.as_str()
        }
        (Some(DelegatedAccount::Organisation), Err(ToolError::NeedsConnect { .. })) => {
            "your organisation's account"
        }
        _ => return result,
    };
    let reason = format!(
        "Google doesn't let me do that in {account}. The person who runs Nod needs to check what it's \
         allowed there"
    );
    tracing::warn!("Google rejected a token of a lent account");
    Err(ToolError::NeedsAdmin { reason })
}

#[async_trait]
impl ReadTool for DelegatedTool<dyn ReadTool> {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let loan = self.tokens.find_delegated_account(cx).await?;
        self.annotate_result(loan.as_ref(), self.tool.call(cx, args).await)
    }
}

#[async_trait]
impl ActTool for DelegatedTool<dyn ActTool> {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let loan = self.tokens.find_delegated_account(cx).await?;
        let preview = map_connect_error(loan.as_ref(), self.tool.preview(cx, args).await)?;
        Ok(Preview { is_organisation_account: loan == Some(DelegatedAccount::Organisation), ..preview })
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        self.tool.revise(payload, filled, now, zone)
    }

    fn keep(&self, payload: &Value) -> Option<(&'static str, Value)> {
        self.tool.keep(payload)
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError> {
        let loan = self.tokens.find_delegated_account(cx).await?;
        map_connect_error(loan.as_ref(), self.tool.prepare(cx, payload, key).await)
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let loan = self.tokens.find_delegated_account(cx).await?;
        self.annotate_result(loan.as_ref(), self.tool.perform(cx, payload, handle, permit).await)
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let loan = self.tokens.find_delegated_account(cx).await?;
        match map_connect_error(loan.as_ref(), self.tool.find_effect(cx, payload, handle, key).await)? {
            EffectLookup::Done(output) if loan == Some(DelegatedAccount::Organisation) => {
                Ok(EffectLookup::Done(self.with_account_note(output)))
            }
            found => Ok(found),
        }
    }
}
