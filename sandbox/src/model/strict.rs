//! Validation of requests: OpenAI's specification if it is available, and the rules it cannot express.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use crate::spec::{self, Spec};

const KNOWN: [&str; 29] = [
    "model",
    "messages",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "stream",
    "stream_options",
    "stop",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "seed",
    "user",
    "presence_penalty",
    "frequency_penalty",
    "metadata",
    "store",
    "reasoning_effort",
    "service_tier",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "verbosity",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
];

/// The compiled specification, if there is one.
#[derive(Debug, Default)]
pub(super) struct RequestValidator {
    request: Option<Validator>,
    response: Option<Validator>,
    chunk: Option<Validator>,
    embeddings: Option<Validator>,
}

impl RequestValidator {
    pub fn read(dir: Option<&Path>) -> std::io::Result<Self> {
        let Some(dir) = dir else { return Ok(Self::default()) };
        let spec = Spec::read(&dir.join("openai"), "openai.strict.schema.json")?.with_nullable();
        let operation = &spec.document()["x-operations"]["createChatCompletion"];
        let compiled = |part: &str| {
            let pointer = operation[part]["$ref"].as_str().unwrap_or_default();
            spec.validator(pointer).map(Some).map_err(std::io::Error::other)
        };
        Ok(Self {
            request: compiled("body")?,
            response: compiled("response")?,
            chunk: compiled("stream_chunk")?,
            embeddings: {
                let body = &spec.document()["x-operations"]["createEmbedding"]["body"]["$ref"];
                let pointer = body.as_str().unwrap_or_default();
                spec.validator(pointer).map(Some).map_err(std::io::Error::other)?
            },
        })
    }

    pub fn response(&self, answer: &Value) -> Vec<String> {
        self.response.as_ref().map(|validator| spec::violations(validator, answer)).unwrap_or_default()
    }

    pub fn chunk(&self, chunk: &Value) -> Vec<String> {
        self.chunk.as_ref().map(|validator| spec::violations(validator, chunk)).unwrap_or_default()
    }

    /// Returns everything that is wrong with a request for embeddings.
    pub fn find_embeddings_violations(&self, request: &Value) -> Vec<String> {
        const KNOWN: [&str; 5] = ["model", "input", "encoding_format", "dimensions", "user"];
        let Some(object) = request.as_object() else { return vec!["the body must be an object".to_owned()] };
        let mut wrong: Vec<String> = self
            .embeddings
            .as_ref()
            .map(|validator| spec::violations(validator, request))
            .unwrap_or_default();
        let unknown = object.keys().filter(|key| !KNOWN.contains(&key.as_str()));
        wrong.extend(unknown.map(|key| format!("Unrecognized request argument supplied: {key}")));
        if request["model"].as_str().is_none_or(str::is_empty) {
            wrong.push("you must provide a model parameter".to_owned());
        }
        wrong
    }

    /// Returns everything that is wrong with a request.
    pub fn find_request_violations(&self, request: &Value) -> Vec<String> {
        let Some(object) = request.as_object() else { return vec!["the body must be an object".to_owned()] };
        let mut wrong: Vec<String> =
            self.request.as_ref().map(|validator| spec::violations(validator, request)).unwrap_or_default();
        let unknown = object.keys().filter(|key| !KNOWN.contains(&key.as_str()));
        wrong.extend(unknown.map(|key| format!("Unrecognized request argument supplied: {key}")));
        wrong.extend(plain(request));
        wrong.extend(tools(request));
        wrong.extend(conversation(&request["messages"]).err());
        wrong.extend(find_response_format_violations(request));
        wrong
    }
}

fn plain(request: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    check(
        request["model"].as_str().is_some_and(|model| !model.is_empty()),
        "you must provide a model parameter",
    );
    let within = |key: &str, from: f64, to: f64| match &request[key] {
        Value::Null => true,
        value => value.as_f64().is_some_and(|number| (from..=to).contains(&number)),
    };
    check(within("temperature", 0.0, 2.0), "temperature must be between 0 and 2");
    check(within("top_p", 0.0, 1.0), "top_p must be between 0 and 1");
    check(within("n", 1.0, 1.0), "only n = 1 is known here");
    let streamed = request["stream"] == true;
    check(
        request["stream_options"].is_null() || streamed,
        "stream_options is only allowed when stream is enabled",
    );
    let both = !request["max_tokens"].is_null() && !request["max_completion_tokens"].is_null();
    check(!both, "max_tokens and max_completion_tokens exclude each other");
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let without = request["tool_choice"].is_null() && request["parallel_tool_calls"].is_null();
    check(
        has_tools || without,
        "tool_choice and parallel_tool_calls are only allowed when tools are specified",
    );
    check(has_tools || request["tools"].is_null(), "tools must not be empty");
    wrong
}

