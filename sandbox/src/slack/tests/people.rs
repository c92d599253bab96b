use serde_json::{Value, json};

use super::{Raw, acme, general, id};

#[tokio::test]
async fn typed_words_become_slacks_notation_and_back() {
    let raw = Raw::start(acme()).await;
    let ts = raw.slack.post_message(
        "ana",
        "general",
        None,
        "@nod tell bo@example.com & see https://x.test/a, @bo",
    );
    let text = raw.slack.messages("general")[0].text.clone();
    assert_eq!(
        text,
        "<@U000000NOD> tell <mailto:bo@example.com|bo@example.com> &amp; see <https://x.test/a>, <@U0000000BO>"
    );
    raw.says(json!({"text": "Sure", "thread_ts": ts, "blocks": [
        {"type": "section", "text": {"type": "mrkdwn", "text": "*Send?* <@U0000000BO>"}},
        {"type": "actions", "elements": [
            {"type": "button", "action_id": "yes", "value": "1", "text": {"type": "plain_text", "text": "Approve & send"}},
        ]},
    ]}))
    .await;
    let expected = "ana: @nod tell bo@example.com & see https://x.test/a, @bo\n    nod: *Send?* @bo\n      [Approve & send]\n";
    assert_eq!(raw.slack.transcript("general"), expected);
}

#[tokio::test]
async fn nobody_presses_what_he_cannot_see() {
    let raw = Raw::start(acme()).await;
    let ts = raw.says(json!({"text": "t"})).await;
    let refused = |r: Result<super::super::PendingInteraction, String>| r.err().unwrap();
    assert!(refused(raw.slack.click("sam", "general", &ts, "yes")).contains("no member"));
    assert!(refused(raw.slack.click("ana", "general", &ts, "yes")).contains("no button"));
    assert!(refused(raw.slack.click("gus", "general", &ts, "yes")).contains("deactivated"));
}

#[tokio::test]
async fn the_page_sees_only_what_its_viewer_may_see() {
    let raw = Raw::start(acme()).await;
    let base = format!("{}/_sandbox", raw.slack.url());
    let body = json!({"user": "bo", "channel": "board", "text": "secret"});
    let said: Value =
        raw.http.post(format!("{base}/say")).json(&body).send().await.unwrap().json().await.unwrap();
    assert!(said["ts"].is_string(), "{said}");
    raw.post("chat.postEphemeral", json!({"channel": general(), "user": id("bo"), "text": "psst"})).await;
    let state = async |who: &str| {
        let url = format!("{base}/state?user={who}");
        raw.http.get(url).send().await.unwrap().json::<Value>().await.unwrap()
    };
    let (ana, bo) = (state("ana").await.to_string(), state("bo").await.to_string());
    assert!(bo.contains("secret") && bo.contains("psst"));
    assert!(!ana.contains("secret") && !ana.contains("psst"));
    let refused =
        raw.http.post(format!("{base}/say")).json(&json!({"user": "ana", "channel": "board", "text": "x"}));
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 422);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"], "ana is no member of board.");
    let version: Value =
        raw.http.get(format!("{base}/events?since=1")).send().await.unwrap().json().await.unwrap();
    assert!(version["version"].as_u64().unwrap() > 1);
}
