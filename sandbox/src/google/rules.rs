//! The supported operations, and the rules for their requests and answers.
//!
//! The table is written by hand. If Google's own description is available (`specs_dir`), requests and the fake's own
//! answers are validated against it as well.

use std::collections::HashMap;
use std::path::Path;

use axum::http::Method;
use jsonschema::Validator;
use serde_json::Value;

use super::calendar;
use crate::spec::{self, Spec};

/// A supported operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub id: &'static str,
    pub method: Method,
    /// The path after `/gmail/v1/users/{userId}/` or `/calendar/v3/`; `*` matches an id.
    pub path: &'static [&'static str],
    pub query: &'static [&'static str],
    /// The last parts of scopes; any one of them allows the operation.
    pub scopes: &'static [&'static str],
    pub upload: bool,
}

const FULL: &str = "https://mail.google.com/";
pub(super) const GOOGLE: &str = "https://www.googleapis.com/auth/";
const READ: &[&str] = &["gmail.readonly", "gmail.modify"];
const SEE: &[&str] = &["gmail.readonly", "gmail.modify", "gmail.metadata"];
const PROFILE: &[&str] = &["gmail.readonly", "gmail.modify", "gmail.metadata", "gmail.compose"];
const LABELS: &[&str] = &["gmail.readonly", "gmail.modify", "gmail.metadata", "gmail.labels"];
const COMPOSE: &[&str] = &["gmail.compose", "gmail.modify"];
const DRAFTS: &[&str] = &["gmail.compose", "gmail.modify", "gmail.readonly"];
const SEND: &[&str] = &["gmail.compose", "gmail.modify", "gmail.send"];
const MODIFY: &[&str] = &["gmail.modify"];
const LABEL_MAKING: &[&str] = &["gmail.modify", "gmail.labels"];
const SETTINGS: &[&str] = &["gmail.readonly", "gmail.modify", "gmail.settings.basic"];
const LIST: &[&str] = &["q", "maxResults", "pageToken", "labelIds", "includeSpamTrash"];
const SHAPE: &[&str] = &["format", "metadataHeaders"];

/// Parameters that all of Google's operations accept.
const STANDARD: [&str; 11] = [
    "$.xgafv",
    "access_token",
    "alt",
    "callback",
    "fields",
    "key",
    "oauth_token",
    "prettyPrint",
    "quotaUser",
    "uploadType",
    "upload_protocol",
];

macro_rules! operation {
    ($id:literal, $method:ident, $path:expr, $query:expr, $scopes:expr, $upload:literal) => {
        Operation {
            id: concat!("gmail.users.", $id),
            method: Method::$method,
            path: &$path,
            query: $query,
            scopes: $scopes,
            upload: $upload,
        }
    };
}

/// Gmail v1.
pub(super) static OPERATIONS: [Operation; 19] = [
    operation!("getProfile", GET, ["profile"], &[], PROFILE, false),
    operation!("messages.list", GET, ["messages"], LIST, SEE, false),
    operation!("messages.send", POST, ["messages", "send"], &[], SEND, true),
    operation!("messages.batchModify", POST, ["messages", "batchModify"], &[], MODIFY, false),
    operation!("messages.get", GET, ["messages", "*"], SHAPE, SEE, false),
    operation!("messages.modify", POST, ["messages", "*", "modify"], &[], MODIFY, false),
    operation!("messages.attachments.get", GET, ["messages", "*", "attachments", "*"], &[], READ, false),
    operation!("threads.list", GET, ["threads"], LIST, SEE, false),
    operation!("threads.get", GET, ["threads", "*"], SHAPE, SEE, false),
    operation!(
        "drafts.list",
        GET,
        ["drafts"],
        &["q", "maxResults", "pageToken", "includeSpamTrash"],
        DRAFTS,
        false
    ),
    operation!("drafts.create", POST, ["drafts"], &[], COMPOSE, true),
    operation!("drafts.send", POST, ["drafts", "send"], &[], COMPOSE, true),
    operation!("drafts.get", GET, ["drafts", "*"], &["format"], DRAFTS, false),
    operation!("drafts.update", PUT, ["drafts", "*"], &[], COMPOSE, true),
    operation!("drafts.delete", DELETE, ["drafts", "*"], &[], COMPOSE, false),
    operation!("labels.list", GET, ["labels"], &[], LABELS, false),
    operation!("labels.create", POST, ["labels"], &[], LABEL_MAKING, false),
    operation!("labels.get", GET, ["labels", "*"], &[], LABELS, false),
    operation!("settings.sendAs.list", GET, ["settings", "sendAs"], &[], SETTINGS, false),
];

impl Operation {
    /// Finds the operation of a request, and the ids in its path.
    pub fn find(
        known: &'static [Self],
        method: &Method,
        path: &[String],
        upload: bool,
    ) -> Option<(&'static Self, Vec<String>)> {
        let fits = |operation: &&Self| {
            operation.method == *method
                && (operation.upload || !upload)
                && operation.path.len() == path.len()
                && operation.path.iter().zip(path).all(|(own, given)| *own == "*" || own == given)
        };
        let operation = known.iter().find(fits)?;
        let ids = operation.path.iter().zip(path).filter(|(own, _)| **own == "*");
        Some((operation, ids.map(|(_, given)| given.clone()).collect()))
    }

