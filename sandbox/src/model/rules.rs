//! The demo's "model": no model at all, but rules that read a sentence and choose among the offered tools.
//!
//! Deterministic. It calls only what is offered, and reports what a tool said, never more.

mod events;
mod memory;
mod people;
mod plan;
mod request;
mod results;
mod sentence;
mod spans;
mod words;

use serde_json::{Value, json};

use super::script::{Answer, Lane};
use request::Asked;
use sentence::{Change, Matter, Wish};

/// The rules' answer to a request that passed the endpoint's strictness.
pub(super) fn answer(request: &Value) -> Answer {
    let asked = Asked::read(request);
    match Lane::of(request) {
        Lane::Router => Answer::text(route(&asked, request).to_string()),
        Lane::Reasoner => reason(&asked),
        Lane::Summariser => Answer::text(memory::kept(request).to_string()),
    }
}

fn route(asked: &Asked<'_>, request: &Value) -> Value {
    let (intent, tool) = match Wish::read(&asked.text) {
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
        Wish::Calendar(plan) => ("tool", Some(events::tool(&plan))),
        Wish::Talk => ("conversational", None),
    };
    let schema = &request["response_format"]["json_schema"]["schema"];
    request::shaped(schema, Some(&json!({"intent": intent, "tool": tool})))
}

fn reason(asked: &Asked<'_>) -> Answer {
    let wish = Wish::read(&asked.text);
    if let (Wish::Open(change), Some(draft)) = (&wish, asked.draft()) {
        return changed(asked, change, &draft);
    }
    if let (Wish::Reply { matter, draft, .. }, Some(thread)) = (&wish, asked.thread_to_answer(&wish)) {
        return answered(asked, matter, *draft, &thread);
    }
    if let Wish::Calendar(plan) = &wish {
        return events::answer(asked, plan);
    }
    if !asked.results.is_empty() {
        return match (&wish, asked.thread_to_read()) {
            (Wish::Read(_), Some(thread)) => {
                asked.call("gmail_read_thread", &json!({"thread_id": thread})).unwrap_or_else(|| told(asked))
            }
            _ => told(asked),
        };
    }
    let call = match &wish {
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
        Wish::Read(query) => read(asked, query),
        Wish::Open(Change::Send) => asked.call("gmail_send_draft", &json!({})),
        Wish::Open(Change::Discard) => asked.call("gmail_discard_draft", &json!({})),
        Wish::Open(_) => asked.call("gmail_read_draft", &json!({})),
        Wish::Reply { to: Some(name), .. } => {
            asked.call("gmail_search_messages", &json!({"query": format!("from:{}", name.to_lowercase())}))
        }
        Wish::Reply { to: None, .. } => {
            return Answer::text("Which mail shall I answer? Say “read the mail from …” first.");
        }
        Wish::Calendar(_) | Wish::Talk => return Answer::text(talk(asked)),
    };
    call.unwrap_or_else(|| match wish {
        Wish::Open(_) => Answer::text("There is no open draft here. Say “draft a mail to …” first."),
        _ => Answer::text("I would need a tool for that which I do not have here."),
    })
}

/// What is said when nothing is to be done: what was noted, where that answers, else small talk.
fn talk(asked: &Asked<'_>) -> String {
    memory::said(&asked.text, &asked.facts)
        .unwrap_or_else(|| words::small_talk(&asked.text, asked.signer.as_deref()))
}

/// An open draft, changed as was asked.
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

fn answered(asked: &Asked<'_>, matter: &Matter, draft: bool, thread: &str) -> Answer {
    let Some(body) = words::answer(matter, asked.signer.as_deref()) else {
        return Answer::text("What shall I answer?");
    };
    let tool = if draft { "gmail_draft_reply" } else { "gmail_reply" };
    let call = asked.call(tool, &json!({"thread_id": thread, "body": body}));
    call.unwrap_or_else(|| Answer::text("I would need a tool for that which I do not have here."))
}

/// A thread is read by its id: known from before, or looked for first.
fn read(asked: &Asked<'_>, query: &str) -> Option<Answer> {
    if let Some(thread) = asked.thread_before().filter(|_| query.is_empty()) {
        return asked.call("gmail_read_thread", &json!({"thread_id": thread}));
    }
    if query.is_empty() {
        return asked.call("gmail_list_recent", &json!({}));
    }
    asked.call("gmail_search_messages", &json!({"query": query}))
}

fn told(asked: &Asked<'_>) -> Answer {
    let several = asked.results.len() > 1;
    let told = |((tool, content), to): (&(String, String), &Option<String>)| {
        let sentence = results::tell(tool, content);
        match to {
            // One of several says whom it is about, where its own words do not.
            Some(to) if several && !sentence.to_lowercase().contains(&to.to_lowercase()) => {
                format!("{to}: {sentence}")
            }
            _ => sentence,
        }
    };
    let all: Vec<String> = asked.results.iter().zip(&asked.recipients).map(told).collect();
    Answer::text(all.join("\n\n"))
}
