//! `gmail_create_draft`: a draft in the person's own mailbox. It reaches nobody.

use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::Draft;
use nod_core::effect::{EffectKey, Permit};
use nod_core::privacy::{Audience, Provenance};
use nod_core::tool::{
    ActTool, Fault, Found, Preview, Reach, ToolContext, ToolOutput, ToolResult, ToolSpec, Words,
};
use serde_json::{Value, json};

use super::letter::{Asked, Letter};
use super::mailbox::Mailbox;
use super::{arguments, drafts, mime};
use crate::google::account::Accounts;

const NAME: &str = "gmail_create_draft";

/// The tool.
pub(super) struct CreateDraft {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CreateDraft {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_create_draft.md");
        let spec =
            super::spec(NAME, description, "Writing a draft", Reach::OwnAccount, drafts::parameters(0));
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for CreateDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, Fault> {
        let asked: Asked = arguments(args)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        Letter::new(&asked, NAME, mailbox.address())?.preview("Save this draft?", words())
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, Fault> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, permit: Permit) -> ToolResult {
        create(cx, &self.accounts.mailbox(cx).await?, payload, permit.key()).await
    }

    async fn find(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        key: EffectKey,
    ) -> Result<Found, Fault> {
        find(&self.accounts.mailbox(cx).await?, payload, key).await
    }
}

fn words() -> Words {
    Words {
        approve: "Save draft".into(),
        doing: "Saving…".into(),
        done: "Draft saved".into(),
        not_done: "Not saved".into(),
        thing: "draft".into(),
    }
}

pub(super) async fn create(
    cx: &ToolContext,
    mailbox: &Mailbox,
    payload: &Value,
    key: EffectKey,
) -> ToolResult {
    let letter = Letter::approved(payload, NAME)?;
    letter.of_this_account(mailbox)?;
    let raw = mime::bytes(&letter, cx.now, key.id)?;
    let draft = mailbox.create_draft(raw).await.map_err(|trouble| trouble.acting())?;
    Ok(receipt(mailbox, &letter, &draft))
}

/// A second draft in one's own mailbox does no harm, so one that is not among the newest counts as absent.
pub(super) async fn find(mailbox: &Mailbox, payload: &Value, key: EffectKey) -> Result<Found, Fault> {
    let letter = Letter::approved(payload, NAME)?;
    letter.of_this_account(mailbox)?;
    let found = drafts::left_by(mailbox, key).await.map_err(|trouble| trouble.looking("the drafts"))?;
    Ok(found.map_or(Found::Absent, |draft| Found::Done(receipt(mailbox, &letter, &draft))))
}

fn receipt(mailbox: &Mailbox, letter: &Letter, draft: &Draft) -> ToolOutput {
    let message = draft.message.as_ref().and_then(|message| message.id.as_deref());
    let place = message.map_or_else(|| "drafts".to_owned(), |id| format!("drafts/{id}"));
    let content = json!({
        "status": "draft saved",
        "id": draft.id,
        "link": drafts::link(mailbox.address(), &place),
        "to": letter.to,
    });
    ToolOutput { content, provenance: Provenance::Ours, audience: Audience::Channel, verbatim: false }
}
