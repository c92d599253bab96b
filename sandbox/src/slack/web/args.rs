//! Converts arguments from query, form or JSON body to one JSON object.

use serde_json::{Map, Value};

use super::methods::{Body, Method};
use super::{Rejection, Request};

const JSON_ARGS: [&str; 8] =
    ["attachments", "blocks", "chunks", "files", "loading_messages", "metadata", "prompts", "view"];
const NUMBERS: [&str; 2] = ["length", "limit"];
const FLAGS: [&str; 14] = [
    "as_user",
    "exclude_archived",
    "include_all_metadata",
    "include_locale",
    "include_num_members",
    "inclusive",
    "link_names",
    "mrkdwn",
    "prevent_creation",
    "reply_broadcast",
    "return_im",
    "unfurl_links",
    "unfurl_media",
    "unfurled_attachments",
];

/// The decoded arguments of one call.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Args(Map<String, Value>);

impl Args {
    pub(in super::super) fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    pub(super) fn take_token(&mut self) -> Option<String> {
        self.0.remove("token").and_then(|t| t.as_str().map(str::to_owned))
    }

    pub(super) fn str(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns a required argument; [`check_names`] has verified that it exists.
    pub(super) fn text(&self, name: &str) -> &str {
        self.str(name).unwrap_or_default()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|v| !v.is_null())
    }

    /// Returns `limit` within `1..=max`, else `default`.
    pub(super) fn limit(&self, default: usize, max: usize) -> Result<usize, Rejection> {
        let Some(value) = self.get("limit") else { return Ok(default) };
        let limit = value.as_u64().and_then(|n| usize::try_from(n).ok());
        limit
            .filter(|n| (1..=max).contains(n))
            .ok_or_else(|| Rejection::violation("invalid_limit", vec![format!("limit is 1 to {max}")]))
    }
}

/// Reads the arguments as the method accepts them.
pub(super) fn read(request: &Request, method: &Method) -> Result<Args, Rejection> {
    let is_json = request.content_type() == "application/json";
    if is_json && method.body == Body::Form && !request.body.is_empty() {
        return Err(Rejection::argument(format!("{} takes a form, not JSON", method.name)));
    }
    if request.verb != axum::http::Method::POST && !method.readable() {
        return Err(Rejection::violation("invalid_post_type", vec![format!("{} is a POST", method.name)]));
    }
    let mut args = form(&request.query)?;
    if is_json && !request.body.is_empty() {
        let body: Map<String, Value> = serde_json::from_slice(&request.body)
            .map_err(|e| Rejection::violation("invalid_json", vec![e.to_string()]))?;
        if body.contains_key("token") {
            return Err(Rejection::argument("with JSON the token belongs into the header".into()));
        }
        args.extend(body);
        join_users(&mut args);
    } else if !request.body.is_empty() {
        if request.content_type() != "application/x-www-form-urlencoded" {
            let odd = request.content_type().to_owned();
            return Err(Rejection::violation("invalid_post_type", vec![odd]));
        }
        args.extend(form(&String::from_utf8_lossy(&request.body))?);
    }
    Ok(Args(args))
}

/// In JSON, Slack also accepts `users` as a list (slackapi/python-slack-sdk#1053), though it documents a string.
fn join_users(args: &mut Map<String, Value>) {
    let Some(Value::Array(users)) = args.get("users") else { return };
    let ids: Option<Vec<&str>> = users.iter().map(Value::as_str).collect();
    if let Some(ids) = ids {
        let joined = ids.join(",");
        args.insert("users".into(), joined.into());
    }
}

/// Returns the arguments as far as they can be read, for the list of calls.
pub(super) fn lenient(request: &Request) -> Map<String, Value> {
    let mut args = form(&request.query).unwrap_or_default();
    match serde_json::from_slice(&request.body) {
        Ok(Value::Object(body)) => args.extend(body),
        _ => args.extend(form(&String::from_utf8_lossy(&request.body)).unwrap_or_default()),
    }
    args
}

fn form(encoded: &str) -> Result<Map<String, Value>, Rejection> {
    let mut fields = Map::new();
    for (name, text) in url::form_urlencoded::parse(encoded.as_bytes()) {
        let value = decoded(&name, &text)?;
        if fields.insert(name.to_string(), value).is_some() {
            return Err(Rejection::argument(format!("{name} is given twice")));
        }
    }
    Ok(fields)
}

fn decoded(name: &str, text: &str) -> Result<Value, Rejection> {
    let odd = || Rejection::argument(format!("{name} cannot be read"));
    if JSON_ARGS.contains(&name) {
        return serde_json::from_str(text).map_err(|_| odd());
    }
    if NUMBERS.contains(&name) {
        return text.parse::<u64>().map(Value::from).map_err(|_| odd());
    }
    if FLAGS.contains(&name) {
        return match text {
            "true" | "1" => Ok(true.into()),
            "false" | "0" => Ok(false.into()),
            _ => Err(odd()),
        };
    }
    Ok(text.into())
}

/// Rejects unknown, missing and mistyped arguments.
pub(super) fn check_names(method: &Method, args: &Args) -> Result<(), Rejection> {
    let mut odd = Vec::new();
    for (name, value) in &args.0 {
        let known = method.required.contains(&name.as_str()) || method.optional.contains(&name.as_str());
        if !known {
            odd.push(format!("[ERROR] unsupported argument: {name}"));
        } else if !typed_right(name, value) {
            odd.push(format!("[ERROR] {name} has the wrong type"));
        }
    }
    for name in method.required {
        if args.get(name).is_none() || args.str(name) == Some("") && *name != "status" {
            odd.push(format!("[ERROR] missing required field: {name}"));
        }
    }
    if odd.is_empty() { Ok(()) } else { Err(Rejection::violation("invalid_arguments", odd)) }
}

fn typed_right(name: &str, value: &Value) -> bool {
    match name {
        _ if value.is_null() => false,
        _ if JSON_ARGS.contains(&name) => value.is_object() || value.is_array(),
        _ if NUMBERS.contains(&name) => value.is_u64(),
        _ if FLAGS.contains(&name) => value.is_boolean(),
        "file_ids" => value.is_array(),
        _ => value.is_string(),
    }
}
