//! Errors for rejected requests, in Discord's form.

use serde_json::{Map, Value, json};

/// A violated rule: its path in the body, and a sentence.
pub(super) type Broken = (String, String);

/// Discord's error: status, code, message, and what is wrong at which path.
#[derive(Debug, Clone)]
pub(super) struct Rejection {
    pub status: u16,
    pub code: u32,
    pub message: String,
    pub violations: Vec<Broken>,
    /// Whether no client should ever cause this.
    pub violation: bool,
    pub limit: Option<RateLimitInfo>,
}

/// How long to wait, and whether the limit is global.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimitInfo {
    pub seconds: f64,
    pub global: bool,
    pub scope: &'static str,
}

impl Rejection {
    /// Creates an error that can happen to a correct client.
    pub(super) fn expected(status: u16, code: u32, message: &str) -> Self {
        let message = message.to_owned();
        Self { status, code, message, violations: Vec::new(), violation: false, limit: None }
    }

    /// Creates an error that a correct client never causes.
    pub(super) fn violation(status: u16, code: u32, message: &str) -> Self {
        Self { violation: true, ..Self::expected(status, code, message) }
    }

    pub(super) fn form(broken: Vec<Broken>) -> Self {
        Self { violations: broken, ..Self::violation(400, 50035, "Invalid Form Body") }
    }

    pub(super) fn field(at: &str, sentence: &str) -> Self {
        Self::form(vec![(at.to_owned(), sentence.to_owned())])
    }

    pub(super) fn rate_limited(limit: RateLimitInfo) -> Self {
        Self { limit: Some(limit), ..Self::expected(429, 0, "You are being rate limited.") }
    }

    pub(super) fn unknown_resource(what: &str, code: u32) -> Self {
        Self::expected(404, code, &format!("Unknown {what}"))
    }

    pub(super) fn body(&self) -> Value {
        if let Some(limit) = self.limit {
            return json!({
                "message": self.message, "retry_after": limit.seconds, "global": limit.global,
            });
        }
        let mut body = json!({"message": self.message, "code": self.code});
        if !self.violations.is_empty() {
            let mut errors = Value::Object(Map::new());
            for (at, sentence) in &self.violations {
                add_field_error(&mut errors, at, sentence);
            }
            body["errors"] = errors;
        }
        body
    }

    /// Returns the sentence for the list of violations.
    pub(super) fn sentence(&self) -> String {
        let why: Vec<String> = self.violations.iter().map(|(at, said)| format!("{at}: {said}")).collect();
        format!("{} {} {}: {}", self.status, self.code, self.message, why.join("; "))
    }
}

/// Adds an error: `a/0/b` becomes `{"a":{"0":{"b":{"_errors":[…]}}}}`.
fn add_field_error(errors: &mut Value, at: &str, sentence: &str) {
    let mut here = errors;
    for step in at.split('/').filter(|s| !s.is_empty()) {
        here = &mut here[step];
    }
    let list = &mut here["_errors"];
    if !list.is_array() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        list.push(json!({"code": "BASE_TYPE_INVALID", "message": sentence}));
    }
}
