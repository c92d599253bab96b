//! A [`CompletionRequest`] as the JSON of a chat completion. Pure; the static part comes first and tools keep their
//! order, so that a provider can cache the prefix.

use std::borrow::Cow;

use nod_contract::model::{CompletionRequest, ToolCall, ToolDefinition, Turn};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::TierSettings;
use super::dialect::{Dialect, StructuredOutput};

/// Returns whether the answer is streamed: all but constrained JSON, which is useful only as a whole.
pub(super) fn streams(ask: &CompletionRequest) -> bool {
    ask.response_schema.is_none()
}

/// Builds the request, as text: the schemas of the tools are part of every one.
pub(super) fn body(
    ask: &CompletionRequest,
    settings: &TierSettings,
    dialect: Dialect,
) -> serde_json::Result<Box<RawValue>> {
    // By its shortest decimal: 0.2 as f32 would be written 0.20000000298.
    let exact = |temperature: f32| temperature.to_string().parse().unwrap_or_else(|_| f64::from(temperature));
    let (completion_tokens, max_tokens) =
        if dialect.completion_tokens { (settings.max_tokens, None) } else { (None, settings.max_tokens) };
    to_raw_value(&Body {
        model: &settings.model,
        messages: messages(ask, dialect),
        tools: ask.tools.iter().map(|offer| ShownTool::new(offer, dialect)).collect(),
        response_format: response_format(ask, dialect),
        temperature: settings.temperature.filter(|_| !dialect.no_temperature).map(exact),
        max_completion_tokens: completion_tokens,
        max_tokens,
        stream: streams(ask),
        stream_options: (streams(ask) && !dialect.no_stream_options).then(|| json!({"include_usage": true})),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ShownTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// Null where there are only calls.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ShownCall<'a>>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: impl Into<Cow<'a, str>>) -> Self {
        Self { role, tool_call_id: None, content: Some(content.into()), tool_calls: Vec::new() }
    }
}

fn messages(ask: &CompletionRequest, dialect: Dialect) -> Vec<Message<'_>> {
    let mut system = ask.system.text();
    if let (Some((_, schema)), true) = (&ask.response_schema, dialect.structure != StructuredOutput::Schema) {
        system.push_str(
            "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON Schema:\n",
        );
        system.push_str(&schema.to_string());
    }
    std::iter::once(Message::new("system", system))
        .chain(ask.turns.iter().map(|turn| message(turn, dialect)))
        .collect()
}

fn message(turn: &Turn, dialect: Dialect) -> Message<'_> {
    match turn {
        Turn::System { text } if dialect.lone_system => {
            Message::new("user", format!("(A note of the system, not the person's words:) {text}"))
        }
        Turn::System { text } => Message::new("system", text),
        Turn::Human { text } => Message::new("user", non_empty(text)),
        Turn::Ai { text, calls } if calls.is_empty() => Message::new("assistant", text),
        Turn::Ai { text, calls } => Message {
            role: "assistant",
            tool_call_id: None,
            content: (!text.is_empty()).then_some(Cow::Borrowed(text)),
            tool_calls: calls.iter().map(|call| ShownCall::new(call, dialect)).collect(),
        },
        Turn::Tool { call_id, content, .. } => {
            Message { tool_call_id: Some(call_id), ..Message::new("tool", non_empty(content)) }
        }
    }
}

/// Replaces empty text: some endpoints reject an empty message.
fn non_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}

#[derive(Serialize)]
struct ShownCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ShownFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct ShownFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> ShownCall<'a> {
    /// Some servers parse the arguments of past calls and fail on malformed ones, so those are wrapped: the model still
    /// sees what it wrote.
    fn new(call: &'a ToolCall, dialect: Dialect) -> Self {
        let arguments = match serde_json::from_str::<Value>(&call.arguments) {
            Ok(Value::Object(_)) => Cow::Borrowed(call.arguments.as_str()),
            _ => Cow::Owned(json!({"malformed": call.arguments}).to_string()),
        };
        // Gemini's own value for a call whose signature was not kept
        // (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
        let extra_content = dialect
            .thought_signatures
            .then(|| json!({"google": {"thought_signature": "skip_thought_signature_validator"}}));
        let function = ShownFunction { name: &call.name, arguments };
        Self { id: &call.id, kind: "function", function, extra_content }
    }
}

#[derive(Serialize)]
struct ShownTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ShownDefinition<'a>,
}

#[derive(Serialize)]
struct ShownDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, RawValue>,
}

impl<'a> ShownTool<'a> {
    fn new(offer: &'a ToolDefinition, dialect: Dialect) -> Self {
        let simplified = || {
            let mut schema = serde_json::from_str(offer.parameters.get()).ok()?;
            simplify_schema(&mut schema);
            to_raw_value(&schema).ok()
        };
        let simplified = if dialect.basic_schemas { simplified() } else { None };
        let parameters = simplified.map_or(Cow::Borrowed(offer.parameters.as_ref()), Cow::Owned);
        let function = ShownDefinition { name: &offer.name, description: &offer.description, parameters };
        Self { kind: "function", function }
    }
}

