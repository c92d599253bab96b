use serde_json::{Value, json};

use super::{Raw, acme, general, id};
use crate::Fault;

fn button(id: &str, text: &str) -> Value {
    json!({"type": "button", "action_id": id, "value": "v", "text": {"type": "plain_text", "text": text}})
}

fn feedback_buttons(text: &str, value: &str) -> Value {
    let button = json!({"text": {"type": "plain_text", "text": text}, "value": value});
    json!({"type": "feedback_buttons", "action_id": "f", "positive_button": button, "negative_button": button})
}

#[tokio::test]
async fn token_and_scope_are_checked() {
    let mut config = acme();
    config.app.scopes.remove("users:read");
    let mut raw = Raw::start(config).await;
    let refused = raw.get("users.list", &[]).await;
    assert_eq!(
        (refused["error"].as_str(), refused["needed"].as_str()),
        (Some("missing_scope"), Some("users:read"))
    );
    assert_eq!(raw.post("apps.connections.open", json!({})).await["error"], "not_allowed_token_type");
    raw.token = "xoxb-wrong".into();
    assert_eq!(raw.get("auth.test", &[]).await["error"], "invalid_auth");
}

#[tokio::test]
async fn what_is_posted_can_be_read_back() {
    let raw = Raw::start(acme()).await;
    let metadata = json!({"event_type": "delivery", "event_payload": {"key": "k1"}});
    let ts = raw.says(json!({"text": "one", "metadata": metadata, "unfurl_links": false})).await;
    let reply = raw.says(json!({"text": "two", "thread_ts": ts})).await;
    let channel = general();
    let query = [("channel", channel.as_str()), ("ts", &ts), ("include_all_metadata", "true")];
    let found = raw.get("conversations.replies", &query).await;
    assert_eq!(found["messages"][0]["metadata"], metadata, "{found}");
    assert_eq!(found["messages"][1]["ts"], reply);
    let history = raw.get("conversations.history", &query[..1]).await;
    assert_eq!(history["messages"].as_array().unwrap().len(), 1);
    assert!(history["messages"][0].get("metadata").is_none());
    assert_eq!(raw.slack.messages("general")[0].unfurl_links, Some(false));
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
}

