//! The model client against the fake endpoint: what it understands, when it retries, when it gives up.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use nod_connectors::llm::{Dialect, OpenAi, TierSettings};
use nod_contract::clock::SystemClock;
use nod_contract::model::{
    CompletionRequest, Model as _, ModelError, Tier, TokenSender, ToolDefinition, Turn,
};
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_sandbox::model::{Answer, Model, ModelConfig};
use nod_sandbox::serve::Server;
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret";

fn client(base_url: &str, key: &str, seconds: u64) -> OpenAi {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tier = TierSettings {
        base_url: base_url.to_owned(),
        api_key: key.to_owned().into(),
        model: "m".into(),
        temperature: Some(0.0),
        timeout: Duration::from_secs(seconds),
        max_tokens: Some(500),
        dialect: Dialect::default(),
        fallback: None,
    };
    OpenAi::new(tier.clone(), tier.clone(), tier, Arc::new(SystemClock)).unwrap()
}

async fn world() -> (Model, OpenAi) {
    let config = ModelConfig {
        api_key: Some(KEY.to_owned()),
        specs_dir: std::env::var_os("NOD_SPECS_DIR").map(Into::into),
        ..ModelConfig::default()
    };
    let model = Model::start(config).await.unwrap();
    let client = client(&model.base_url(), KEY, 20);
    (model, client)
}

fn ask() -> CompletionRequest {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    CompletionRequest {
        tier: Tier::Reasoner,
        system: "You are Nod.".into(),
        turns: vec![Turn::Human { text: "Hello".into() }],
        tools: vec![Arc::new(ToolDefinition::new("look", "Looks.", &parameters))],
        response_schema: None,
    }
}

fn route() -> CompletionRequest {
    let schema = json!({"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"],
        "additionalProperties": false});
    CompletionRequest {
        tier: Tier::Router,
        tools: vec![],
        response_schema: Some(("route".into(), schema)),
        ..ask()
    }
}

fn ended_quietly(model: &Model) {
    assert_eq!(model.violations(), [""; 0]);
    assert_eq!(model.list_unused(), [""; 0]);
    assert_eq!(model.list_unexpected(), [Value::Null; 0]);
}

#[tokio::test]
async fn words_and_calls_are_streamed_and_put_together() {
    let (model, client) = world().await;
    model.will(Answer::text("Hello, Ana. How are you?"));
    let answer = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.calls.len()), ("Hello, Ana. How are you?", 0));
    assert!(answer.usage.is_some_and(|usage| usage.prompt > 0 && usage.completion > 0));

    model.will(Answer::tools(vec![("look", json!({"q": "a"})), ("look", json!({"q": "b"}))]));
    let answer = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap();
    let calls: Vec<_> = answer.calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(calls, [r#"{"q":"a"}"#, r#"{"q":"b"}"#]);
    assert_ne!(answer.calls[0].id, answer.calls[1].id);

    // The answer is accepted as history of the next request.
    let mut next = ask();
    next.turns.push(Turn::Ai { text: String::new(), calls: answer.calls.clone() });
    for call in answer.calls {
        next.turns.push(Turn::Tool { call_id: call.id, name: call.name, content: "found".into() });
    }
    model.will(Answer::malformed_arguments("look", "{\"q\": "));
    assert_eq!(
        client.complete(&scope(), &next, &TokenSender::disconnected()).await.unwrap().calls[0].arguments,
        "{\"q\": "
    );
    ended_quietly(&model);
}

#[tokio::test]
async fn a_classification_comes_whole_by_its_schema() {
    let (model, client) = world().await;
    model.will(Answer::json(&json!({"intent": "tool"})));
    assert_eq!(
        client.complete(&scope(), &route(), &TokenSender::disconnected()).await.unwrap().text,
        r#"{"intent":"tool"}"#
    );
    assert_eq!(model.requests()[0]["stream"], json!(false));
    ended_quietly(&model);
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    for bad in [
        Answer::text("never finished").with_cut_after(2),
        Answer::drop_connection(),
        Answer::empty(),
        Answer::status(500, None),
        Answer::status(429, Some(0)),
        Answer::integer_code(503, "overloaded"),
    ] {
        let (model, client) = world().await;
        model.will(bad);
        model.will(Answer::text("Here."));
        assert_eq!(
            client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap().text,
            "Here."
        );
        assert_eq!(model.requests().len(), 2);
        ended_quietly(&model);
    }
}

#[tokio::test]
async fn retry_after_is_honoured_within_the_deadline() {
    let (model, client) = world().await;
    model.will(Answer::status(429, Some(1)));
    model.will(Answer::text("Here."));
    let begun = Instant::now();
    client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));

    // A wait beyond the deadline is useless.
    model.will(Answer::status(429, Some(3600)));
    let begun = Instant::now();
    let error = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    assert!(matches!(error, ModelError::Timeout { attempts: 1, .. }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(600));
    ended_quietly(&model);
}

