//! Route: rules first, then the router model, whose answer is constrained JSON. If the classification fails, the full
//! agent takes over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CREATE_TASK, NodeContext, NodeError, Step, prompt, think};
use crate::state::{AgentState, Intent, Node, PendingCall};
use nod_contract::model::{ToolCall, Turn};
use nod_contract::text::group_digits;
use nod_contract::tool::Tool;
use nod_store::workflow::MAX_WISH_CHARS;

/// The tool that looks into documents, if an ability has it. A question about documents is never answered without a
/// look, and the look needs no model.
const DOCUMENT_SEARCH: &str = "retrieve_knowledge_base";
const MAX_QUERY_CHARS: usize = 400;

#[derive(Deserialize)]
struct Routed {
    intent: Intent,
    tool: Option<String>,
}

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    if state.reply.is_some() {
        // A rule answered at ingest.
        return Ok(Step::go(state, Node::Reply));
    }
    if let Some(taken) = state.taken_action.as_ref() {
        let (tool, arguments) = (taken.action.tool.clone(), taken.action.arguments.clone());
        state.intent = Some(Intent::Tool);
        state.routed_via = Some("rule:quick_action".to_owned());
        return Ok(call_tool(state, tool, &arguments));
    }
    if let Some((rule, words)) = match_rule(state.user_message(), cx) {
        state.intent = Some(Intent::Conversational);
        state.routed_via = Some(format!("rule:{rule}"));
        state.turns.push(Turn::Ai { text: words.clone(), calls: Vec::new() });
        state.reply = Some(words);
        return Ok(Step::go(state, Node::Reply));
    }
    if is_send_command(state.user_message()) && !state.drafts.open.is_empty() {
        let send = state.drafts.open[0].draft.tools.send.clone();
        state.intent = Some(Intent::Tool);
        state.routed_via = Some("rule:send_draft".to_owned());
        return Ok(call_tool(state, send, &json!({})));
    }
    let ask = prompt::route(&state, cx.tools);
    let routed = match think::complete_silently(&ask, &state, cx).await {
        Ok(answer) => serde_json::from_str::<Value>(answer.text.trim())
            .and_then(Routed::deserialize)
            .map_err(|_| tracing::debug!(run = %cx.run, "the router's answer was no route"))
            .ok(),
        Err(_) => None,
    };
    let next = match routed {
        Some(routed) => {
            state.intent = Some(routed.intent);
            let named = routed.tool.filter(|name| cx.tools.get(name).is_some());
            state.target_tool = if named.as_deref() == Some(CREATE_TASK) {
                // Whoever asks which tasks there are wants none begun.
                named.filter(|_| routed.intent == Intent::Tool && is_whole_wish(&mut state))
            } else {
                named
            };
            let target = state.target_tool.as_deref().and_then(|name| cx.tools.get(name));
            state.acts |= matches!(target, Some(Tool::Act(_)));
            state.routed_via = Some("router".to_owned());
            if let Some(read) = find_draft_reading_tool(&state) {
                return Ok(call_tool(state, read, &json!({})));
            }
            if let Some(list) = find_list(routed.intent, target) {
                state.routed_via = Some("list".to_owned());
                return Ok(call_tool(state, list, &json!({})));
            }
            if state.target_tool.as_deref() == Some(CREATE_TASK) {
                return Ok(call_tool(state, CREATE_TASK.to_owned(), &json!({})));
            }
            if routed.intent == Intent::Retrieval && cx.tools.get(DOCUMENT_SEARCH).is_some() {
                let query: String = state.user_message().chars().take(MAX_QUERY_CHARS).collect();
                return Ok(call_tool(state, DOCUMENT_SEARCH.to_owned(), &json!({ "query": query })));
            }
            match routed.intent {
                Intent::Conversational => Node::Converse,
                Intent::Metadata | Intent::Tool | Intent::Retrieval => Node::Think,
            }
        }
        None => {
            // The full agent takes over, because the message might need a tool.
            state.intent = Some(Intent::Tool);
            state.routed_via = Some("fallback".to_owned());
            Node::Think
        }
    };
    Ok(Step::go(state, next))
}

