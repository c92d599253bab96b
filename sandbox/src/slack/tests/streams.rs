//! Streams, as the reference describes them.

use serde_json::{Value, json};

use super::{Raw, acme, general, id};

async fn start(raw: &Raw, more: Value) -> Value {
    let mut body =
        json!({"channel": general(), "recipient_user_id": id("ana"), "recipient_team_id": "T0ACME0001"});
    super::super::render::merge(&mut body, more);
    raw.post("chat.startStream", body).await
}

#[tokio::test]
async fn a_stream_grows_until_it_is_stopped() {
    let raw = Raw::start(acme()).await;
    let thread = raw.says(json!({"text": "hello"})).await;
    let ts = start(&raw, json!({"thread_ts": thread})).await["ts"].as_str().unwrap().to_owned();
    let at = json!({"channel": general(), "ts": ts});
    let with = |more: Value| {
        let mut body = at.clone();
        super::super::render::merge(&mut body, more);
        body
    };
    assert_eq!(raw.post("chat.stopStream", at.clone()).await["error"], "no_text");
    for more in ["one ", "two"] {
        assert_eq!(raw.post("chat.appendStream", with(json!({"markdown_text": more}))).await["ok"], true);
    }
    assert_eq!(
        raw.post("chat.update", with(json!({"text": "no"}))).await["error"],
        "streaming_state_conflict"
    );
    let metadata = json!({"event_type": "delivery", "event_payload": {"key": "k1"}});
    let stopped = raw.post("chat.stopStream", with(json!({"metadata": metadata}))).await;
    assert_eq!(stopped["message"]["text"], "one two", "{stopped}");
    assert_eq!(stopped["message"]["metadata"], metadata);
    for method in ["chat.appendStream", "chat.stopStream"] {
        let late = raw.post(method, with(json!({"markdown_text": "three"}))).await;
        assert_eq!(late["error"], "message_not_in_streaming_state");
    }
    assert_eq!(raw.post("chat.update", with(json!({"text": "whole"}))).await["ok"], true);
    assert_eq!(raw.slack.violations(), [""; 0]);
}

#[tokio::test]
async fn what_a_stream_lacks_is_said() {
    let raw = Raw::start(acme()).await;
    let thread = raw.says(json!({"text": "hello"})).await;
    let error = |answer: Value| answer["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!(error(start(&raw, json!({})).await), "invalid_arguments", "no thread");
    let none = json!({"channel": general(), "thread_ts": thread});
    assert_eq!(error(raw.post("chat.startStream", none).await), "missing_recipient_user_id");
    let foreign = json!({"thread_ts": thread, "recipient_team_id": "T0OTHER001"});
    assert_eq!(error(start(&raw, foreign).await), "team_not_found");
    let long = json!({"thread_ts": thread, "markdown_text": "x".repeat(12_001)});
    assert_eq!(error(start(&raw, long).await), "msg_too_long");
    raw.slack.change(|w| w.config.streams = false);
    assert_eq!(error(start(&raw, json!({"thread_ts": thread})).await), "channel_type_not_supported");
    let typed = json!({"channel": general(), "ts": raw.slack.post_message("ana", "general", None, "mine"),
        "markdown_text": "x"});
    assert_eq!(error(raw.post("chat.appendStream", typed).await), "message_not_owned_by_app");
}