#[tokio::test]
async fn three_tries_are_enough() {
    let (model, client) = world().await;
    (0..3).for_each(|_| model.will(Answer::status(502, None)));
    let error = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    assert!(matches!(error, ModelError::Timeout { attempts: 3, .. }), "{error:?}");
    (0..3).for_each(|_| model.will(Answer::empty()));
    assert_eq!(
        client.complete(&scope(), &ask(), &TokenSender::disconnected()).await,
        Err(ModelError::Empty { attempts: 3 })
    );
    ended_quietly(&model);
}

#[tokio::test]
async fn silence_ends_at_the_deadline() {
    let (model, _) = world().await;
    let client = client(&model.base_url(), KEY, 2);
    (0..2).for_each(|_| model.will(Answer::hang()));
    assert!(matches!(
        client.complete(&scope(), &ask(), &TokenSender::disconnected()).await,
        Err(ModelError::Timeout { .. })
    ));
    model.clear();
}

#[tokio::test]
async fn a_refusal_is_for_the_operator_and_tells_no_secret() {
    let (model, _) = world().await;
    let wrong = client(&model.base_url(), "sk-wrong", 5);
    let error = wrong.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    assert!(matches!(error, ModelError::Rejected { status: 401, .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("sk-wrong"));
    assert!(matches!(wrong.probe(Tier::Router).await, Err(ModelError::Rejected { status: 401, .. })));

    let (model, client) = world().await;
    model.will(Answer::integer_code(400, "context length exceeded"));
    let error = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    assert_eq!(error, ModelError::Rejected { status: 400, reason: "context length exceeded".into() });
    client.probe(Tier::Reasoner).await.unwrap();
    ended_quietly(&model);
}

/// Quotes the whole request, including the key.
async fn gossip(headers: axum::http::HeaderMap) -> impl IntoResponse {
    let bearer = headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
    let refused = json!({"error": {"message": format!("who is {bearer}?")}});
    (StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, "application/json")], refused.to_string())
}

#[tokio::test]
async fn a_key_that_is_quoted_back_is_struck_out() {
    let server = Server::start(Router::new().fallback(gossip)).await.unwrap();
    let client = client(&server.url(), KEY, 5);
    let refused = ModelError::Rejected { status: 403, reason: "who is Bearer …?".into() };
    assert_eq!(client.complete(&scope(), &ask(), &TokenSender::disconnected()).await, Err(refused.clone()));
    assert_eq!(client.probe(Tier::Router).await, Err(refused));
}

#[tokio::test]
async fn unknown_finish_reasons_and_cut_answers_are_understood() {
    let (model, client) = world().await;
    model.will(Answer::text("Hi").finish_reason("eos_token"));
    assert!(!client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap().truncated);
    model.will(Answer::text("Hi").finish_reason("length"));
    assert!(client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap().truncated);
    ended_quietly(&model);
}

/// A server without streams and schemas.
async fn simple(body: String) -> impl IntoResponse {
    let request: Value = serde_json::from_str(&body).unwrap();
    if request.get("response_format").is_some() {
        let refused = json!({"error": {"message": "response_format is not supported", "code": 400}});
        return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], refused.to_string());
    }
    let answer = json!({"choices": [{"message": {"content": "whole\nanswer"}, "finish_reason": "stop"}]});
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], answer.to_string())
}

