//! Scripted answers, good and bad.

use std::time::Duration;

use serde_json::{Value, json};

use super::{fixture, merged, user_request, with_router_schema};
use crate::model::{Answer, ScriptedAnswer};

#[tokio::test]
async fn lanes_keep_their_own_order() {
    let world = fixture(false).await;
    world.model.will(Answer::text("one"));
    world.model.will(Answer::json(&json!({"intent": "conversational", "tool": null})));
    world.model.will(Answer::text("two"));
    let (status, answer) = world.ask(&with_router_schema(user_request("hi"))).await;
    assert_eq!(status, 200, "{answer}");
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(content).unwrap()["intent"], "conversational");
    assert_eq!(world.ask(&user_request("hi")).await.1["choices"][0]["message"]["content"], "one");
    assert_eq!(world.model.list_unused().len(), 1);
    assert_eq!(world.ask(&user_request("hi")).await.1["choices"][0]["message"]["content"], "two");
    assert_eq!(world.ask(&user_request("more?")).await.0, 500);
    assert_eq!(world.model.list_unexpected().len(), 1);
    assert_eq!(world.model.requests().len(), 4);
    assert!(world.model.violations().is_empty(), "{:?}", world.model.violations());
}

#[tokio::test]
async fn a_line_waits_for_its_condition() {
    let world = fixture(false).await;
    let is_lunch = |request: &Value| request.to_string().contains("lunch");
    world.model.script(ScriptedAnswer::from(Answer::text("At one.")).with_condition(is_lunch));
    world.model.will(Answer::text("Hello."));
    assert_eq!(world.ask(&user_request("hi")).await.1["choices"][0]["message"]["content"], "Hello.");
    assert_eq!(world.ask(&user_request("lunch?")).await.1["choices"][0]["message"]["content"], "At one.");
    assert!(world.model.wait_for(|model| model.list_unused().is_empty(), Duration::from_secs(1)).await);
}

#[tokio::test]
async fn tool_calls_stream_in_pieces() {
    let world = fixture(false).await;
    let first = json!({"to": ["bo@acme.test"], "subject": "Lunch – “one”", "body": "x"});
    world.model.will(Answer::tools(vec![("gmail_send_email", first.clone()), ("second", json!({}))]));
    let request =
        merged(user_request("hi"), &json!({"stream": true, "stream_options": {"include_usage": true}}));
    let lines = world.stream(&request).await;
    assert_eq!(lines.last().unwrap(), "[DONE]");
    let chunks: Vec<Value> =
        lines[..lines.len() - 1].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let deltas = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array());
    let deltas: Vec<&Value> = deltas.flatten().filter(|delta| delta["index"] == 0).collect();
    assert!(deltas.len() > 5, "arguments come in pieces");
    let arguments: String =
        deltas.iter().filter_map(|delta| delta["function"]["arguments"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), first);
    let last = &chunks[chunks.len() - 2];
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    let usage = &chunks[chunks.len() - 1];
    assert!(usage["choices"].as_array().unwrap().is_empty() && usage["usage"]["total_tokens"].is_number());
    assert!(world.model.violations().is_empty(), "{:?}", world.model.violations());
}

#[tokio::test]
async fn a_cut_stream_has_no_end() {
    let world = fixture(false).await;
    for cut in [2, 100] {
        world.model.will(Answer::text("A rather long answer that is cut.").with_cut_after(cut));
        let lines = world.stream(&merged(user_request("hi"), &json!({"stream": true}))).await;
        assert!(!lines.iter().any(|line| line == "[DONE]" || line.contains("\"stop\"")), "{lines:?}");
        assert!(lines.len() >= 2);
    }
    world.model.will(Answer::text("x").with_cut_after(1));
    assert!(world.send(&user_request("hi")).await.is_err(), "not streamed: the connection closes");
}

#[tokio::test]
async fn bad_answers_are_bad_as_told() {
    let world = fixture(false).await;
    world.model.will(Answer::status(429, Some(3)));
    let response = world.send(&user_request("hi")).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (429, "3"));
    world.model.will(Answer::integer_code(500, "overloaded"));
    assert_eq!(world.ask(&user_request("hi")).await.1["error"]["code"], 500);
    world.model.will(Answer::malformed_arguments("gmail_send_email", "{not json"));
    let (_, answer) = world.ask(&user_request("hi")).await;
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{not json");
    world.model.will(Answer::empty().finish_reason("eos"));
    let (_, answer) = world.ask(&user_request("hi")).await;
    assert_eq!(
        (&answer["choices"][0]["finish_reason"], &answer["choices"][0]["message"]["content"]),
        (&json!("eos"), &json!(""))
    );
    world.model.will(Answer::drop_connection());
    assert!(world.send(&user_request("hi")).await.is_err());
    world.model.will(Answer::hang());
    let (hi, answer) = (user_request("hi"), Duration::from_millis(50));
    assert!(tokio::time::timeout(answer, world.send(&hi)).await.is_err());
    world.model.will(Answer::text("late").with_delay(Duration::from_millis(50)));
    assert_eq!(world.ask(&user_request("hi")).await.0, 200);
    assert!(world.model.violations().is_empty(), "{:?}", world.model.violations());
}

#[tokio::test]
async fn a_key_is_needed() {
    let world = fixture(true).await;
    let models = format!("{}/models", world.model.base_url());
    let refused = world.http.get(&models).bearer_auth("guess").send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "invalid_api_key");
    let models = world.http.get(&models).bearer_auth("sk-test").send().await.unwrap();
    assert_eq!(models.json::<Value>().await.unwrap()["data"][0]["id"], "sandbox-rules");
}
