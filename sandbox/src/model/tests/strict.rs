//! Requests that a vendor would reject.

use serde_json::{Value, json};

use super::{fixture, merged, tool, user_request, with_router_schema};

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}})
}

fn talk(messages: &Value) -> Value {
    json!({"model": "m", "messages": messages})
}

#[tokio::test]
async fn what_breaks_the_rules_is_refused_and_recorded() {
    let world = fixture(true).await;
    let user = json!({"role": "user", "content": "hi"});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "{}"});
    let loose = json!({"type": "json_schema", "json_schema": {"name": "r", "strict": true, "schema":
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": []}}});
    let wrong = [
        talk(&json!([])),
        talk(&json!([{"role": "wizard", "content": "hi"}])),
        talk(&json!([user, result("a")])),
        talk(&json!([user, calls, result("a")])),
        talk(&json!([user, calls, result("a"), user])),
        talk(&json!([user, calls, result("a"), result("a")])),
        talk(&json!([user, {"role": "assistant", "content": null}])),
        talk(&json!([user, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "t", "arguments": {}}}]}, result("a")])),
        json!({"messages": [user]}),
        merged(user_request("hi"), &json!({"temperature": 3})),
        merged(user_request("hi"), &json!({"colour": "red"})),
        merged(user_request("hi"), &json!({"n": 2})),
        merged(user_request("hi"), &json!({"stream_options": {"include_usage": true}})),
        merged(user_request("hi"), &json!({"tool_choice": "auto"})),
        merged(user_request("hi"), &json!({"tools": []})),
        merged(user_request("hi"), &json!({"tools": [tool("has space", &json!({}))]})),
        merged(user_request("hi"), &json!({"tools": [tool("t", &json!({})), tool("t", &json!({}))]})),
        merged(
            user_request("hi"),
            &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "r"}}}),
        ),
        merged(user_request("hi"), &json!({"response_format": {"type": "json_object"}})),
        merged(user_request("hi"), &json!({"response_format": loose})),
    ];
    for request in &wrong {
        let (status, answer) = world.ask(request).await;
        assert_eq!(status, 400, "{request}");
        assert_eq!(answer["error"]["type"], "invalid_request_error");
    }
    assert!(world.model.violations().len() >= wrong.len());
    assert!(world.model.requests().is_empty());
    let fine = talk(&json!([user, calls, result("b"), result("a")]));
    assert_eq!(world.ask(&fine).await.0, 200);
    assert_eq!(world.ask(&with_router_schema(user_request("hi"))).await.0, 200);
}
