//! `gmail_organise`: archives, stars, marks as read or unread, and labels conversations of the person's own mailbox.
//! Every change can be undone, and repeating it has no further effect.
//!
//! Conversations can be given as a search, which this tool runs itself: then the model has read no untrusted mail, and
//! the request needs no approval.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::google::scopes;
use async_trait::async_trait;
use google_gmail1::api::{Message, Thread};
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::privacy::Audience;
use nod_contract::tool::{
    ActTool, ActionLabels, EffectLookup, FieldValue, Preview, Reach, Summary, ToolContext, ToolError,
    ToolOutput, ToolResult, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::label_actions::{LabelAction, LabelChange, changes};
use super::labels::{self, UserLabel};
use super::mailbox::Mailbox;
use super::message::{has_label, header, one_line, sender};
use super::{parse_arguments, search_dates};
use crate::google::account::Accounts;
use nod_contract::tool::effect::{EffectKey, Permit};

pub(super) const NAME: &str = "gmail_organise";
const SCHEMA: u32 = 1;
/// The maximum number of conversations that one call changes.
const MAX_THREADS: u32 = 50;
const HEADERS: [&str; 2] = ["From", "Subject"];
const SUBJECT_SHOWN: usize = 120;

pub(super) struct Organise {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    thread_ids: Vec<String>,
    search: Option<String>,
    #[serde(default)]
    actions: Vec<LabelAction>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
}

/// The exact changes; nothing else decides. The card shows them, and the model never sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrganisePayload {
    schema: u32,
    tool: String,
    account: String,
    /// Descriptions of the actions.
    #[serde(rename = "does")]
    descriptions: Vec<String>,
    conversations: Vec<Conversation>,
    changes: Vec<LabelChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Conversation {
    thread_id: String,
    /// For example "“Terms” from kim@northwind.test".
    #[serde(rename = "shown")]
    description: String,
}

impl Organise {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let names = |what: &str| {
            json!({"type": "array", "maxItems": 10, "description": what,
                "items": {"type": "string", "minLength": 1, "maxLength": 225}})
        };
        let parameters = json!({
            "type": "object",
            "properties": {
                "search": {"type": "string", "minLength": 1, "maxLength": 500,
                    "description": "Which conversations, in Gmail's search syntax, as in gmail_search_messages."},
                "thread_ids": {"type": "array", "minItems": 1, "maxItems": MAX_THREADS,
                    "description": "Which conversations, where you have them already; instead of search.",
                    "items": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}},
                "actions": {"type": "array", "uniqueItems": true, "items": {"type": "string", "enum": LabelAction::ALL}},
                "add_labels": names("Names of labels that are there."),
                "remove_labels": names("Names of labels that are there."),
            },
            "additionalProperties": false,
        });
        let description = include_str!("../../../prompts/gmail_organise.md");
        let spec = super::spec(NAME, description, "Tidying mail", Reach::OwnAccount, parameters);
        Self { spec, accounts }
    }
}

