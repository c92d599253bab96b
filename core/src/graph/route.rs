//! Route: rules first, then the router model, whose answer is constrained JSON. A failed classification
//! falls back to the full agent.

use serde::Deserialize;
use serde_json::Value;

use super::{Node, NodeContext, NodeError, Step, prompt, think};
use crate::model::Turn;
use crate::run::{AgentState, Intent};

#[derive(Deserialize)]
struct Routed {
    intent: Intent,
    tool: Option<String>,
}

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    if let Some((rule, words)) = by_rule(state.said(), cx.longest_message) {
        state.intent = Some(Intent::Conversational);
        state.routed_via = Some(format!("rule:{rule}"));
        state.turns.push(Turn::Ai { text: words.clone(), calls: Vec::new() });
        state.reply = Some(words);
        return Ok(Step::go(state, Node::Reply));
    }
    let ask = prompt::route(&state, cx.tools);
    let routed = match think::asked(&ask, cx).await {
        Ok(answer) => serde_json::from_str::<Value>(answer.text.trim())
            .and_then(Routed::deserialize)
            .map_err(|_| tracing::debug!(run = %cx.run, "the router's answer was no route"))
            .ok(),
        Err(_) => None,
    };
    let next = match routed {
        Some(routed) => {
            state.intent = Some(routed.intent);
            state.target_tool = routed.tool.filter(|name| cx.tools.get(name).is_some());
            state.routed_via = Some("router".to_owned());
            match routed.intent {
                Intent::Conversational => Node::Converse,
                Intent::Metadata | Intent::Tool | Intent::Retrieval => Node::Think,
            }
        }
        None => {
            // The full agent takes it: whatever it is, it may need a tool.
            state.intent = Some(Intent::Tool);
            state.routed_via = Some("fallback".to_owned());
            Node::Think
        }
    };
    Ok(Step::go(state, next))
}

/// What needs no model.
fn by_rule(said: &str, longest: usize) -> Option<(&'static str, String)> {
    let length = said.chars().count();
    if length > longest {
        let words = format!(
            "Your message has {} characters; I read up to {} at once. Nothing of it was used. \
             Please send the part that matters.",
            grouped(length),
            grouped(longest)
        );
        return Some(("too_long", words));
    }
    match said.trim().trim_end_matches(['!', '.', '?']).to_lowercase().as_str() {
        "" | "help" => Some(("help", crate::inbox::help_text().to_owned())),
        _ => None,
    }
}

/// 100000 as "100,000".
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<String> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| group.iter().map(|b| char::from(*b)).collect())
        .collect();
    groups.join(",")
}
