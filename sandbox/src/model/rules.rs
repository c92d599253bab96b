//! The demo's "model": no model at all, but rules that read a sentence and choose among the offered tools.
//!
//! Deterministic. It calls only what is offered, and reports what a tool said, never more.

mod people;
mod request;
mod results;
mod sentence;
mod words;

use serde_json::{Value, json};

use super::script::{Answer, Lane};
use request::Asked;
use sentence::Wish;

/// The rules' answer to a request that passed the endpoint's strictness.
pub(super) fn answer(request: &Value) -> Answer {
    let asked = Asked::read(request);
    match Lane::of(request) {
        Lane::Router => Answer::text(route(&asked, request).to_string()),
        Lane::Reasoner => reason(&asked),
    }
}

fn route(asked: &Asked<'_>, request: &Value) -> Value {
    let (intent, tool) = match Wish::read(&asked.text) {
        Wish::Send(_) => ("tool", Some("gmail_send_email")),
        Wish::Draft(_) => ("tool", Some("gmail_create_draft")),
        Wish::List => ("tool", Some("gmail_list_recent")),
        Wish::Search(_) => ("tool", Some("gmail_search_messages")),
        Wish::Read(_) => ("tool", Some("gmail_read_thread")),
        Wish::Talk => ("conversational", None),
    };
    let schema = &request["response_format"]["json_schema"]["schema"];
    request::shaped(schema, Some(&json!({"intent": intent, "tool": tool})))
}

fn reason(asked: &Asked<'_>) -> Answer {
    let wish = Wish::read(&asked.text);
    if !asked.results.is_empty() {
        return match (&wish, asked.thread_to_read()) {
            (Wish::Read(_), Some(thread)) => {
                asked.call("gmail_read_thread", &json!({"thread_id": thread})).unwrap_or_else(|| told(asked))
            }
            _ => told(asked),
        };
    }
    let call = match &wish {
        Wish::Send(letter) => match words::letter(letter, asked.signer.as_deref()) {
            Some(arguments) => asked.call("gmail_send_email", &arguments),
            None => return Answer::text("Who should it go to?"),
        },
        Wish::Draft(letter) => match words::letter(letter, asked.signer.as_deref()) {
            Some(arguments) => asked.call("gmail_create_draft", &arguments),
            None => return Answer::text("Who should the draft be for?"),
        },
        Wish::List => asked.call("gmail_list_recent", &json!({})),
        Wish::Search(query) => asked.call("gmail_search_messages", &json!({"query": query})),
        Wish::Read(query) => read(asked, query),
        Wish::Talk => return Answer::text(words::small_talk(&asked.text, asked.signer.as_deref())),
    };
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
    let all: Vec<String> = asked.results.iter().map(|(tool, content)| results::tell(tool, content)).collect();
    Answer::text(all.join("\n\n"))
}
