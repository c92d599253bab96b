//! Puts a tool's answer into a sentence or a list, and adds nothing to it.

use serde_json::Value;

use super::threads::ORGANISE;
use super::{documents, events};

/// Returns the JSON in a tool's answer, even if other text surrounds it.
pub(super) fn find_json(content: &str) -> Option<Value> {
    let content = content.trim();
    if let Ok(value) = serde_json::from_str::<Value>(content) {
        return Some(value);
    }
    let from = content.find(['{', '['])?;
    let to = content.rfind(['}', ']'])?;
    serde_json::from_str(content.get(from..=to)?).ok()
}

/// Returns the first thread id in a result.
pub(super) fn first_thread(content: &str) -> Option<String> {
    threads(content).into_iter().next()
}

/// Returns the thread ids in a result, each once.
pub(super) fn threads(content: &str) -> Vec<String> {
    fn collect(value: &Value, ids: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                let own = object.get("thread_id").or_else(|| object.get("threadId")).and_then(Value::as_str);
                ids.extend(own.filter(|own| !ids.iter().any(|id| id == own)).map(str::to_owned));
                object.values().for_each(|value| collect(value, ids));
            }
            Value::Array(all) => all.iter().for_each(|value| collect(value, ids)),
            _ => {}
        }
    }
    let mut ids = Vec::new();
    if let Some(result) = find_json(content) {
        collect(&result, &mut ids);
    }
    ids
}

/// Returns the sentence for one result.
pub(super) fn describe_result(tool: &str, content: &str) -> String {
    let Some(result) = find_json(content).filter(|value| value.is_object() || value.is_array()) else {
        return describe_plain_text_result(tool, content);
    };
    if let Some(error) = error(&result) {
        if tool == ORGANISE && error.starts_with("I couldn't find") {
            return "I found no such mail, and nothing was done.".to_owned();
        }
        return format!("That did not work: {error}");
    }
    let status = ["status", "outcome", "state", "decision"].iter().find_map(|key| result[*key].as_str());
    let status = status.unwrap_or_default().to_lowercase();
    if tool.starts_with("calendar_") {
        return events::describe_result(&status, &result);
    }
    if tool == ORGANISE {
        return describe_organised(&status, &result);
    }
    if tool == documents::SEARCH {
        return documents::describe_result(&result);
    }
    if let Some(sentence) = describe_status(&status) {
        return sentence.to_owned();
    }
    match tool {
        "gmail_send_email" | "gmail_reply" | "gmail_forward" | "gmail_send_draft"
            if status == "sent" || status == "done" || result["sent"] == true =>
        {
            describe_sent(&result)
        }
        "gmail_send_email" => format!("I do not know that it was sent. The answer was: {}", shorten(content)),
        "gmail_create_draft" | "gmail_draft_reply" => describe_draft(&result),
        "gmail_read_thread" => summary(&result),
        _ => describe_list(&result).unwrap_or_else(|| format!("The answer was: {}", shorten(content))),
    }
}

fn describe_plain_text_result(tool: &str, content: &str) -> String {
    let lower = content.to_lowercase();
    if tool.starts_with("calendar_") {
        return format!("The answer was: {}", shorten(content));
    }
    let status =
        ["denied", "declined", "rejected", "refused", "expired", "cancelled", "not sent", "did not send"];
    if status.iter().any(|word| lower.contains(word)) {
        return "I did not send it.".to_owned();
    }
    if lower.contains("error") || lower.contains("failed") {
        return format!("That did not work: {}", shorten(content));
    }
    if tool == "gmail_send_email" && lower.starts_with("sent") {
        return shorten(content);
    }
    format!("The answer was: {}", shorten(content))
}

fn describe_status(status: &str) -> Option<&'static str> {
    match status {
        "denied" | "declined" | "rejected" | "refused" | "cancelled" | "canceled" => {
            Some("I did not send it.")
        }
        "superseded" => Some("A newer request took the place of that one."),
        "undone" => Some("You took it back in time: I did not send it."),
        "not_done" => Some("I did not do it."),
        "expired" => Some("I did not send it: nobody answered in time."),
        "unknown" => Some("I do not know whether it was sent. Please look in your Sent folder."),
        "pending" | "waiting" => Some("It waits for your answer."),
        _ => None,
    }
}

