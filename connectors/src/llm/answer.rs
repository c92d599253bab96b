//! Assembles an answer from the pieces of a stream, or from one whole piece.
//!
//! Lenient on purpose: compatible servers omit ids, indexes and usage, invent finish reasons, and add fields for
//! reasoning, which is private and dropped. Strict in one thing: an answer without a finish reason is no answer.

use std::collections::BTreeMap;

use nod_contract::model::{Completion, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::attempt_error::AttemptError;
use super::reasoning_filter::{CLOSE, ReasoningFilter};
use super::transport::shorten;

/// The maximum size of an answer, in bytes: a longer one counts as cut at the model's limit.
const MAX_ANSWER_BYTES: usize = 1 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionChunk {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<TokenCounts>,
    /// Groq puts the usage here.
    x_groq: Option<GroqExtension>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroqExtension {
    usage: Option<TokenCounts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: u64,
    /// In a stream.
    delta: Option<MessageDelta>,
    /// In a whole answer.
    message: Option<MessageDelta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageDelta {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCallDelta>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    /// The kind: text, or reasoning, which is private.
    #[serde(rename = "type")]
    kind: Option<String>,
    text: String,
}

impl ContentPart {
    fn visible_text(&self) -> &str {
        match self.kind.as_deref() {
            None | Some("text" | "output_text") => &self.text,
            Some(_) => "",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// A string by the protocol; some servers send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
}

/// An answer in progress.
#[derive(Debug, Default)]
pub(super) struct CompletionBuilder {
    id: Option<String>,
    model: Option<String>,
    text: String,
    reasoning_filter: ReasoningFilter,
    /// Reasoning was expected before the text.
    leading_reasoning: bool,
    refusal: String,
    calls: BTreeMap<u64, PartialToolCall>,
    finish: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug, Default)]
struct PartialToolCall {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl CompletionBuilder {
    /// Creates an empty answer. `leading_reasoning` if the endpoint puts reasoning before a `</think>` without an opening tag.
    pub(super) fn new(aloud: bool) -> Self {
        Self { reasoning_filter: ReasoningFilter::new(aloud), leading_reasoning: aloud, ..Self::default() }
    }

    /// Adds the next piece, and returns the text that it added.
    pub(super) fn push_chunk(&mut self, piece: Value) -> Result<&str, AttemptError> {
        let before = self.text.len();
        let Ok(chunk) = serde_json::from_value::<CompletionChunk>(piece) else {
            return Err(AttemptError::lost("the answer has an unknown shape"));
        };
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Value::as_str).or(error.as_str());
            return Err(AttemptError::lost(format!(
                "it failed while answering: {}",
                shorten(message.unwrap_or("no reason"))
            )));
        }
        self.id = self.id.take().or(chunk.id);
        self.model = self.model.take().or(chunk.model.filter(|model| !model.is_empty()));
        let counted = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage));
        if let Some(counts) = counted.filter(|counts| counts.prompt_tokens.is_some()) {
            let (prompt, completion) = (counts.prompt_tokens, counts.completion_tokens);
            self.usage = Some(Usage { prompt: prompt.unwrap_or(0), completion: completion.unwrap_or(0) });
        }
        // Only the first choice was requested.
        for choice in chunk.choices.unwrap_or_default().into_iter().filter(|choice| choice.index == 0) {
            self.finish = choice.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
            for said in [choice.delta, choice.message].into_iter().flatten() {
                self.apply_delta(said);
            }
        }
        Ok(&self.text[before..])
    }

    fn apply_delta(&mut self, said: MessageDelta) {
        match said.content {
            Some(Content::Text(text)) => self.text.push_str(&self.reasoning_filter.push(&text)),
            Some(Content::Parts(parts)) => {
                parts
                    .iter()
                    .for_each(|part| self.text.push_str(&self.reasoning_filter.push(part.visible_text())));
            }
            None => {}
        }
        self.refusal.push_str(said.refusal.as_deref().unwrap_or_default());
        for piece in said.tool_calls.unwrap_or_default() {
            self.apply_tool_call(piece);
        }
    }

    fn apply_tool_call(&mut self, piece: ToolCallDelta) {
        let at = self.tool_call_index(&piece);
        let call = self.calls.entry(at).or_default();
        call.id = call.id.take().or(piece.id.filter(|id| !id.is_empty()));
        let function = piece.function.unwrap_or_default();
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        match function.arguments {
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(Value::Null) | None => {}
            Some(object) => call.arguments.push_str(&object.to_string()),
        }
    }

    /// Returns the call that a piece belongs to. Some servers send no index, and some the same one for every call:
    /// there, a name with another id begins a new call.
    fn tool_call_index(&self, piece: &ToolCallDelta) -> u64 {
        let next = self.calls.keys().next_back().map_or(0, |last| last + 1);
        let begins = piece.function.as_ref().is_some_and(|f| f.name.as_ref().is_some_and(|n| !n.is_empty()));
        let id = piece.id.as_ref().filter(|id| !id.is_empty());
        let at = piece.index.unwrap_or(next.saturating_sub(1));
        match self.calls.get(&at) {
            None => at,
            Some(call) if begins && id.is_some() && call.id.as_ref() != id => next,
            Some(_) if begins && id.is_none() && piece.index.is_none() => next,
            Some(_) => at,
        }
    }

    /// Returns whether the endpoint puts unmarked reasoning before the text: if this was expected, until an answer
    /// shows otherwise; if not, whether this answer did so.
    pub(super) fn has_leading_reasoning(&self) -> bool {
        match self.leading_reasoning {
            true => !self.reasoning_filter.is_waiting(),
            false => strip_unopened_reasoning(&self.text).is_some(),
        }
    }

    /// Returns whether the answer has reached its maximum size.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= MAX_ANSWER_BYTES
    }

    /// Returns the answer after the last piece. `asked` is the model's name if the endpoint sends none; `now`
    /// (microseconds) makes ids for calls without one.
    pub(super) fn finish(self, asked: &str, now: i64) -> Result<Completion, AttemptError> {
        let full = self.is_full().then(|| "length".to_owned());
        let Some(finish) = full.or(self.finish).map(|finish| finish.to_lowercase()) else {
            return Err(AttemptError::lost("the answer broke off"));
        };
        if finish == "error" {
            return Err(AttemptError::lost("it failed while answering"));
        }
        if finish == "content_filter" {
            return Err(AttemptError::Withheld);
        }
        let mut text = self.text + self.reasoning_filter.held_text();
        text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
        if let Some(after) = strip_unopened_reasoning(&text) {
            text = after.to_owned();
        }
        if text.is_empty() {
            text = self.refusal;
        }
        let named = self.calls.into_values().filter(|call| !call.name.is_empty());
        let calls: Vec<ToolCall> = named
            .enumerate()
            .map(|(at, call)| ToolCall {
                id: call.id.unwrap_or_else(|| format!("call_{now}_{at}")),
                name: call.name,
                arguments: if call.arguments.is_empty() { "{}".into() } else { call.arguments },
            })
            .collect();
        if text.trim().is_empty() && calls.is_empty() {
            return Err(AttemptError::Empty);
        }
        let model = self.model.unwrap_or_else(|| asked.to_owned());
        Ok(Completion {
            text,
            calls,
            usage: self.usage,
            model,
            truncated: ["length", "max_tokens", "model_length"].contains(&finish.as_str()),
            from_fallback: false,
        })
    }
}

