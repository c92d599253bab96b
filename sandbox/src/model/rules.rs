//! The demo's "model": not a model, but rules that read a sentence and choose among the offered tools.
//!
//! Deterministic. It calls only offered tools, and reports only what a tool answered.

mod before;
mod events;
mod mails;
mod memory;
mod people;
mod plan;
mod request;
mod results;
mod sentence;
mod spans;
mod threads;
mod words;

use serde_json::{Value, json};

use super::script::{Answer, Lane};
use request::Asked;
use sentence::{Change, Wish};
use threads::with_thread;

/// Returns the rules' answer to a request that passed the endpoint's validation.
pub(super) fn answer(request: &Value) -> Answer {
    let asked = Asked::read(request);
    match Lane::of(request) {
        Lane::Router => Answer::text(route(&asked, request).to_string()),
        Lane::Reasoner => reason(&asked),
        Lane::Summariser => Answer::text(memory::kept(request).to_string()),
    }
}

fn route(asked: &Asked<'_>, request: &Value) -> Value {
    let (intent, tool) = match &asked.wish {
        Wish::Send(_) => ("tool", Some("gmail_send_email")),
        Wish::Draft(_) => ("tool", Some("gmail_create_draft")),
        Wish::List => ("tool", Some("gmail_list_recent")),
        Wish::Search(_) => ("tool", Some("gmail_search_messages")),
        Wish::Read(_) => ("tool", Some("gmail_read_thread")),
        Wish::Open(Change::Send) => ("tool", Some("gmail_send_draft")),
        Wish::Open(Change::Discard) => ("tool", Some("gmail_discard_draft")),
        Wish::Open(_) => ("tool", Some("gmail_update_draft")),
        Wish::Reply { draft: true, .. } => ("tool", Some("gmail_draft_reply")),
        Wish::Reply { draft: false, .. } => ("tool", Some("gmail_reply")),
        Wish::Forward { .. } => ("tool", Some("gmail_forward")),
        Wish::Tidy(..) => ("tool", Some("gmail_organise")),
        Wish::Calendar(plan) => ("tool", Some(events::tool(plan))),
        // "the second one" can answer a question from the rules.
        Wish::Talk if before::Back::alone(&asked.text).is_some() => ("tool", None),
        Wish::Talk => ("conversational", None),
    };
    let schema = &request["response_format"]["json_schema"]["schema"];
    request::shaped(schema, Some(&json!({"intent": intent, "tool": tool})))
}

fn reason(asked: &Asked<'_>) -> Answer {
    let wish = &asked.wish;
    if let (Wish::Open(change), Some(draft)) = (wish, asked.draft()) {
        return changed(asked, change, &draft);
    }
    match wish {
        Wish::Calendar(plan) => return events::answer(asked, plan),
        Wish::Tidy(mail, deed) => return threads::tidy(asked, mail, deed),
        Wish::Reply { to, matter, draft } => {
            let Some(body) = words::answer(matter, asked.signer.as_deref()) else {
                return Answer::text("What shall I answer?");
            };
            let tool = if *draft { "gmail_draft_reply" } else { "gmail_reply" };
            return with_thread(asked, to, tool, |thread| json!({"thread_id": thread, "body": body}));
        }
        Wish::Forward { mail, to, matter } => {
            let body = words::answer(matter, asked.signer.as_deref()).unwrap_or_default();
            let arguments = |thread: &str| json!({"thread_id": thread, "to": to, "body": body});
            return with_thread(asked, mail, "gmail_forward", arguments);
        }
        Wish::Read(mail) => {
            return with_thread(asked, mail, "gmail_read_thread", |thread| json!({"thread_id": thread}));
        }
        _ if !asked.results.is_empty() => return told(asked),
        _ => {}
    }
    let call = match wish {
        Wish::Send(letter) => {
            let letters = words::letters(letter, asked.signer.as_deref());
            if letters.is_empty() {
                return Answer::text("Who should it go to?");
            }
            asked.calls("gmail_send_email", &letters)
        }
        Wish::Draft(letter) => match words::letter(letter, asked.signer.as_deref()) {
            Some(arguments) => asked.call("gmail_create_draft", &arguments),
            None => return Answer::text("Who should the draft be for?"),
        },
        Wish::List => asked.call("gmail_list_recent", &json!({})),
        Wish::Search(query) => asked.call("gmail_search_messages", &json!({"query": query})),
        Wish::Open(Change::Send) => asked.call("gmail_send_draft", &json!({})),
        Wish::Open(Change::Discard) => asked.call("gmail_discard_draft", &json!({})),
        Wish::Open(_) => asked.call("gmail_read_draft", &json!({})),
        _ => return Answer::text(talk(asked)),
    };
    call.unwrap_or_else(|| match wish {
        Wish::Open(_) => Answer::text("There is no open draft here. Say “draft a mail to …” first."),
        _ => events::no_tool(),
    })
}

/// Answers when there is nothing to do: with a known fact if one fits, else with small talk.
fn talk(asked: &Asked<'_>) -> String {
    memory::said(&asked.text, &asked.facts)
        .unwrap_or_else(|| words::small_talk(&asked.text, asked.signer.as_deref()))
}

/// Changes an open draft as requested.
fn changed(asked: &Asked<'_>, change: &Change, draft: &Value) -> Answer {
    let arguments = match change {
        Change::Shorter => json!({"body": words::shorter(draft["body"].as_str().unwrap_or_default())}),
        Change::Copy(names) => {
            let mut all: Vec<Value> = draft["cc"].as_array().cloned().unwrap_or_default();
            all.extend(names.iter().map(|name| json!(name)));
            json!({"cc": all})
        }
        Change::Subject(subject) => json!({"subject": subject}),
        Change::Send | Change::Discard => return told(asked),
    };
    asked.call("gmail_update_draft", &arguments).unwrap_or_else(|| told(asked))
}

fn told(asked: &Asked<'_>) -> Answer {
    let several = asked.results.len() > 1;
    let told = |((tool, content), to): (&(String, String), &Option<String>)| {
        let sentence = results::tell(tool, content);
        match to {
            // With several results, each one names its recipient, unless its sentence already does.
            Some(to) if several && !sentence.to_lowercase().contains(&to.to_lowercase()) => {
                format!("{to}: {sentence}")
            }
            _ => sentence,
        }
    };
    let all: Vec<String> = asked.results.iter().zip(&asked.recipients).map(told).collect();
    Answer::text(all.join("\n\n"))
}
