//! The two routes: chat completions and the list of models.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as Shares;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::script::{Answer, AnswerKind, ModelRole};
use super::stream::Completion;
use super::{RULES_MODEL, Shared, embeddings, rules};
use crate::serve;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/models", get(models))
        .fallback(unknown_url)
}

fn failure(status: u16, kind: &str, code: &Value, message: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let error = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    (status, Json(error)).into_response()
}

async fn unknown_url() -> Response {
    failure(404, "invalid_request_error", &json!("unknown_url"), "Unknown request URL.")
}

pub(super) fn unauthorised(shared: &Shared, headers: &HeaderMap) -> Option<Response> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let key = given.and_then(|value| value.strip_prefix("Bearer ")).filter(|key| !key.trim().is_empty());
    let right = key.is_some_and(|key| shared.config.api_key.as_ref().is_none_or(|own| own == key));
    let code = json!("invalid_api_key");
    (!right).then(|| failure(401, "invalid_request_error", &code, "Incorrect API key provided."))
}

async fn models(Shares(shared): Shares<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Some(response) = unauthorised(&shared, &headers) {
        return response;
    }
    let model =
        json!({"id": RULES_MODEL, "object": "model", "created": 1_767_225_600, "owned_by": "sandbox"});
    Json(json!({"object": "list", "data": [model]})).into_response()
}

async fn complete(Shares(shared): Shares<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(response) = unauthorised(&shared, &headers) {
        return response;
    }
    let request: Value = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(_) => {
            return reject_request(
                &shared,
                vec!["We could not parse the JSON body of your request.".to_owned()],
            );
        }
    };
    let wrong = shared.strictness.find_request_violations(&request);
    if !wrong.is_empty() {
        return reject_request(&shared, wrong);
    }
    let Some((answer, model, number)) = choose(&shared, &request) else {
        let message = "No script and no rule has an answer to this request.";
        return failure(500, "server_error", &Value::Null, message);
    };
    tokio::time::sleep(answer.delay).await;
    match answer.kind.clone() {
        AnswerKind::Hang => std::future::pending().await,
        AnswerKind::Drop => serve::drop_connection(),
        AnswerKind::Error { status, retry_after, code, message } => {
            failed(status, retry_after, &code, &message)
        }
        AnswerKind::Message { text, calls } => {
            let completion = Completion::new(&request, &answer, text, calls, &model, number);
            completion.respond(&shared)
        }
    }
}

/// Chooses the answer, the name of the model that gives it, and its number.
fn choose(shared: &Shared, request: &Value) -> Option<(Answer, String, u64)> {
    let by_rules = shared.config.rules;
    shared.change(|state| {
        state.requests.push(request.clone());
        state.answers += 1;
        let line = state.scripts.iter().position(|script| script.matches(request));
        if let Some(script) = line.and_then(|at| state.scripts.remove(at)) {
            let model = request["model"].as_str().unwrap_or_default().to_owned();
            return Some((script.answer, model, state.answers));
        }
        // Every conversation is also summarised; stories about something else need not script that.
        if by_rules || ModelRole::classify(request) == ModelRole::Summariser {
            let answer = Answer { delay: state.thinks, ..rules::answer(request) };
            return Some((answer, RULES_MODEL.to_owned(), state.answers));
        }
        state.unexpected.push(request.clone());
        None
    })
}

pub(super) fn failed(status: u16, retry_after: Option<u64>, code: &Value, message: &str) -> Response {
    let kind = match status {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let mut response = failure(status, kind, code, message);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) fn reject_request(shared: &Shared, wrong: Vec<String>) -> Response {
    let message = wrong.join("; ");
    shared.change(|state| state.violations.extend(wrong));
    failure(400, "invalid_request_error", &Value::Null, &message)
}