/// Returns the text after reasoning without an opening tag. The closing tag must be on its own line; an answer that
/// quotes such a tag, or is JSON, contains no reasoning.
fn strip_unopened_reasoning(text: &str) -> Option<&str> {
    let (before, after) = text.split_once(CLOSE)?;
    let alone =
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'));
    (alone && !before.trim_start().starts_with(['{', '['])).then(|| after.trim_start())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn assemble(pieces: Vec<Value>) -> Result<Completion, AttemptError> {
        let mut assembly = CompletionBuilder::default();
        for piece in pieces {
            assembly.push_chunk(piece)?;
        }
        assembly.finish("asked", 7)
    }

    fn delta(delta: Value, finish: Option<&str>) -> Value {
        json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    }

    #[test]
    fn streamed_text_and_usage_are_assembled() {
        let answer = assemble(vec![
            delta(json!({"role": "assistant", "content": ""}), None),
            delta(json!({"reasoning_content": "hm"}), None),
            delta(json!({"content": "Hel"}), None),
            delta(json!({"content": "lo"}), Some("eos")),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.1}}),
        ])
        .unwrap();
        assert_eq!((answer.text.as_str(), answer.truncated), ("Hello", false));
        assert_eq!(answer.usage, Some(Usage { prompt: 5, completion: 2 }));
    }

    #[test]
    fn several_calls_are_kept_apart_by_index_and_get_ids() {
        let answer = assemble(vec![
            delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "one", "arguments": ""}}]}), None),
            delta(json!({"tool_calls": [{"index": 1, "function": {"name": "two", "arguments": "{\"b\""}}]}), None),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}), None),
            delta(json!({"tool_calls": [{"index": 1, "function": {"arguments": ":2}"}}]}), Some("tool_calls")),
        ])
        .unwrap();
        let calls: Vec<_> = answer.calls.iter().map(|c| (&*c.id, &*c.name, &*c.arguments)).collect();
        assert_eq!(calls, [("a", "one", "{}"), ("call_7_1", "two", "{\"b\":2}")]);
    }

    #[test]
    fn calls_without_an_index_are_told_apart_by_their_names() {
        let answer = assemble(vec![
            delta(
                json!({"tool_calls": [{"function": {"name": "one"}}, {"function": {"name": "two"}}]}),
                None,
            ),
            delta(json!({"tool_calls": [{"function": {"arguments": {"b": 2}}}]}), Some("stop")),
        ])
        .unwrap();
        let calls: Vec<_> = answer.calls.iter().map(|c| (&*c.name, &*c.arguments)).collect();
        assert_eq!(calls, [("one", "{}"), ("two", "{\"b\":2}")]);
    }

    #[test]
    fn a_whole_answer_is_understood_too() {
        let whole = json!({"model": "m", "choices": [{"message": {"content": [{"type": "text", "text": "Hi"}],
            "refusal": null}, "finish_reason": "length"}], "usage": null});
        let answer = assemble(vec![whole]).unwrap();
        assert_eq!((answer.text.as_str(), answer.truncated, answer.usage), ("Hi", true, None));
    }

    #[test]
    fn an_answer_without_end_is_cut() {
        let mut assembly = CompletionBuilder::default();
        while !assembly.is_full() {
            assembly.push_chunk(delta(json!({"content": "ab\u{e9}".repeat(9_999)}), None)).unwrap();
        }
        let answer = assembly.finish("asked", 7).unwrap();
        assert!(answer.truncated && answer.text.len() <= MAX_ANSWER_BYTES, "{}", answer.text.len());
    }

    #[test]
    fn quoted_think_tag_is_not_reasoning() {
        for said in ["Models end a thought with </think>, then answer.", "{\"summary\":\"a\\n</think>\\nb\"}"]
        {
            let mut assembly = CompletionBuilder::default();
            assembly.push_chunk(delta(json!({"content": said}), Some("stop"))).unwrap();
            assert!(!assembly.has_leading_reasoning(), "{said}");
            assert_eq!(assembly.finish("asked", 7).unwrap().text, said);
        }
        // The expectation is dropped if an endpoint does not do it.
        let mut assembly = CompletionBuilder::new(true);
        assembly.push_chunk(delta(json!({"content": "Hello."}), Some("stop"))).unwrap();
        assert!(!assembly.has_leading_reasoning());
        assert_eq!(assembly.finish("asked", 7).unwrap().text, "Hello.");
    }

    #[test]
    fn invalid_completions_are_classified() {
        let cut = assemble(vec![delta(json!({"content": "Hel"}), None)]);
        assert_eq!(cut, Err(AttemptError::lost("the answer broke off")));
        assert_eq!(assemble(vec![delta(json!({"content": " "}), Some("stop"))]), Err(AttemptError::Empty));
        let held = assemble(vec![delta(json!({"content": "I"}), Some("content_filter"))]);
        assert_eq!(held, Err(AttemptError::Withheld));
        let failed = assemble(vec![json!({"error": {"message": "overloaded", "code": 529}})]);
        assert_eq!(failed, Err(AttemptError::lost("it failed while answering: overloaded")));
        assert!(matches!(assemble(vec![json!("?")]), Err(AttemptError::Unavailable { .. })));
    }
}