#[tokio::test]
async fn history_pages_by_cursor() {
    let raw = Raw::start(acme()).await;
    for n in 0..5 {
        raw.says(json!({"text": format!("{n}")})).await;
    }
    let channel = general();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let query = [("channel", channel.as_str()), ("limit", "2"), ("cursor", &cursor)];
        let page = raw.get("conversations.history", &query).await;
        seen.extend(
            page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()),
        );
        match page["response_metadata"]["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ["4", "3", "2", "1", "0"]);
    let latest = raw.slack.messages("general")[2].ts.clone();
    let query = [("channel", channel.as_str()), ("oldest", &latest), ("inclusive", "true")];
    assert_eq!(raw.get("conversations.history", &query).await["messages"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn broken_blocks_are_refused_and_noted() {
    let raw = Raw::start(acme()).await;
    let section = |text: String| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
    let broken = [
        json!([section("x".repeat(3001))]),
        json!([section(String::new())]),
        json!([{"type": "actions", "elements": [button("a", &"x".repeat(76))]}]),
        json!([{"type": "actions", "elements": [button("a", "A"), button("a", "B")]}]),
        json!([{"type": "header", "text": {"type": "plain_text", "text": "x".repeat(151)}}]),
        json!([{"type": "marquee"}]),
        json!([{"type": "divider", "block_id": "d"}, {"type": "divider", "block_id": "d"}]),
        Value::Array(vec![json!({"type": "divider"}); 51]),
        json!([{"type": "context_actions", "elements": []}]),
        json!([{"type": "context_actions", "elements": [button("a", "A")]}]),
        json!([{"type": "actions", "elements": [feedback_buttons("👍", "up")]}]),
        json!([{"type": "context_actions", "elements": [feedback_buttons(&"x".repeat(76), "up")]}]),
        json!([{"type": "context_actions", "elements": [feedback_buttons("👍", "")]}]),
        json!([{"type": "context_actions", "elements": [{"type": "feedback_buttons", "action_id": "a"}]}]),
    ];
    for (n, blocks) in broken.into_iter().enumerate() {
        let answer =
            raw.post("chat.postMessage", json!({"channel": general(), "text": "t", "blocks": blocks})).await;
        assert_eq!(answer["error"], "invalid_blocks", "{answer}");
        assert!(answer["response_metadata"]["messages"][0].is_string());
        assert_eq!(raw.slack.violations().len(), n + 1);
    }
}

#[tokio::test]
async fn arguments_are_checked_by_name_type_and_form() {
    let raw = Raw::start(acme()).await;
    let cases = [
        (
            "chat.postMessage",
            json!({"channel": general(), "text": "t", "colour": "red"}),
            "invalid_arguments",
        ),
        ("chat.postMessage", json!({"channel": general()}), "no_text"),
        ("chat.postMessage", json!({"channel": general(), "text": 3}), "invalid_arguments"),
        ("chat.postMessage", json!({"channel": general(), "text": "x".repeat(40_001)}), "msg_too_long"),
        (
            "chat.postMessage",
            json!({"channel": general(), "text": "t", "metadata": {"event_type": "x"}}),
            "invalid_metadata_format",
        ),
        ("conversations.info", json!({"channel": general()}), "invalid_arguments"),
        ("chat.shout", json!({}), "unknown_method"),
    ];
    for (method, body, error) in cases {
        let answer = raw.post(method, body).await;
        assert_eq!(answer["error"], error, "{method}: {answer}");
    }
    assert_eq!(raw.slack.violations().len(), 7);
}

#[tokio::test]
async fn places_and_people_are_checked() {
    let raw = Raw::start(acme()).await;
    let stranger = id("sam");
    let random = super::Channel::new("random", &[]).id;
    let board = super::Channel::new("board", &[]).private().id;
    let ana = raw.slack.post_message("ana", "general", None, "mine");
    let cases = [
        ("chat.postMessage", json!({"channel": "C404", "text": "t"}), "channel_not_found"),
        ("chat.postMessage", json!({"channel": random, "text": "t"}), "not_in_channel"),
        ("chat.postMessage", json!({"channel": board, "text": "t"}), "channel_not_found"),
        (
            "chat.postMessage",
            json!({"channel": general(), "text": "t", "thread_ts": "1.000001"}),
            "cannot_reply_to_message",
        ),
        ("chat.update", json!({"channel": general(), "ts": ana, "text": "t"}), "cant_update_message"),
        ("chat.update", json!({"channel": general(), "ts": "1.000001", "text": "t"}), "message_not_found"),
        (
            "chat.postEphemeral",
            json!({"channel": general(), "user": stranger, "text": "t"}),
            "user_not_in_channel",
        ),
        ("conversations.open", json!({"users": id("gus")}), "user_disabled"),
        ("conversations.open", json!({"users": id("nod")}), "cannot_dm_bot"),
        (
            "views.open",
            json!({"trigger_id": "1.2.3", "view": {"type": "modal", "title": {"type": "plain_text", "text": "T"}, "blocks": [{"type": "divider"}]}}),
            "invalid_trigger_id",
        ),
    ];
    for (method, body, error) in cases {
        let answer = raw.post(method, body).await;
        assert_eq!(answer["error"], error, "{method}: {answer}");
    }
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
}

#[tokio::test]
async fn faults_happen_on_demand() {
    let raw = Raw::start(acme()).await;
    let faults = raw.slack.faults();
    let post = || {
        let body = json!({"channel": general(), "text": "t"});
        raw.http.post(raw.url("chat.postMessage")).bearer_auth(&raw.token).json(&body).send()
    };
    faults.next("chat.postMessage", Fault::Status { code: 429, retry_after: Some(7) });
    faults.next("chat.postMessage", Fault::Status { code: 503, retry_after: None });
    faults.next("chat.postMessage", Fault::DropResponse);
    let limited = post().await.unwrap();
    assert_eq!((limited.status().as_u16(), limited.headers()["retry-after"].to_str().unwrap()), (429, "7"));
    assert_eq!(limited.json::<Value>().await.unwrap()["error"], "ratelimited");
    assert_eq!(post().await.unwrap().status().as_u16(), 503);
    assert!(raw.slack.messages("general").is_empty());
    assert!(post().await.is_err());
    assert_eq!(raw.slack.messages("general").len(), 1);
    assert_eq!(raw.slack.list_calls_of("chat.postMessage").len(), 3);
    assert!(faults.unused().is_empty());
}

#[tokio::test]
async fn posting_too_fast_is_limited_where_asked_for() {
    let mut config = acme();
    config.post_limit = true;
    let raw = Raw::start(config).await;
    raw.says(json!({"text": "one"})).await;
    let answer = raw.post("chat.postMessage", json!({"channel": general(), "text": "two"})).await;
    assert_eq!(answer["error"], "ratelimited");
}
