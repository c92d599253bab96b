//! A file is dropped in the page, kept and asked about.

use serde_json::{Value, json};

use super::*;

/// "Everybody has 25 days of annual leave a year.\n" in Base64.
const HANDBOOK: &str = "RXZlcnlib2R5IGhhcyAyNSBkYXlzIG9mIGFubnVhbCBsZWF2ZSBhIHllYXIuCg==";

fn message_with(state: &Value, words: &str) -> Option<Value> {
    nod_messages(state).find(|message| message.to_string().contains(words)).cloned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_file_is_kept_and_asked_about() {
    let visit = DemoFixture::start().await;
    let file = json!({"name": "handbook.txt", "media_type": "text/plain", "base64": HANDBOOK});
    let dropped = json!({"user": "ana", "channel": "launch", "text": "@nod keep this", "file": file});
    visit.post("slack/say", dropped).await;
    visit.wait_in_slack(|state| message_with(state, "I have read this. Ask me about it.")).await;

    let question = "@nod how much annual leave do I have?";
    visit.post("slack/say", json!({"user": "bo", "channel": "launch", "text": question})).await;
    visit.wait_in_slack(|state| message_with(state, "25 days of annual leave a year. [1]")).await;
    let source = visit.wait_for_button("knowledge_passage").await;
    visit.press("bo", &source).await;
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_none_is_refused() {
    let visit = DemoFixture::start().await;
    for file in [json!({"name": "", "base64": HANDBOOK}), json!({"name": "a.txt", "base64": "%%"})] {
        let dropped = json!({"user": "ana", "channel": "launch", "text": "keep this", "file": file});
        for place in ["slack", "discord"] {
            let door = visit.page.join(&format!("sandbox/{place}/say")).unwrap();
            let said = visit.client.post(door).json(&dropped).send().await;
            assert_eq!(said.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
        }
    }
    visit.shut_down().await;
}