#[tokio::test]
async fn a_server_without_streams_or_schemas_is_understood() {
    let server = Server::start(Router::new().route("/chat/completions", post(simple))).await.unwrap();
    let client = client(&server.url(), "", 5);
    for ask in [ask(), route()] {
        let answer = client.complete(&scope(), &ask, &TokenSender::disconnected()).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.usage, answer.model.as_str()), ("whole\nanswer", None, "m"));
    }
    client.probe(Tier::Router).await.unwrap();
}

#[tokio::test]
async fn nobody_at_the_address_is_said_plainly() {
    let client = client("http://127.0.0.1:9/v1", KEY, 2);
    let ModelError::Timeout { reason, .. } =
        client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err()
    else {
        panic!()
    };
    assert_eq!(reason, "no connection");
    assert!(matches!(client.probe(Tier::Router).await, Err(ModelError::Timeout { .. })));
}

fn scope() -> Scope {
    let id = uuid::Uuid::nil();
    Scope {
        tenant: id.into(),
        case: id.into(),
        workflow: CHAT,
        run: RunOrIngestion::RunId(id.into()),
        trace: id.into(),
        invocation: id.into(),
    }
}

/// A client whose first endpoint has a fallback.
async fn pair() -> (Model, Model, OpenAi) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (first, second) = (world().await.0, world().await.0);
    let tier = |model: &Model, name: &str, fallback| TierSettings {
        base_url: model.base_url(),
        api_key: KEY.to_owned().into(),
        model: name.to_owned(),
        temperature: None,
        timeout: Duration::from_secs(20),
        max_tokens: None,
        dialect: Dialect::default(),
        fallback,
    };
    let tier = tier(&first, "own", Some(Box::new(tier(&second, "other", None))));
    let client = OpenAi::new(tier.clone(), tier.clone(), tier, Arc::new(SystemClock)).unwrap();
    (first, second, client)
}

#[tokio::test]
async fn another_model_stands_in_for_one_that_is_down_or_has_no_money_left() {
    let (first, second, client) = pair().await;
    (0..3).for_each(|_| first.will(Answer::status(503, None)));
    second.will(Answer::text("Here."));
    second.will(Answer::text("Here again."));
    let answer = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str(), answer.from_fallback), ("Here.", "other", true));
    // The endpoint that was just down is skipped.
    assert_eq!(
        client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap().text,
        "Here again."
    );
    assert_eq!(first.requests().len(), 3);
    ended_quietly(&first);
    ended_quietly(&second);

    let (first, second, client) = pair().await;
    first.will(Answer::status(402, None));
    second.will(Answer::text("Here."));
    assert!(client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap().from_fallback);
    assert_eq!(first.requests().len(), 1);
}

#[tokio::test]
async fn nobody_stands_in_for_a_bad_request_and_two_failures_are_both_told() {
    let (first, second, client) = pair().await;
    first.will(Answer::integer_code(400, "context length exceeded"));
    let error = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    assert!(matches!(error, ModelError::Rejected { status: 400, .. }), "{error:?}");
    assert_eq!(second.requests().len(), 0);

    (0..3).for_each(|_| first.will(Answer::status(503, None)));
    second.will(Answer::integer_code(400, "no"));
    let error = client.complete(&scope(), &ask(), &TokenSender::disconnected()).await.unwrap_err();
    let ModelError::Both { first: one, second: other } = error else { panic!("{error:?}") };
    assert!(matches!(*one, ModelError::Timeout { attempts: 3, .. }), "{one:?}");
    assert!(matches!(*other, ModelError::Rejected { status: 400, .. }), "{other:?}");
}

#[tokio::test]
async fn whether_a_model_calls_tools_can_be_asked() {
    let (model, client) = world().await;
    model.will(Answer::tool("ready", json!({})));
    assert_eq!(client.probe_tool_calls(Tier::Reasoner).await, Ok(true));
    model.will(Answer::text("I'd rather talk."));
    assert_eq!(client.probe_tool_calls(Tier::Reasoner).await, Ok(false));
    model.will(Answer::integer_code(400, "m does not support tools"));
    assert_eq!(
        client.probe_tool_calls(Tier::Reasoner).await,
        Err(ModelError::ToolsUnsupported { model: "m".into() })
    );
    ended_quietly(&model);
}
