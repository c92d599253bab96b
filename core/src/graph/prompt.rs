//! Builds prompts: a static part first, so that its prefix stays the same, then what changes.

use chrono::Offset;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::NodeContext;
use crate::clock::Timestamp;
use crate::model::{Ask, Offer, Tier, Turn};
use crate::run::AgentState;
use crate::tool::{Reach, Tool, Tools};

const ASSISTANT: &str = include_str!("../../prompts/assistant.md");
const ROUTER: &str = include_str!("../../prompts/router.md");

/// The reasoner's prompt.
pub(super) fn think(state: &AgentState, cx: &NodeContext<'_>) -> Ask {
    Ask {
        tier: Tier::Reasoner,
        system: system(state, cx.clock.now()),
        turns: turns(state),
        offers: offers(cx.tools, state.target_tool.as_deref()),
        json: None,
    }
}

/// The prompt of one call without tools.
pub(super) fn converse(state: &AgentState, cx: &NodeContext<'_>) -> Ask {
    Ask { offers: Vec::new(), ..think(state, cx) }
}

/// The router's prompt: the last few sentences, and the names of the tools.
pub(super) fn route(state: &AgentState, tools: &Tools) -> Ask {
    let names: Vec<Value> =
        tools.iter().map(|t| json!(t.spec().name)).chain(std::iter::once(Value::Null)).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "intent": { "type": "string", "enum": ["metadata", "tool", "retrieval", "conversational"] },
            "tool": { "type": ["string", "null"], "enum": names },
        },
        "required": ["intent", "tool"],
        "additionalProperties": false,
    });
    let listed: Vec<String> =
        tools.iter().map(|t| format!("- {}: {}", t.spec().name, first_line(t))).collect();
    let recent = state.history.len().saturating_sub(4);
    let mut turns = state.history[recent..].to_vec();
    turns.push(Turn::Human { text: state.said().to_owned() });
    Ask {
        tier: Tier::Router,
        system: format!("{ROUTER}\nTools:\n{}", listed.join("\n")),
        turns,
        offers: Vec::new(),
        json: Some(("route".to_owned(), schema)),
    }
}

fn first_line(tool: &Tool) -> &str {
    tool.spec().description.lines().next().unwrap_or_default()
}

/// A hint narrows the offer to that tool and the reading ones it may need first.
fn offers(tools: &Tools, hint: Option<&str>) -> Vec<Offer> {
    let hint = hint.filter(|name| tools.get(name).is_some());
    tools
        .iter()
        .map(Tool::spec)
        .filter(|spec| hint.is_none_or(|name| spec.name == name || spec.reach == Reach::Reads))
        .map(|spec| Offer {
            name: spec.name.to_owned(),
            description: spec.description.trim().to_owned(),
            parameters: spec.parameters.clone(),
        })
        .collect()
}

fn turns(state: &AgentState) -> Vec<Turn> {
    state.history.iter().chain(&state.turns).cloned().collect()
}

/// Static rules, then the person, the time and what waits, as flat lines.
fn system(state: &AgentState, now: Timestamp) -> String {
    let principal = &state.principal;
    let mut lines = vec![
        format!("- Name: {}", principal.name),
        format!("- Address: {}", principal.address.as_deref().unwrap_or("unknown")),
        format!("- Local time: {}", local_time(now, &principal.zone)),
        format!("- Place: {}", if state.shared { "a channel that others read" } else { "a direct message" }),
    ];
    if let Some(goal) = &state.working.current_goal {
        lines.push(format!("- Goal: {goal}"));
    }
    lines.extend(state.working.extracted_info.iter().map(|(name, value)| format!("- {name}: {value}")));
    lines.extend(state.waiting.iter().map(|line| format!("- Waits for a nod: {line}")));
    format!("{ASSISTANT}\nThe person you work for now:\n\n{}", lines.join("\n"))
}

/// "Fri 6 Mar 2026, 15:00 CET"; UTC where the zone is not known.
pub(crate) fn local_time(now: Timestamp, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    debug_assert_eq!(now.offset().fix().local_minus_utc(), 0);
    jiff::Timestamp::from_microsecond(now.timestamp_micros())
        .map(|at| at.to_zoned(zone).strftime("%a %-d %b %Y, %H:%M %Z").to_string())
        .unwrap_or_default()
}

/// Text from outside, between markers that it cannot forge.
pub(crate) fn fenced(content: &str, sources: &[String], marker: &str) -> String {
    let from = sources.join("; ").replace(['\n', '\r'], " ");
    format!("outside {marker} begins ({from})\n{content}\noutside {marker} ends")
}
