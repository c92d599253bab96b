//! The demo's "model": not a model, but rules that read a sentence and choose among the offered tools.
//!
//! Deterministic. It calls only offered tools, and reports only what a tool answered.

mod calendar_plan;
mod channel;
mod compare;
mod documents;
mod events;
mod gullible;
mod mails;
mod memory;
mod people;
mod phrasing;
mod picked_message;
mod references;
mod request_context;
mod results;
mod sentence;
mod tasks;
mod threads;
mod time_spans;

use serde_json::{Value, json};

use super::script::{Answer, ModelRole};
use request_context::RequestContext;
use sentence::{DraftChange, Intent};
use threads::call_with_thread;

/// Returns the rules' answer to a request that passed the endpoint's validation.
pub(super) fn answer(request: &Value) -> Answer {
    let asked = RequestContext::read(request);
    match ModelRole::classify(request) {
        ModelRole::Router => Answer::text(route(&asked, request).to_string()),
        ModelRole::Reasoner => {
            let step = tasks::ask(&asked)
                .or_else(|| tasks::make_file(&asked))
                .or_else(|| compare::compare(&asked))
                .or_else(|| compare::accept_best(&asked));
            tasks::finish(step.unwrap_or_else(|| reason(&asked)), |tool| asked.offers(tool))
        }
        ModelRole::Summariser => Answer::text(memory::summarise(request).to_string()),
        ModelRole::Planner => {
            let wish = asked.picked_message.as_ref().map_or(&asked.text, |(_, text)| text);
            Answer::text(tasks::plan(wish).to_string())
        }
        ModelRole::Finaliser => Answer::text(tasks::result(&asked.prompts).to_string()),
    }
}

fn route(asked: &RequestContext<'_>, request: &Value) -> Value {
    let list = documents::find_list(&asked.text);
    let (intent, tool) = match &asked.intent {
        _ if tasks::is_wish(&asked.text) => ("tool", Some("create_task")),
        Intent::Send(_) => ("tool", Some("gmail_send_email")),
        Intent::Draft(_) => ("tool", Some("gmail_create_draft")),
        Intent::List => ("tool", Some("gmail_list_recent")),
        Intent::Search(_) => ("tool", Some("gmail_search_messages")),
        Intent::Read(_) => ("tool", Some("gmail_read_thread")),
        Intent::Open(DraftChange::Send) => ("tool", Some("gmail_send_draft")),
        Intent::Open(DraftChange::Discard) => ("tool", Some("gmail_discard_draft")),
        Intent::Open(_) => ("tool", Some("gmail_update_draft")),
        Intent::Reply { draft: true, .. } => ("tool", Some("gmail_draft_reply")),
        Intent::Reply { draft: false, .. } => ("tool", Some("gmail_reply")),
        Intent::Forward { .. } => ("tool", Some("gmail_forward")),
        Intent::Organise(..) => ("tool", Some("gmail_organise")),
        Intent::Calendar(plan) => ("tool", Some(events::tool(plan))),
        Intent::SumUpChannel => ("tool", Some(channel::READ)),
        Intent::ExplainPicked | Intent::AnswerPicked => ("conversational", None),
        // "the second one" can answer a question from the rules.
        Intent::SmallTalk if references::Reference::parse_exact(&asked.text).is_some() => ("tool", None),
        Intent::SmallTalk if list.is_some() => ("metadata", list),
        Intent::SmallTalk if documents::is_question(&asked.text) => ("retrieval", None),
        Intent::SmallTalk => ("conversational", None),
    };
    let schema = &request["response_format"]["json_schema"]["schema"];
    request_context::fit_to_schema(schema, Some(&json!({"intent": intent, "tool": tool})))
}