fn is_name(name: &Value) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(fine))
}

fn tools(request: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for tool in request["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        if tool["type"] != "function" || !is_name(&function["name"]) {
            wrong.push(format!(
                "tool '{name}': type must be function, name must match ^[a-zA-Z0-9_-]{{1,64}}$"
            ));
        }
        if !names.insert(name) {
            wrong.push(format!("tool '{name}' is given twice"));
        }
        let parameters = &function["parameters"];
        if !parameters.is_null() && parameters["type"] != "object" {
            wrong.push(format!("tool '{name}': parameters must be of type object"));
        }
        if function["strict"] == true {
            wrong.extend(find_schema_violations(parameters, name));
        }
    }
    wrong
}

/// Checks the messages: their roles, and that every tool call is answered before anything else.
fn conversation(messages: &Value) -> Result<(), String> {
    let messages = messages.as_array().filter(|all| !all.is_empty()).ok_or("messages must not be empty")?;
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !["system", "developer", "user", "assistant", "tool"].contains(&role) {
            return Err(format!("messages[{at}]: '{role}' is no role"));
        }
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let found = open.iter().position(|one| one == id);
            let found = found.ok_or(format!("messages[{at}]: no call before it has the id '{id}'"))?;
            open.remove(found);
            continue;
        }
        if !open.is_empty() {
            return Err(format!(
                "messages[{at}]: tool_call_ids without a response before it: {}",
                open.join(", ")
            ));
        }
        if role == "assistant" {
            open = parse_tool_call_ids(message).map_err(|why| format!("messages[{at}]: {why}"))?;
        } else if message["content"].is_null() {
            return Err(format!("messages[{at}]: content is missing"));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("tool_call_ids without a response: {}", open.join(", ")))
    }
}

fn parse_tool_call_ids(message: &Value) -> Result<Vec<String>, String> {
    let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) else {
        return if message["content"].is_null() {
            Err("an assistant message needs content or tool_calls".to_owned())
        } else {
            Ok(Vec::new())
        };
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty()).ok_or("tool_calls must not be empty")?;
    let mut ids = Vec::new();
    for call in calls {
        let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a tool call has no id")?.to_owned();
        if call["type"] != "function" || !is_name(&call["function"]["name"]) {
            return Err(format!("tool call '{id}' is no function with a name"));
        }
        if !call["function"]["arguments"].is_string() {
            return Err(format!("tool call '{id}': arguments must be a string"));
        }
        if ids.contains(&id) {
            return Err(format!("tool call '{id}' is given twice"));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn find_response_format_violations(request: &Value) -> Vec<String> {
    let format = &request["response_format"];
    match format["type"].as_str() {
        None if format.is_null() => Vec::new(),
        Some("text") => Vec::new(),
        Some("json_object") if request["messages"].to_string().to_lowercase().contains("json") => Vec::new(),
        Some("json_object") => vec!["'messages' must contain the word 'json' in some form".to_owned()],
        Some("json_schema") => {
            let given = &format["json_schema"];
            let mut wrong = Vec::new();
            if !is_name(&given["name"]) {
                wrong.push("response_format.json_schema.name is missing or no name".to_owned());
            }
            if !given["schema"].is_object() {
                wrong.push("response_format.json_schema.schema is missing".to_owned());
            } else if given["strict"] == true {
                wrong.extend(find_schema_violations(&given["schema"], "response_format"));
            }
            wrong
        }
        _ => vec!["response_format is of no known type".to_owned()],
    }
}

/// Checks that with `strict` every object is closed and requires all its properties.
fn find_schema_violations(schema: &Value, place: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(properties) = schema["properties"].as_object() {
        if schema["additionalProperties"] != false {
            wrong.push(format!("{place}: 'additionalProperties' is required to be supplied and to be false"));
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in properties {
            if !required.contains(&name.as_str()) {
                wrong.push(format!("{place}: 'required' must include '{name}'"));
            }
            wrong.extend(find_schema_violations(property, &format!("{place}.{name}")));
        }
    }
    if schema["items"].is_object() {
        wrong.extend(find_schema_violations(&schema["items"], &format!("{place}[]")));
    }
    wrong
}
