//! A [`CompletionRequest`] as the JSON of a chat completion. Pure; the static part comes first and tools keep their
//! order, so that a provider can cache the prefix.

use nod_contract::model::{CompletionRequest, ToolCall, ToolDefinition, Turn};
use serde_json::{Map, Value, json};

use super::TierSettings;
use super::dialect::{Dialect, StructuredOutput};

/// Returns whether the answer is streamed: all but constrained JSON, which is useful only as a whole.
pub(super) fn streams(ask: &CompletionRequest) -> bool {
    ask.response_schema.is_none()
}

/// Builds the request.
pub(super) fn body(ask: &CompletionRequest, settings: &TierSettings, dialect: Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(settings.model));
    body.insert("messages".into(), messages(ask, dialect));
    if !ask.tools.is_empty() {
        body.insert("tools".into(), ask.tools.iter().map(|offer| tool(offer, dialect)).collect());
    }
    if let Some(format) = response_format(ask, dialect) {
        body.insert("response_format".into(), format);
    }
    if let Some(temperature) = settings.temperature.filter(|_| !dialect.no_temperature) {
        // By its shortest decimal: 0.2 as f32 would be written 0.20000000298.
        let exact = temperature.to_string().parse::<f64>().unwrap_or_else(|_| f64::from(temperature));
        body.insert("temperature".into(), json!(exact));
    }
    if let Some(most) = settings.max_tokens {
        let name = if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.into(), json!(most));
    }
    body.insert("stream".into(), json!(streams(ask)));
    if streams(ask) && !dialect.no_stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn messages(ask: &CompletionRequest, dialect: Dialect) -> Value {
    let mut system = ask.system.clone();
    if let (Some((_, schema)), true) = (&ask.response_schema, dialect.structure != StructuredOutput::Schema) {
        system.push_str(
            "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON Schema:\n",
        );
        system.push_str(&schema.to_string());
    }
    std::iter::once(json!({"role": "system", "content": system}))
        .chain(ask.turns.iter().map(|turn| message(turn, dialect)))
        .collect()
}

fn message(turn: &Turn, dialect: Dialect) -> Value {
    match turn {
        Turn::System { text } if dialect.lone_system => {
            json!({"role": "user", "content": format!("(A note of the system, not the person's words:) {text}")})
        }
        Turn::System { text } => json!({"role": "system", "content": text}),
        Turn::Human { text } => json!({"role": "user", "content": non_empty(text)}),
        Turn::Ai { text, calls } if calls.is_empty() => json!({"role": "assistant", "content": text}),
        Turn::Ai { text, calls } => json!({
            "role": "assistant",
            "content": (!text.is_empty()).then_some(text),
            "tool_calls": calls.iter().map(|call| tool_call(call, dialect)).collect::<Vec<_>>(),
        }),
        Turn::Tool { call_id, content, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": non_empty(content)})
        }
    }
}

/// Replaces empty text: some endpoints reject an empty message.
fn non_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}

/// Some servers parse the arguments of past calls and fail on malformed ones, so those are wrapped: the model still
/// sees what it wrote.
fn tool_call(call: &ToolCall, dialect: Dialect) -> Value {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(_)) => call.arguments.clone(),
        _ => json!({"malformed": call.arguments}).to_string(),
    };
    let mut shown =
        json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}});
    if dialect.thought_signatures {
        // Gemini's own value for a call whose signature was not kept
        // (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
        shown["extra_content"] = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    }
    shown
}

fn tool(offer: &ToolDefinition, dialect: Dialect) -> Value {
    let mut parameters = offer.parameters.clone();
    if dialect.basic_schemas {
        simplify_schema(&mut parameters);
    }
    json!({"type": "function", "function": {
        "name": offer.name, "description": offer.description, "parameters": parameters,
    }})
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
            tools: vec![ToolDefinition {
                name: "look".into(),
                description: "Looks.".into(),
                parameters: json!({"type": "object"}),
            }],
            response_schema: None,
        }
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
        ask.tools[0].parameters = json!({"type": "object", "additionalProperties": false,
            "properties": {"q": {"type": ["string", "null"]}}});
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
