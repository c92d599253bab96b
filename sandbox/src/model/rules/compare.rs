//! Compares offers in somebody's mail, in a step of a task, and answers the best one.

use serde_json::{Value, json};

use super::mails::MailReference;
use super::request_context::RequestContext;
use super::results::{self, find_json};
use super::tasks::{self, person_answered};
use super::threads::{SEARCH, call_with_thread};
use crate::model::script::Answer;

const READ: &str = "gmail_read_thread";
/// The most offers that are compared.
const MAX_OFFERS: usize = 5;
/// What is said where the mail could not be read, as when its account was not connected.
pub(super) const NOT_READ: &str = "I could not read your mail.";
/// What follows a price.
const A_HEAD: &str = " euros a head";
/// What follows the name of whose offer is the best, in what the step hands on.
const IS_CHEAPEST: &str = " is the cheapest: ";
const FREE: &str = "They are free on ";

/// Compares what was offered, in a step such as "compare the three caterers in my mail".
pub(super) fn compare(asked: &RequestContext<'_>) -> Option<Answer> {
    let title = tasks::step_title(&asked.prompts)?;
    let topic = title.strip_prefix("Compare ")?.split(" in my mail").next()?;
    let topic = topic.split_whitespace().last()?.trim_end_matches('s');
    let read: Vec<Value> = asked
        .results
        .iter()
        .filter(|(tool, _)| tool == READ)
        .filter_map(|(_, read)| find_json(read))
        .collect();
    if !read.is_empty() {
        return Some(Answer::text(table(&read)));
    }
    let Some((_, found)) = asked.results.iter().find(|(tool, _)| tool == SEARCH) else {
        return asked.call(SEARCH, &json!({ "query": topic }));
    };
    let threads = results::threads(found);
    let is_read = find_json(found).is_some_and(|found| found["status"].is_null() && found["error"].is_null());
    if threads.is_empty() && !is_read {
        return Some(Answer::text(NOT_READ));
    }
    if threads.is_empty() {
        return Some(Answer::text(format!("I found no {topic} in your mail.")));
    }
    let each: Vec<Value> =
        threads.iter().take(MAX_OFFERS).map(|thread| json!({ "thread_id": thread })).collect();
    asked.calls(READ, &each)
}

fn table(read: &[Value]) -> String {
    let mut offers: Vec<(u32, String)> = read.iter().filter_map(offer).collect();
    offers.sort();
    let Some((price, name)) = offers.first() else { return "I found no price in these mails.".to_owned() };
    let rows: String = offers.iter().map(|(price, name)| format!("| {name} | {price} |\n")).collect();
    let free = read.iter().find_map(|read| newest_text(read)?.split_once("free on ")?.1.split('.').next());
    let free = free.map(|days| format!("\n{FREE}{days}.")).unwrap_or_default();
    format!("{name}{IS_CHEAPEST}{price}{A_HEAD}.\n\n| Offer | Euros a head |\n|-|-|\n{rows}{free}")
}

fn offer(read: &Value) -> Option<(u32, String)> {
    let price = newest_text(read)?.split_once(A_HEAD)?.0.split_whitespace().last()?.parse().ok()?;
    let from = read["messages"][0]["from"].as_str()?;
    Some((price, from.split('<').next()?.trim().trim_matches('"').to_owned()))
}

fn newest_text(read: &Value) -> Option<&str> {
    read["messages"].as_array()?.last()?["text"].as_str()
}

/// Returns the days on which all of them are free, from what such a step has handed on.
pub(super) fn free_days(prompts: &[String]) -> Vec<&str> {
    let line = prompts.iter().flat_map(|prompt| prompt.lines()).find_map(|line| line.strip_prefix(FREE));
    line.map(|days| days.trim_end_matches('.').split(" and ").collect()).unwrap_or_default()
}

/// Answers the best offer, in a step such as "write to the best one".
pub(super) fn accept_best(asked: &RequestContext<'_>) -> Option<Answer> {
    let title = tasks::step_title(&asked.prompts)?;
    title
        .strip_prefix("Write to the ")
        .filter(|rest| ["best one", "cheapest one", "best", "cheapest"].contains(rest))?;
    let lines = asked.prompts.iter().flat_map(|prompt| prompt.lines());
    let (name, price) = lines.filter_map(|line| line.split_once(IS_CHEAPEST)).next()?;
    let day = person_answered(&asked.prompts).map(|day| format!(" for {day}")).unwrap_or_default();
    let signed = asked.signer.as_deref().map(|name| format!("\n\n{name}")).unwrap_or_default();
    let price = price.trim_end_matches('.');
    let body = format!("Hello,\n\nwe take your offer of {price}{day}, thank you.{signed}");
    // The line of the plan has the step's title before it.
    let name = name.rsplit(" — ").next()?.to_owned();
    let mail = MailReference::Search(name, None);
    let arguments = |thread: &str| json!({ "thread_id": thread, "body": body });
    Some(call_with_thread(asked, &mail, "gmail_reply", arguments))
}