#[async_trait]
impl ActTool for Organise {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let asked: Arguments = parse_arguments(args)?;
        let mailbox = open_mailbox(&self.accounts, cx).await?;
        let labels = match asked.add_labels.is_empty() && asked.remove_labels.is_empty() {
            true => Vec::new(),
            false => labels::list_user_labels(
                mailbox.list_labels().await.map_err(|trouble| trouble.into_read_error("the labels"))?,
            ),
        };
        let (add, remove) =
            (find_labels(&labels, &asked.add_labels)?, find_labels(&labels, &asked.remove_labels)?);
        if asked.actions.is_empty() && add.is_empty() && remove.is_empty() {
            return Err(ToolError::invalid("say what to do: actions, add_labels or remove_labels"));
        }
        let threads = find_threads(cx, &mailbox, &asked).await?;
        let approved = OrganisePayload {
            schema: SCHEMA,
            tool: NAME.to_owned(),
            account: mailbox.address().to_owned(),
            descriptions: describe_actions(&asked.actions, &add, &remove),
            conversations: threads.iter().filter_map(conversation).collect(),
            changes: changes(&threads, &asked.actions, &add, &remove)?,
        };
        build_preview(cx, &approved)
    }

    fn revise(
        &self,
        _: &Value,
        _: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        Err(vec![FieldError::new(
            "change",
            "This can't be edited. Deny it and tell me what you'd like instead.",
        )])
    }

    async fn prepare(&self, _: &ToolContext, _: &Value, _: EffectKey) -> Result<Value, ToolError> {
        Ok(json!({}))
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, _: &Value, _: Permit) -> ToolResult {
        let mailbox = open_mailbox(&self.accounts, cx).await?;
        let approved = OrganisePayload::read(payload, &mailbox)?;
        for LabelChange { messages, add, remove } in &approved.changes {
            let done = mailbox.modify_labels(messages, add, remove).await;
            done.map_err(|trouble| trouble.into_repeatable_write_error("one of the labels"))?;
        }
        Ok(approved.receipt(cx))
    }

    /// The labels show it. Changes that were reverted by hand meanwhile are made again, as requested.
    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        _: &Value,
        _: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let mailbox = open_mailbox(&self.accounts, cx).await?;
        let approved = OrganisePayload::read(payload, &mailbox)?;
        for change in &approved.changes {
            let there = mailbox.fetch_all_headers(change.messages.clone(), &["Subject"]).await;
            if !there
                .map_err(|trouble| trouble.into_read_error("that email"))?
                .iter()
                .all(|one| change.is_applied(one))
            {
                return Ok(EffectLookup::NotDone);
            }
        }
        Ok(EffectLookup::Done(approved.receipt(cx)))
    }
}

impl OrganisePayload {
    fn read(payload: &Value, mailbox: &Mailbox) -> Result<Self, ToolError> {
        check_account(payload, mailbox)?;
        let approved = Self::deserialize(payload);
        let approved = approved
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        match approved.schema == SCHEMA && approved.tool == NAME {
            true => Ok(approved),
            false => Err(ToolError::internal("I can't read this request any more. Please ask me again")),
        }
    }

    /// Returns what is done with which conversations: "archive it" and "star it" are two wishes.
    fn topic(&self) -> String {
        let mut threads: Vec<&str> = self.conversations.iter().map(|one| one.thread_id.as_str()).collect();
        threads.sort_unstable();
        format!("{}: {}", self.descriptions.join(" · "), threads.join(" "))
    }

    fn list(&self) -> Vec<&str> {
        self.conversations.iter().map(|one| one.description.as_str()).collect()
    }

    /// Returns how many conversations, but not which: text by others stays out of the model's view, so the next request
    /// needs no approval.
    fn receipt(&self, cx: &ToolContext) -> ToolOutput {
        let content =
            json!({"status": "done", "did": self.descriptions, "conversations": self.conversations.len()});
        ToolOutput::trusted(content).private_to(cx.principal.person)
    }
}

/// The only place where these tools get the mailbox: they need a wider scope than reading and writing mail.
pub(super) async fn open_mailbox(accounts: &Arc<Accounts>, cx: &ToolContext) -> Result<Mailbox, ToolError> {
    accounts.mailbox_with_scopes(cx, &[scopes::MODIFY]).await
}

/// Rejects an account other than the one that was meant.
pub(super) fn check_account(payload: &Value, mailbox: &Mailbox) -> Result<(), ToolError> {
    let meant = payload["account"].as_str().unwrap_or_default();
    if meant.eq_ignore_ascii_case(mailbox.address()) {
        return Ok(());
    }
    // Other people might read this; the current account is only for its owner.
    Err(ToolError::Forbidden {
        reason: format!("this was meant for {meant}, but you've connected another account since"),
    })
}

