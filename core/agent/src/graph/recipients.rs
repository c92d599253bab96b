//! Recipients of a call in the graph: resolves names to addresses. For a name that fits several people or none of the
//! workspace, other sources are searched too, and the person picks.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde_json::Value;

use super::{NodeContext, NodeError, act, utterances};
use crate::state::AgentState;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::{Choice, Preview, ToolContext, ToolError, ToolSpec};
use nod_people::people::{contacts, names};

/// The time limit for searching a person's mail for one name.
const LOOKUP_TIMEOUT: TimeDelta = TimeDelta::seconds(8);
/// The source of an address that was picked from contacts in the person's own mail.
const FROM_OWN_MAIL: &str = "an address from your email";

/// Whether a call of this tool can name recipients.
pub(super) fn has_recipients(spec: &ToolSpec) -> bool {
    spec.parameters["properties"].as_object().is_some_and(|fields| fields.values().any(is_recipient))
}

fn is_recipient(schema: &Value) -> bool {
    schema["format"] == "recipient" || schema["items"]["format"] == "recipient"
}

/// Resolves the names in every field of format `recipient` to addresses.
pub(super) async fn resolve_all(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    state: &mut AgentState,
    cx: &NodeContext<'_>,
) -> Result<Result<Value, ToolError>, NodeError> {
    let Some(properties) = spec.parameters["properties"].as_object() else { return Ok(Ok(args)) };
    for (field, schema) in properties {
        if !is_recipient(schema) {
            continue;
        }
        let Some(value) = args.get_mut(field) else { continue };
        let slots: Vec<&mut Value> = match value {
            Value::Array(all) => all.iter_mut().collect(),
            one => vec![one],
        };
        for slot in slots {
            let Some(written) = slot.as_str().map(str::to_owned) else { continue };
            match resolve_one(&written, picked, state, cx).await? {
                Ok(address) => *slot = Value::String(address),
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }
    Ok(Ok(args))
}

async fn resolve_one(
    written: &str,
    picked: &BTreeMap<String, String>,
    state: &mut AgentState,
    cx: &NodeContext<'_>,
) -> Result<Result<String, ToolError>, NodeError> {
    let name = names::strip_quotes(written);
    if let Some(address) = picked.get(name) {
        return Ok(Ok(address.clone()));
    }
    match cx.directory.resolve_recipient(written, &state.principal).await? {
        Err(fault) if names::is_name(written) => Ok(Err(extend_with_contacts(fault, name, state, cx).await)),
        settled => Ok(settled),
    }
}

/// Searches elsewhere for a name that the people of the workspace do not resolve. Another source of people belongs
/// here, with its choices after these.
async fn extend_with_contacts(
    fault: ToolError,
    name: &str,
    state: &mut AgentState,
    cx: &NodeContext<'_>,
) -> ToolError {
    let mut choices = match &fault {
        ToolError::Ambiguous { choices, .. } => choices.clone(),
        ToolError::NoAddress { .. } => Vec::new(),
        _ => return fault,
    };
    match find_contacts(name, &choices, state, cx).await {
        Ok(found) if found.is_empty() => fault,
        Ok(found) => {
            // A person's contacts are private.
            state.audience = state.audience.narrow(Audience::Person(state.principal.person));
            choices.extend(found);
            ToolError::Ambiguous { name: name.to_owned(), choices, message: None }
        }
        Err(silent) => match fault {
            ToolError::NoAddress { reason } => ToolError::NoAddress { reason: format!("{reason}; {silent}") },
            fault => fault,
        },
    }
}

/// Returns contacts of that name; none if no mail account is connected, and a sentence if the search failed.
async fn find_contacts(
    name: &str,
    people: &[Choice],
    state: &AgentState,
    cx: &NodeContext<'_>,
) -> Result<Vec<Choice>, &'static str> {
    let Some(words) = contacts::search_words(name) else { return Ok(Vec::new()) };
    let (mut found, mut silent) = (Vec::new(), false);
    for source in cx.contacts {
        let with = cx.tool_context(state);
        let with = ToolContext { deadline: with.now + LOOKUP_TIMEOUT, ..with };
        match act::with_deadline(&with, source.find_by_name(&with, &words)).await {
            Ok(more) => found.extend(more),
            Err(ToolError::NeedsConnect { .. }) => {}
            Err(_) => {
                // The error can contain the name that was searched for.
                tracing::warn!(run = %cx.run, "could not search a person's mail for a name");
                silent = true;
            }
        }
    }
    match contacts::choices(&words, &found, people, &state.principal) {
        none if none.is_empty() && silent => {
            Err("the person's own mail could not be looked at for that name")
        }
        choices => Ok(choices),
    }
}

/// Who of a request's recipients was named here.
#[derive(Default)]
pub(super) struct Named {
    /// Those whom only outside text might have named.
    unknown: Vec<String>,
    /// Whether people here named them all, and nothing from outside was read since.
    all: bool,
}

impl Named {
    pub(super) fn add_to(self, preview: Preview) -> Preview {
        Preview { unknown_recipients: self.unknown, are_recipients_named: self.all, ..preview }
    }
}

/// Finds out whom people here named while outside text is in view: by an address or a name that they wrote, by a choice,
/// or with the thread that is answered. Somebody of the directory who was not named is no unknown. A choice from the
/// person's own mail is untrusted too, because the sender of the mail chose the name.
pub(super) async fn find_named(
    preview: &Preview,
    picked: &BTreeMap<String, String>,
    state: &mut AgentState,
    cx: &NodeContext<'_>,
) -> Result<Named, NodeError> {
    if !state.provenance.is_untrusted() && picked.is_empty() {
        return Ok(Named::default());
    }
    let is_written = |address: &String| {
        address.eq_ignore_ascii_case(&preview.account)
            || utterances::is_email_named(state.list_said(), address)
    };
    let unwritten: Vec<String> = preview.recipients.iter().filter(|one| !is_written(one)).cloned().collect();
    if unwritten.is_empty() {
        return Ok(Named { unknown: Vec::new(), all: !state.has_read_untrusted });
    }
    let known = cx.directory.find_names_by_email(&unwritten).await?;
    let picked = |one: &str| picked.values().any(|address| address.eq_ignore_ascii_case(one));
    // A model that has read outside text since then might have chosen the thread itself.
    let is_in_thread = |one: &str| {
        let mut of_thread =
            preview.thread_participants.iter().filter(|(_, address)| address.eq_ignore_ascii_case(one));
        of_thread
            .any(|(name, _)| !state.has_read_untrusted || utterances::is_name_said(state.list_said(), name))
    };
    let (mut unknown, mut all) = (Vec::new(), true);
    let mut from_mail = false;
    for one in unwritten {
        let name = known.get(&one.to_lowercase());
        from_mail |= name.is_none() && picked(&one);
        let is_named = picked(&one)
            || is_in_thread(&one)
            || name.is_some_and(|name| utterances::is_name_said(state.list_said(), name));
        all &= is_named;
        if !is_named && name.is_none() {
            unknown.push(one);
        }
    }
    if from_mail {
        state.provenance = state.provenance.clone().merge(Provenance::untrusted(FROM_OWN_MAIL));
    }
    Ok(Named { unknown, all: all && !state.has_read_untrusted })
}
