//! What the entries of all APIs do: record the call, check the token, and validate the answer.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use serde_json::Value;

use super::response::{Outcome, Rejection};
use super::rules::Operation;
use super::{Account, ApiCall, Shared, oauth};

/// Decodes one segment of a path.
pub(super) fn percent_decode(segment: &str) -> String {
    // In a path, a plus is literal.
    let line = format!("x={}", segment.replace('+', "%2B"));
    url::form_urlencoded::parse(line.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

pub(super) fn record(shared: &Shared, operation: &Operation, headers: &HeaderMap, body: Value) {
    let at = shared.now();
    shared.change(|state| {
        let account = oauth::bearer(headers).and_then(|token| state.grants.owner(token));
        state.calls.push(ApiCall { operation: operation.id.to_owned(), account, at, body });
    });
}

/// Returns the token's account and scopes, if they allow the operation.
pub(super) fn enter(
    shared: &Shared,
    operation: &Operation,
    headers: &HeaderMap,
) -> Result<(Account, BTreeSet<String>), Rejection> {
    let state = shared.state();
    let token = oauth::bearer(headers).ok_or_else(Rejection::unauthenticated)?;
    let grant = state.grants.bearer(token, shared.now()).ok_or_else(Rejection::unauthenticated)?;
    if !operation.is_allowed(&grant.scopes) {
        return Err(Rejection::insufficient_scopes());
    }
    let account = state.mail.account(&grant.email).ok_or_else(Rejection::unauthenticated)?;
    Ok((account.clone(), grant.scopes.clone()))
}

/// Validates an answer of this fake before it is sent.
pub(super) fn validate_response(shared: &Shared, operation: &Operation, answer: Option<Value>) -> Outcome {
    let wrong = answer.as_ref().map(|answer| shared.rules.response(operation, answer)).unwrap_or_default();
    if wrong.is_empty() {
        return Ok(answer);
    }
    let why = wrong.join("; ");
    record_violations(shared, operation, vec![format!("own answer: {why}")]);
    Err(Rejection::backend(why))
}

pub(super) fn record_violations(shared: &Shared, operation: &Operation, wrong: Vec<String>) -> Rejection {
    let refusal = Rejection::bad_request(wrong.join("; "));
    let named = wrong.into_iter().map(|one| format!("{}: {one}", operation.id));
    shared.change(|state| state.violations.extend(named));
    refusal
}