    /// Returns the maximum page size of a list.
    fn max_page_size(&self) -> u32 {
        match self.id {
            "calendar.events.list" | "calendar.events.instances" => 2500,
            "calendar.calendarList.list" => 250,
            _ => 500,
        }
    }

    /// Returns whether its request is JSON, possibly with mail next to it.
    pub fn takes_json(&self) -> bool {
        let written = [".modify", ".batchModify", "labels.create"];
        self.upload || written.iter().any(|end| self.id.ends_with(end))
    }

    pub fn is_allowed(&self, scopes: &std::collections::BTreeSet<String>) -> bool {
        let full = self.id.starts_with("gmail.") && scopes.contains(FULL);
        full || self.scopes.iter().any(|scope| scopes.contains(&format!("{GOOGLE}{scope}")))
    }
}

/// Returns whether the grant allows headers only, so neither bodies nor searches.
pub(super) fn is_metadata_only(scopes: &std::collections::BTreeSet<String>) -> bool {
    !scopes.contains(FULL) && !READ.iter().any(|scope| scopes.contains(&format!("{GOOGLE}{scope}")))
}

/// Google's description, compiled.
#[derive(Debug, Default)]
pub(super) struct ApiSchema {
    methods: HashMap<&'static str, Value>,
    requests: HashMap<&'static str, Validator>,
    responses: HashMap<&'static str, Validator>,
}

impl ApiSchema {
    pub fn read(dir: Option<&Path>) -> std::io::Result<Self> {
        let Some(dir) = dir else { return Ok(Self::default()) };
        let mut rules = Self::default();
        rules.add_operations(dir, "gmail.v1.schema.json", &OPERATIONS)?;
        rules.add_operations(dir, "calendar.v3.schema.json", &calendar::OPERATIONS)?;
        Ok(rules)
    }

    fn add_operations(
        &mut self,
        dir: &Path,
        file: &str,
        operations: &'static [Operation],
    ) -> std::io::Result<()> {
        let spec = Spec::read(&dir.join("google"), file)?;
        for operation in operations {
            let method = &spec.document()["x-methods"][operation.id];
            let compiled = |end: &str| match method[end].as_str() {
                Some(pointer) => spec.validator(pointer).map(Some).map_err(std::io::Error::other),
                None => Ok(None),
            };
            let (request, response) = (compiled("request")?, compiled("response")?);
            self.requests.extend(request.map(|request| (operation.id, request)));
            self.responses.extend(response.map(|response| (operation.id, response)));
            self.methods.insert(operation.id, method.clone());
        }
        Ok(())
    }

    /// Returns the errors in a request's query.
    pub fn query(&self, operation: &Operation, pairs: &[(String, String)]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (at, (name, value)) in pairs.iter().enumerate() {
            let known = operation.query.contains(&name.as_str()) || STANDARD.contains(&name.as_str());
            let many = ["labelIds", "metadataHeaders"].contains(&name.as_str())
                || calendar::REPEATED.contains(&name.as_str());
            if !known {
                wrong.push(format!("Unknown name \"{name}\": Cannot bind query parameter."));
            } else if !many && pairs.iter().take(at).any(|(earlier, _)| earlier == name) {
                wrong.push(format!("Invalid value at '{name}': given twice"));
            } else if name == "maxResults"
                && !value.parse().is_ok_and(|n| (1..=operation.max_page_size()).contains(&n))
            {
                wrong.push(format!("Invalid value at 'max_results': \"{value}\""));
            } else {
                wrong.extend(self.parameter(operation, name, value));
            }
        }
        wrong
    }

    fn parameter(&self, operation: &Operation, name: &str, value: &str) -> Option<String> {
        let schema = self.methods.get(operation.id)?.get("query")?.get(name)?;
        let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
        let valid = jsonschema::is_valid(schema, &Value::from(value));
        (!valid).then(|| format!("Invalid value at '{name}': \"{value}\""))
    }

    /// Returns the errors in a request's JSON. `has_media` says that the content itself was sent next to it.
    pub fn request(&self, operation: &Operation, body: &Value, has_media: bool) -> Vec<String> {
        let Some(validator) = self.requests.get(operation.id) else { return Vec::new() };
        let mut wrong = spec::violations(validator, body);
        let needed = self.methods.get(operation.id).and_then(|method| method["required_fields"].as_array());
        for pointer in needed.into_iter().flatten().filter_map(Value::as_str) {
            if body.pointer(pointer).is_none() && !(has_media && pointer == "/raw") {
                wrong.push(format!("{pointer} is required"));
            }
        }
        wrong
    }

    /// Returns the errors in an answer of this fake.
    pub fn response(&self, operation: &Operation, body: &Value) -> Vec<String> {
        self.responses
            .get(operation.id)
            .map(|validator| spec::violations(validator, body))
            .unwrap_or_default()
    }
}