fn reason(asked: &RequestContext<'_>) -> Answer {
    let wish = &asked.intent;
    if let Some(obeyed) = gullible::obey(asked) {
        return obeyed;
    }
    if let (Intent::Open(change), Some(draft)) = (wish, asked.draft()) {
        return change_draft(asked, change, &draft);
    }
    match wish {
        Intent::Calendar(plan) => return events::answer(asked, plan),
        Intent::Draft(letter) => return channel::draft(asked, letter),
        Intent::SumUpChannel => return channel::sum_up(asked),
        Intent::SmallTalk if asked.picked_message.is_some() => {
            return Answer::text(picked_message::explain(asked));
        }
        Intent::ExplainPicked => return Answer::text(picked_message::explain(asked)),
        Intent::AnswerPicked => return Answer::text(picked_message::reply(asked)),
        Intent::Organise(mail, deed) => return threads::tidy(asked, mail, deed),
        Intent::Reply { to, matter, draft } => {
            let Some(body) = phrasing::compose_reply_text(matter, asked.signer.as_deref()) else {
                return Answer::text("What shall I answer?");
            };
            let tool = if *draft { "gmail_draft_reply" } else { "gmail_reply" };
            return call_with_thread(asked, to, tool, |thread| json!({"thread_id": thread, "body": body}));
        }
        Intent::Forward { mail, to, matter } => {
            let body = phrasing::compose_reply_text(matter, asked.signer.as_deref()).unwrap_or_default();
            let arguments = |thread: &str| json!({"thread_id": thread, "to": to, "body": body});
            return call_with_thread(asked, mail, "gmail_forward", arguments);
        }
        Intent::Read(mail) => {
            return call_with_thread(asked, mail, "gmail_read_thread", |thread| json!({"thread_id": thread}));
        }
        _ if !asked.results.is_empty() => return describe_results(asked),
        _ => {}
    }
    let call = match wish {
        Intent::Send(letter) => {
            let letters = phrasing::all_mail_arguments(letter, asked.signer.as_deref());
            if letters.is_empty() {
                return Answer::text("Who should it go to?");
            }
            asked.calls("gmail_send_email", &letters)
        }
        Intent::List => asked.call("gmail_list_recent", &json!({})),
        Intent::Search(query) => asked.call("gmail_search_messages", &json!({"query": query})),
        Intent::Open(DraftChange::Send) => asked.call("gmail_send_draft", &json!({})),
        Intent::Open(DraftChange::Discard) => asked.call("gmail_discard_draft", &json!({})),
        Intent::Open(_) => asked.call("gmail_read_draft", &json!({})),
        _ => return Answer::text(talk(asked)),
    };
    call.unwrap_or_else(|| match wish {
        Intent::Open(_) => Answer::text("There is no open draft here. Say “draft a mail to …” first."),
        _ => events::no_tool(),
    })
}

/// Answers when there is nothing to do: with a known fact if one fits, else with small talk.
fn talk(asked: &RequestContext<'_>) -> String {
    let answer = memory::answer_memory(&asked.text, &asked.facts)
        .unwrap_or_else(|| phrasing::small_talk_answer(&asked.text, asked.signer.as_deref()));
    let is_asked = asked.prompts.iter().any(|prompt| prompt.contains("- Waiting for an answer: "));
    match answer == phrasing::NOT_UNDERSTOOD && is_asked {
        true => phrasing::MAYBE_AN_ANSWER.to_owned(),
        false => answer,
    }
}

/// Changes an open draft as requested.
fn change_draft(asked: &RequestContext<'_>, change: &DraftChange, draft: &Value) -> Answer {
    let arguments = match change {
        DraftChange::Shorter => {
            json!({"body": phrasing::shorter(draft["body"].as_str().unwrap_or_default())})
        }
        DraftChange::Copy(names) => {
            let mut all: Vec<Value> = draft["cc"].as_array().cloned().unwrap_or_default();
            all.extend(names.iter().map(|name| json!(name)));
            json!({"cc": all})
        }
        DraftChange::Subject(subject) => json!({"subject": subject}),
        DraftChange::Send | DraftChange::Discard => return describe_results(asked),
    };
    asked.call("gmail_update_draft", &arguments).unwrap_or_else(|| describe_results(asked))
}

fn describe_results(asked: &RequestContext<'_>) -> Answer {
    let several = asked.results.len() > 1;
    let describe_one = |((tool, content), to): (&(String, String), &Option<String>)| {
        let sentence = results::describe_result(tool, content);
        match to {
            // With several results, each one names its recipient, unless its sentence already does.
            Some(to) if several && !sentence.to_lowercase().contains(&to.to_lowercase()) => {
                format!("{to}: {sentence}")
            }
            _ => sentence,
        }
    };
    let all: Vec<String> = asked.results.iter().zip(&asked.recipients).map(describe_one).collect();
    Answer::text(all.join("\n\n"))
}
