//! The endpoint as seen by its clients: over HTTP, and through the real client.
#![allow(clippy::unwrap_used)]

mod calendar;
mod client;
mod mails;
mod rules;
mod script;
mod strict;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Model, ModelConfig};

pub(super) struct Fixture {
    pub model: Model,
    pub http: reqwest::Client,
}

pub(super) async fn fixture(rules: bool) -> Fixture {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let specs_dir = std::env::var_os("NOD_SPECS_DIR").map(PathBuf::from);
    let config =
        ModelConfig { rules, specs_dir, api_key: Some("sk-test".to_owned()), ..ModelConfig::default() };
    Fixture { model: Model::start(config).await.unwrap(), http: reqwest::Client::new() }
}

impl Fixture {
    pub async fn send(&self, request: &Value) -> Result<reqwest::Response, reqwest::Error> {
        let url = format!("{}/chat/completions", self.model.base_url());
        self.http.post(url).bearer_auth("sk-test").json(request).send().await
    }

    pub async fn ask(&self, request: &Value) -> (u16, Value) {
        let response = self.send(request).await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Returns the `data:` lines of a stream.
    pub async fn stream(&self, request: &Value) -> Vec<String> {
        let text = self.send(request).await.unwrap().text().await.unwrap();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }
}

pub(super) fn user_request(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

pub(super) fn merged(mut request: Value, more: &Value) -> Value {
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

pub(super) fn tool(name: &str, properties: &Value) -> Value {
    let parameters = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}})
}

/// Adds Nod's router schema to a request.
pub(super) fn with_router_schema(request: Value) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "intent": {"type": "string", "enum": ["metadata", "tool", "retrieval", "conversational"]},
            "tool": {"type": ["string", "null"]},
        },
        "required": ["intent", "tool"],
        "additionalProperties": false,
    });
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "route", "strict": true, "schema": schema}});
    merged(request, &json!({"response_format": format, "temperature": 0}))
}