/// Whether the message says all that a task needs to know, since a task is told nothing else. If not, the person reads why
/// they get an answer and no task.
fn is_whole_wish(state: &mut AgentState) -> bool {
    let is_short = state.user_message().chars().count() <= MAX_WISH_CHARS;
    // What came with it is in further turns.
    let is_alone = state.turns.len() == 1 && state.recalled.thread_context().is_none();
    if !is_short {
        let most = group_digits(MAX_WISH_CHARS);
        state.add_note(&format!("To have this done as a task, say it in at most {most} characters."));
    } else if !is_alone {
        state.add_note("To have this done as a task, say all of it in one message, without files.");
    }
    is_short && is_alone
}

/// Returns the tool that answers what exists here, if the router named one that needs no arguments: no model is called for it.
fn find_list(intent: Intent, target: Option<&Tool>) -> Option<String> {
    let Tool::Read(tool) = target.filter(|_| intent == Intent::Metadata)? else { return None };
    let spec = tool.spec();
    let takes_nothing = spec.parameters["properties"].as_object().is_some_and(Map::is_empty);
    takes_nothing.then(|| spec.name.to_owned())
}

/// Calls a tool as if a model had called it.
fn call_tool(mut state: AgentState, tool: String, arguments: &Value) -> Step {
    let call = ToolCall { id: "routed".to_owned(), name: tool.clone(), arguments: arguments.to_string() };
    state.target_tool = state.target_tool.or(Some(tool));
    state.turns.push(Turn::Ai { text: String::new(), calls: vec![call.clone()] });
    state.pending_calls.push(PendingCall {
        call,
        picked_values: BTreeMap::new(),
        waiting_for: None,
        user_edits: Map::new(),
        closed_as: None,
    });
    Step::go(state, Node::Gate)
}

/// Returns the tool that reads a draft before it is changed, because the person might have edited it meanwhile.
fn find_draft_reading_tool(state: &AgentState) -> Option<String> {
    let newest = &state.drafts.open.first()?.draft.tools;
    (state.target_tool.as_ref() == Some(&newest.update)).then(|| newest.read.clone())
}

/// Whether the message consists only of words that send the open draft.
fn is_send_command(said: &str) -> bool {
    const SEND: [&str; 14] = [
        "send",
        "send it",
        "send this",
        "send that",
        "send the draft",
        "send this draft",
        "send the mail",
        "send the email",
        "send it now",
        "send it please",
        "please send",
        "please send it",
        "please send the draft",
        "ok send it",
    ];
    let said = said.trim().trim_end_matches(['!', '.']).to_lowercase().replace(',', "");
    SEND.contains(&said.as_str())
}

/// Returns an answer that needs no model.
fn match_rule(said: &str, cx: &NodeContext<'_>) -> Option<(&'static str, String)> {
    let longest = cx.max_message_chars;
    let length = said.chars().count();
    if length > longest {
        let words = format!(
            "Your message is {} characters long, and I can read {} at once. Please send the part that \
             matters.",
            group_digits(length),
            group_digits(longest)
        );
        return Some(("too_long", words));
    }
    match said.trim().trim_end_matches(['!', '.', '?']).to_lowercase().as_str() {
        // If a turn were open, ingest would have stopped it.
        "stop" => Some(("stop", "I'm not working on anything for you here.".to_owned())),
        "" | "help" => Some(("help", (cx.help)(cx.command_syntax))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_send_command;

    #[test]
    fn only_the_bare_phrases_send() {
        for said in ["send", "Send it!", " send the draft. ", "please, send it", "OK, send it"] {
            assert!(is_send_command(said), "{said}");
        }
        for said in ["send it to Bo", "don't send it", "send?", "sent", "send it tomorrow", ""] {
            assert!(!is_send_command(said), "{said}");
        }
    }
}
