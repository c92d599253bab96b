//! Builds the summariser's prompt: a static part, then the known facts and the messages. Pure.

use serde_json::{Value, json};

use super::batch::Batch;
use super::{ConversationSummary, Fact, FactKind};
use nod_contract::model::{CompletionRequest, Tier, Turn};
use nod_contract::text::fence_untrusted;

const MEMORY: &str = include_str!("../../prompts/memory.md");
/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// The most facts that are taken from one reading.
pub(super) const MAX_FACTS: usize = 8;

/// Requests a summary, facts and what to forget. `marker` fences untrusted content.
pub(super) fn summariser_request(
    batch: &Batch,
    summary: &ConversationSummary,
    noted: &[Fact],
    marker: &str,
) -> CompletionRequest {
    let mut parts = Vec::new();
    if !noted.is_empty() {
        parts.push(format!("Noted already:\n{}", lines(noted)));
    }
    if !summary.text.is_empty() {
        parts.push(format!(
            "Summary so far:\n{}",
            fenced_if_untrusted(&summary.text, &summary.untrusted_sources, marker)
        ));
    }
    let messages: Vec<String> = batch
        .messages
        .iter()
        .enumerate()
        .map(|(at, heard)| {
            let words: String = heard.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let words: String = words.chars().take(MAX_MESSAGE_CHARS).collect();
            format!(
                "[{}] {}: {}",
                at + 1,
                heard.speaker,
                fenced_if_untrusted(&words, &heard.untrusted_sources, marker)
            )
        })
        .collect();
    parts.push(format!("Messages:\n{}", messages.join("\n")));
    parts.push(match batch.to_summarise {
        0 => "Nothing is to be folded in; leave the summary empty.".to_owned(),
        fold => format!("Fold in messages up to [{fold}]."),
    });
    parts.push(format!("New from message [{}] on.", batch.old + 1));
    CompletionRequest {
        tier: Tier::Summariser,
        system: MEMORY.into(),
        turns: vec![Turn::Human { text: parts.join("\n\n") }],
        tools: Vec::new(),
        response_schema: Some(("memory".to_owned(), schema())),
    }
}

fn lines(noted: &[Fact]) -> String {
    let line = |(at, fact): (usize, &Fact)| match fact.kind {
        FactKind::Goal => format!("Goal: {}", fact.value),
        FactKind::Fact => format!("({}) {}", at + 1, fact.line()),
    };
    noted.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Fences untrusted content, so that it is not mistaken for a person's request.
fn fenced_if_untrusted(text: &str, outside: &[String], marker: &str) -> String {
    if outside.is_empty() { text.to_owned() } else { fence_untrusted(text, outside, marker) }
}

fn schema() -> Value {
    let number = json!({ "type": "integer" });
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "summary": text,
            "goal": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": { "text": text, "message": number },
                        "required": ["text", "message"],
                        "additionalProperties": false,
                    },
                    { "type": "null" },
                ],
            },
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": text,
                        "value": text,
                        "about": { "type": "string", "enum": ["channel", "speaker"] },
                        "message": number,
                    },
                    "required": ["name", "value", "about", "message"],
                    "additionalProperties": false,
                },
            },
            "forget": { "type": "array", "items": number },
        },
        "required": ["summary", "goal", "facts", "forget"],
        "additionalProperties": false,
    })
}