/// Removes parts of a schema that Gemini's dialect does not support. Nod still checks the arguments against the whole
/// schema.
fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("additionalProperties");
            fields.remove("$schema");
            if let Some(Value::Array(kinds)) = fields.get("type") {
                let first = kinds.iter().find(|kind| *kind != "null").cloned();
                fields.insert("type".into(), first.unwrap_or_else(|| "string".into()));
            }
            fields.values_mut().for_each(simplify_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

fn response_format(ask: &CompletionRequest, dialect: Dialect) -> Option<Value> {
    let (name, schema) = ask.response_schema.as_ref()?;
    match dialect.structure {
        StructuredOutput::Schema => Some(
            json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": true}}),
        ),
        StructuredOutput::Object => Some(json!({"type": "json_object"})),
        StructuredOutput::Prompt => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::time::Duration;

    use nod_contract::model::Tier;

    use super::*;

    fn settings() -> TierSettings {
        TierSettings {
            base_url: "http://m.test/v1".into(),
            api_key: "k".to_owned().into(),
            model: "m".into(),
            temperature: Some(0.2),
            timeout: Duration::from_secs(1),
            max_tokens: Some(100),
            dialect: Dialect::default(),
            fallback: None,
        }
    }

    fn example_request() -> CompletionRequest {
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: "look".into(),
            arguments: arguments.into(),
        };
        CompletionRequest {
            tier: Tier::Reasoner,
            system: "Be brief.".into(),
            turns: vec![
                Turn::Human { text: "Hi".into() },
                Turn::Ai { text: String::new(), calls: vec![call("c1", r#"{"a":1}"#), call("c2", "{oops")] },
                Turn::Tool { call_id: "c1".into(), name: "look".into(), content: "1".into() },
                Turn::Tool { call_id: "c2".into(), name: "look".into(), content: "no".into() },
                Turn::System { text: "Go on.".into() },
            ],
            tools: vec![look(&json!({"type": "object"}))],
            response_schema: None,
        }
    }

    fn look(parameters: &Value) -> Arc<ToolDefinition> {
        Arc::new(ToolDefinition::new("look", "Looks.", parameters))
    }

    fn body(ask: &CompletionRequest, settings: &TierSettings, dialect: Dialect) -> Value {
        serde_json::from_str(super::body(ask, settings, dialect).unwrap().get()).unwrap()
    }

    #[test]
    fn a_conversation_with_tools_is_streamed() {
        let body = body(&example_request(), &settings(), Dialect::default());
        assert_eq!(
            body,
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Hi"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}},
                        {"id": "c2", "type": "function",
                         "function": {"name": "look", "arguments": "{\"malformed\":\"{oops\"}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "c1", "content": "1"},
                    {"role": "tool", "tool_call_id": "c2", "content": "no"},
                    {"role": "system", "content": "Go on."},
                ],
                "tools": [{"type": "function", "function":
                    {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}],
                "temperature": 0.2,
                "max_tokens": 100,
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn request_follows_the_dialect() {
        let mut ask = example_request();
        ask.tools = vec![look(&json!({"type": "object", "additionalProperties": false,
            "properties": {"q": {"type": ["string", "null"]}}}))];
        ask.turns.push(Turn::Tool { call_id: "c3".into(), name: "look".into(), content: String::new() });
        let narrow = Dialect {
            lone_system: true,
            basic_schemas: true,
            thought_signatures: true,
            ..Dialect::default()
        };
        let body = body(&ask, &settings(), narrow);
        let roles: Vec<&str> =
            body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user", "tool"]);
        assert_eq!(body["messages"][6]["content"], json!("(nothing)"));
        assert!(body["messages"][2]["tool_calls"][0]["extra_content"]["google"].is_object());
        assert_eq!(
            body["tools"][0]["function"]["parameters"],
            json!({"type": "object", "properties": {"q": {"type": "string"}}})
        );
    }

    #[test]
    fn constrained_json_comes_whole_and_falls_back_to_the_prompt() {
        let ask = CompletionRequest {
            response_schema: Some(("route".into(), json!({"type": "object"}))),
            ..example_request()
        };
        let strict = body(&ask, &settings(), Dialect::default());
        assert_eq!(strict["stream"], json!(false));
        assert_eq!(strict["response_format"]["json_schema"]["strict"], json!(true));
        assert_eq!(strict["messages"][0]["content"], json!("Be brief."));

        let dialect =
            Dialect { structure: StructuredOutput::Prompt, completion_tokens: true, ..Dialect::default() };
        let plain = body(&ask, &settings(), dialect);
        assert_eq!(plain.get("response_format"), None);
        assert!(plain["messages"][0]["content"].as_str().unwrap_or_default().contains("JSON Schema"));
        assert_eq!((plain.get("max_tokens"), &plain["max_completion_tokens"]), (None, &json!(100)));
    }
}