fn error(result: &Value) -> Option<String> {
    let error = result.get("error").filter(|error| !error.is_null())?;
    let text = error["message"].as_str().or_else(|| error.as_str()).or_else(|| result["message"].as_str());
    Some(text.map_or_else(|| error.to_string(), str::to_owned))
}

pub(super) fn list_people(value: &Value) -> Option<String> {
    match value {
        Value::String(one) => Some(one.clone()),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(list_people).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        Value::Object(one) => {
            ["address", "email", "name"].iter().find_map(|key| one.get(*key)?.as_str().map(str::to_owned))
        }
        _ => None,
    }
}

fn describe_sent(result: &Value) -> String {
    match list_people(&result["to"]) {
        Some(to) => format!("Sent to {to}."),
        None => "Sent.".to_owned(),
    }
}

fn describe_draft(result: &Value) -> String {
    match (list_people(&result["to"]), result["subject"].as_str()) {
        (Some(to), Some(subject)) => {
            format!("The draft “{subject}” to {to} is in your Gmail drafts. I did not send it.")
        }
        _ => "The draft is in your Gmail drafts. I did not send it.".to_owned(),
    }
}

fn describe_organised(status: &str, result: &Value) -> String {
    let many = match result["conversations"].as_u64() {
        Some(1) => "1 email".to_owned(),
        many => format!("{} emails", many.unwrap_or_default()),
    };
    match (status, list_people(&result["did"]).as_deref()) {
        ("done", Some("archive")) => format!("Archived {many}."),
        ("done", Some("star")) => format!("Starred {many}."),
        ("done", Some(did)) => match did.strip_prefix("add the label ") {
            Some(label) => format!("Labelled {many} {label}."),
            None => format!("Done for {many}: {did}."),
        },
        ("expired", _) => "I did not do it: nobody answered in time.".to_owned(),
        ("unknown", _) => "I do not know whether it was done. Please look in your mailbox.".to_owned(),
        _ => "I did not do it: your mailbox is as it was.".to_owned(),
    }
}

fn mails(result: &Value) -> Option<&Vec<Value>> {
    let named =
        ["messages", "mails", "threads", "results", "items"].iter().find_map(|key| result[*key].as_array());
    named.or_else(|| result.as_array())
}

fn describe_list(result: &Value) -> Option<String> {
    let mails = mails(result)?;
    if mails.is_empty() {
        return Some("I found no mail.".to_owned());
    }
    let unread = mails.iter().filter(|mail| mail["unread"] == true).count();
    let many = if mails.len() == 1 { "1 email".to_owned() } else { format!("{} emails", mails.len()) };
    let unread = if unread == 0 { String::new() } else { format!(", {unread} unread") };
    let from = list_people(&mails[0]["from"]).unwrap_or_else(|| "somebody".to_owned());
    // Its lines stand below.
    Some(format!("{many}{unread}. The latest is from {from}."))
}

fn summary(result: &Value) -> String {
    let Some(mails) = mails(result).filter(|mails| !mails.is_empty()) else {
        return format!("The answer was: {}", shorten(&result.to_string()));
    };
    let subject =
        result["subject"].as_str().or_else(|| mails.first().and_then(|mail| mail["subject"].as_str()));
    let line = |mail: &Value| {
        let from = list_people(&mail["from"]).unwrap_or_else(|| "Somebody".to_owned());
        let body = ["body", "text", "snippet"].iter().find_map(|key| mail[*key].as_str()).unwrap_or_default();
        format!("• {from} wrote: {}", shorten(body))
    };
    let lines: Vec<String> = mails.iter().map(line).collect();
    let many = if mails.len() == 1 { "1 message".to_owned() } else { format!("{} messages", mails.len()) };
    format!("“{}”, {many}:\n{}", subject.unwrap_or("(no subject)"), lines.join("\n"))
}

pub(super) fn shorten(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}
