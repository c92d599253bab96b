//! An answer on the wire: a JSON object, or server-sent events in many small pieces.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};

use super::Shared;
use super::script::{Answer, ToolCall};
use crate::serve;

/// The content of one completion.
#[derive(Debug)]
pub(super) struct Completion {
    text: Option<String>,
    calls: Vec<(String, ToolCall)>,
    finish_reason: String,
    /// The script changed it, so the vendor's specification is not enforced.
    bent: bool,
    cut_after: Option<usize>,
    hold_after: Option<usize>,
    streamed: bool,
    with_usage: bool,
    id: String,
    model: String,
    usage: Value,
}

const CREATED: u64 = 1_767_225_600;

impl Completion {
    pub fn new(
        request: &Value,
        answer: &Answer,
        text: Option<String>,
        calls: Vec<ToolCall>,
        model: &str,
        number: u64,
    ) -> Self {
        let natural = if calls.is_empty() { "stop" } else { "tool_calls" };
        // Roughly four characters per token: enough for budgets to have something to count.
        let prompt = request["messages"].to_string().len() / 4 + 1;
        let said =
            text.as_ref().map_or(0, String::len) + calls.iter().map(|c| c.arguments.len() + 8).sum::<usize>();
        let completion = said / 4 + 1;
        let numbered = |(at, call)| (format!("call_{number}_{at}"), call);
        Self {
            text,
            calls: calls.into_iter().enumerate().map(numbered).collect(),
            finish_reason: answer.finish_reason.clone().unwrap_or_else(|| natural.to_owned()),
            bent: answer.finish_reason.is_some(),
            cut_after: answer.cut_after,
            hold_after: answer.pause_after,
            streamed: request["stream"] == true,
            with_usage: request["stream_options"]["include_usage"] == true,
            id: format!("chatcmpl-sandbox-{number}"),
            model: model.to_owned(),
            usage: json!({
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }),
        }
    }

    pub fn respond(self, shared: &Arc<Shared>) -> Response {
        match (self.streamed, self.cut_after) {
            (true, _) => self.stream(shared),
            (false, Some(_)) => serve::drop_connection(),
            (false, None) => {
                let whole = self.to_response_body();
                if !self.bent {
                    shared.judge_own(shared.strictness.response(&whole));
                }
                Json(whole).into_response()
            }
        }
    }

    fn to_response_body(&self) -> Value {
        let mut message =
            json!({"role": "assistant", "content": self.text, "refusal": null, "annotations": []});
        if !self.calls.is_empty() {
            let call = |(id, call): &(String, ToolCall)| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": id, "type": "function", "function": function})
            };
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": self.finish_reason,
            }],
            "usage": self.usage,
        })
    }

    fn stream(self, shared: &Arc<Shared>) -> Response {
        let chunks = self.chunks();
        if !self.bent {
            chunks.iter().for_each(|chunk| shared.judge_own(shared.strictness.chunk(chunk)));
        }
        let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        events.push("data: [DONE]\n\n".to_owned());
        if let Some(cut) = self.cut_after {
            // Whatever its length: a cut stream never contains its end.
            events.truncate(cut.min(events.len().saturating_sub(2 + usize::from(self.with_usage))));
        }
        let pace = shared.config.pace;
        let (shared, hold) = (shared.clone(), self.hold_after);
        let body = stream::unfold(events.into_iter().enumerate(), move |mut events| {
            let shared = shared.clone();
            async move {
                let (at, event) = events.next()?;
                // Even a sleep of zero takes a millisecond.
                if let Some(pace) = pace {
                    tokio::time::sleep(pace).await;
                }
                if hold == Some(at) {
                    shared.wait_for_release().await;
                }
                Some((Ok::<_, std::io::Error>(Bytes::from(event)), events))
            }
        });
        let headers =
            [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
        (StatusCode::OK, headers, Body::from_stream(body)).into_response()
    }

    fn chunks(&self) -> Vec<Value> {
        let mut all = vec![self.delta(&json!({"role": "assistant", "content": ""}), None)];
        for piece in pieces(self.text.as_deref().unwrap_or_default()) {
            all.push(self.delta(&json!({"content": piece}), None));
        }
        for (index, (id, call)) in self.calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": ""});
            let opening = json!({"index": index, "id": id, "type": "function", "function": function});
            all.push(self.delta(&json!({"tool_calls": [opening]}), None));
            for piece in pieces(&call.arguments) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                all.push(self.delta(&json!({"tool_calls": [more]}), None));
            }
        }
        all.push(self.delta(&json!({}), Some(&self.finish_reason)));
        if self.with_usage {
            let mut last = self.chunk(&json!([]));
            last["usage"] = self.usage.clone();
            all.push(last);
        }
        all
    }

    fn delta(&self, delta: &Value, finish_reason: Option<&str>) -> Value {
        self.chunk(&json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]))
    }

    fn chunk(&self, choices: &Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": choices,
        });
        if self.with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// Splits the text into pieces of seven characters: short enough to cut words, quotes and escapes apart.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(7).map(|chunk| chunk.iter().collect()).collect()
}

impl Shared {
    fn judge_own(&self, wrong: Vec<String>) {
        if !wrong.is_empty() {
            self.change(|state| {
                state.violations.extend(wrong.into_iter().map(|one| format!("own answer: {one}")))
            });
        }
    }
}
