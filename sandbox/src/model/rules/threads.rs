//! Replies to mail, reads, forwards and organises it; the thread is looked up first if it is not known.

use serde_json::{Value, json};

use super::events::no_tool;
use super::mails::{MailAction, MailReference};
use super::references::{CLARIFICATION_HINT, Reference, Referent};
use super::request_context::RequestContext;
use super::{describe_results, results};
use crate::model::script::Answer;

pub(super) const SEARCH: &str = "gmail_search_messages";
pub(super) const ORGANISE: &str = "gmail_organise";

/// How a mail can be found.
enum MailLookup {
    Thread(String),
    Search(String),
}

/// Calls the tool with the mail's thread, once it is known.
pub(super) fn call_with_thread(
    asked: &RequestContext<'_>,
    mail: &MailReference,
    tool: &str,
    arguments: impl Fn(&str) -> Value,
) -> Answer {
    if let Some((last, content)) = asked.results.last().filter(|(last, _)| last == tool) {
        return Answer::text(results::describe_result(last, content));
    }
    let call = match (asked.found_thread(), place(asked, mail)) {
        (Some(thread), _) | (None, Ok(MailLookup::Thread(thread))) => asked.call(tool, &arguments(&thread)),
        (None, _) if !asked.results.is_empty() => return describe_results(asked),
        (None, Ok(MailLookup::Search(query))) => asked.call(SEARCH, &json!({"query": query})),
        (None, Err(question)) => return Answer::text(question),
    };
    call.unwrap_or_else(no_tool)
}

/// If the mail can be described, the tool searches for it itself: the model then reads no mail, so no approval is
/// needed.
pub(super) fn tidy(asked: &RequestContext<'_>, mail: &MailReference, deed: &MailAction) -> Answer {
    let how = |which: &str, what: Value| match deed {
        MailAction::Action(deed) => json!({which: what, "actions": [deed]}),
        MailAction::Label(label) => json!({which: what, "add_labels": [label]}),
    };
    if !matches!(mail, MailReference::Search(..)) || !asked.results.is_empty() {
        return call_with_thread(asked, mail, ORGANISE, |thread| how("thread_ids", json!([thread])));
    }
    match place(asked, mail) {
        // Mail that is already archived is not counted.
        Ok(MailLookup::Search(query)) if *deed == MailAction::Action("archive") => {
            asked.call(ORGANISE, &how("search", json!(format!("in:inbox {query}")))).unwrap_or_else(no_tool)
        }
        Ok(MailLookup::Search(query)) => {
            asked.call(ORGANISE, &how("search", json!(query))).unwrap_or_else(no_tool)
        }
        Ok(MailLookup::Thread(_)) => no_tool(),
        Err(question) => Answer::text(question),
    }
}

fn place(asked: &RequestContext<'_>, mail: &MailReference) -> Result<MailLookup, String> {
    let back = match mail {
        MailReference::Search(query, None) => return Ok(MailLookup::Search(query.clone())),
        MailReference::Search(query, Some(since)) => {
            let days = asked.today.and_then(|today| since.search(today));
            let days = days.ok_or("I do not know what day it is where you are.")?;
            return Ok(MailLookup::Search(format!("{query} {days}")));
        }
        MailReference::Reference(back) => *back,
    };
    match (asked.resolve_reference(back), &asked.thread) {
        ([Referent::Mail { from, subject }], _) => {
            Ok(MailLookup::Search(MailReference::from_listed(from, subject)))
        }
        ([Referent::Mail { .. }, ..], _) => {
            Err(format!("Which of these mails do you mean? {CLARIFICATION_HINT}"))
        }
        (_, Some(thread)) if back == Reference::It => Ok(MailLookup::Thread(thread.clone())),
        _ => Err("Which mail do you mean? Say “read the mail from …” first.".to_owned()),
    }
}