/// Returns the labels for a change in the person's own mailbox that reaches no one else.
pub(super) fn action_labels(thing: &str) -> ActionLabels {
    ActionLabels {
        approve: "Approve".into(),
        in_progress: "Working on it…".into(),
        done: "Done".into(),
        not_done: "Not done".into(),
        noun: thing.into(),
    }
}

fn find_labels<'a>(all: &'a [UserLabel], names: &[String]) -> Result<Vec<&'a UserLabel>, ToolError> {
    names.iter().map(|name| labels::find_label(all, name)).collect()
}

fn describe_actions(actions: &[LabelAction], add: &[&UserLabel], remove: &[&UserLabel]) -> Vec<String> {
    let actions = actions.iter().map(|deed| deed.description().to_owned());
    let add = add.iter().map(|label| format!("add the label “{}”", label.name));
    let remove = remove.iter().map(|label| format!("remove the label “{}”", label.name));
    actions.chain(add).chain(remove).collect()
}

/// Returns the threads that the arguments refer to.
async fn find_threads(
    cx: &ToolContext,
    mailbox: &Mailbox,
    asked: &Arguments,
) -> Result<Vec<Thread>, ToolError> {
    let looking = |trouble: crate::google::api_error::GoogleApiError| trouble.into_read_error("that email");
    let ids = match (&asked.search, &asked.thread_ids[..]) {
        (Some(search), []) => {
            let search = search_dates::resolve_dates(search, &search_dates::zone(&cx.principal))?;
            mailbox.list_thread_ids(&search, MAX_THREADS + 1).await.map_err(looking)?
        }
        (None, [_, ..]) => asked.thread_ids.clone(),
        _ => return Err(ToolError::invalid("say which conversations: either search or thread_ids")),
    };
    if ids.is_empty() {
        return Err(ToolError::NotFound { what: "any email like that".into() });
    }
    if ids.len() > MAX_THREADS as usize {
        return Err(ToolError::invalid(format!(
            "more than {MAX_THREADS} emails match, so I did nothing. Narrow it down, for example by date"
        )));
    }
    mailbox.fetch_all_threads(&ids, &HEADERS).await.map_err(looking)
}

fn conversation(thread: &Thread) -> Option<Conversation> {
    let first: &Message = thread.messages.iter().flatten().find(|message| !has_label(message, "DRAFT"))?;
    let subject = one_line(&header(first, "Subject"), SUBJECT_SHOWN);
    let subject = if subject.is_empty() { "(no subject)".to_owned() } else { subject };
    let from = sender(first).unwrap_or_else(|| "an unknown sender".to_owned());
    Some(Conversation { thread_id: thread.id.clone()?, description: format!("“{subject}” from {from}") })
}

fn build_preview(cx: &ToolContext, approved: &OrganisePayload) -> Result<Preview, ToolError> {
    let payload = serde_json::to_value(approved).map_err(|error| ToolError::internal(error.to_string()))?;
    let many = approved.conversations.len();
    let verb = match approved.descriptions.as_slice() {
        [one] if one == "archive" => "Archive",
        [one] if one == "star" => "Star",
        _ => "Change",
    };
    let question =
        if many == 1 { format!("{verb} this email?") } else { format!("{verb} these {many} emails?") };
    let change =
        if many == 1 { "changes to an email".to_owned() } else { format!("changes to {many} emails") };
    Ok(Preview {
        summary: Some(Summary {
            full: format!("{change} ({})", approved.descriptions.join(" · ")),
            redacted: change,
        }),
        fields: vec![
            ("Account".into(), approved.account.clone()),
            ("What happens".into(), approved.descriptions.join(" · ")),
        ],
        body: Some(approved.list().join("\n")),
        topic: Some(approved.topic()),
        account: approved.account.clone(),
        audience: Audience::Person(cx.principal.person),
        ..Preview::new(payload, question, action_labels("change"))
    })
}
