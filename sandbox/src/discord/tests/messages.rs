use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{Raw, V2, acme, button, text, v2};
use crate::Fault;
use crate::discord::NewMessage;

#[tokio::test]
async fn the_same_nonce_gives_one_message() {
    let raw = Raw::start(acme()).await;
    let body = json!({"content": "once", "nonce": "n1", "enforce_nonce": true});
    let (one, two) = (raw.says(body.clone()).await, raw.says(body.clone()).await);
    assert_eq!(one["id"], two["id"]);
    let history = raw.get(&format!("/channels/{}/messages", raw.channel("general"))).await;
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert!(history[0].get("nonce").is_none());
    raw.later(TimeDelta::minutes(6));
    assert_ne!(raw.says(body).await["id"], one["id"]);
    raw.clean();
}

#[tokio::test]
async fn broken_components_are_refused_and_noted() {
    let raw = Raw::start(acme()).await;
    let row = |buttons: Vec<Value>| json!({"type": 1, "components": buttons});
    let many: Vec<Value> = (0..41).map(|n| text(&format!("{n}"))).collect();
    let broken = [
        json!({"content": "both", "components": [text("a")], "flags": V2}),
        json!({"components": [text("no flag")]}),
        v2(json!([])),
        v2(json!(many)),
        v2(json!([text(&"x".repeat(2001)), text(&"x".repeat(2000))])),
        v2(json!([row(vec![button("a", "A"), button("a", "B")])])),
        v2(json!([row((0..6).map(|n| button(&n.to_string(), "B")).collect())])),
        v2(json!([row(vec![json!({"type": 2, "style": 5, "label": "L", "custom_id": "c"})])])),
        v2(json!([row(vec![button(&"x".repeat(101), "A")])])),
        v2(json!([{"type": 10, "id": 7, "content": "a"}, {"type": 10, "id": 7, "content": "b"}])),
        v2(json!([{"type": 9, "components": [text("a")]}])),
        v2(json!([{"type": 17, "components": [{"type": 17, "components": [text("a")]}]}])),
        json!({"content": "x".repeat(2001)}),
        json!({"content": ""}),
        json!({"content": "a", "nonce": "x".repeat(26)}),
        json!({"content": "a", "flags": 64}),
        json!({"content": "a", "embeds": [{"title": "t"}]}),
        json!({"content": "a", "surprise": 1}),
    ];
    let path = format!("/channels/{}/messages", raw.channel("general"));
    for (n, body) in broken.into_iter().enumerate() {
        let (status, answer) = raw.call("POST", &path, body.clone()).await;
        assert_eq!((status, answer["code"].as_u64()), (400, Some(50035)), "{body} {answer}");
        assert!(answer["errors"].is_object(), "{answer}");
        assert_eq!(raw.discord.violations().len(), n + 1);
    }
    assert!(raw.discord.messages("general").is_empty());
}

#[tokio::test]
async fn components_stay_components() {
    let raw = Raw::start(acme()).await;
    let message = raw.says(v2(json!([text("one"), {"type": 10, "id": 1, "content": "two"}]))).await;
    assert_eq!((&message["components"][0]["id"], &message["components"][1]["id"]), (&json!(2), &json!(1)));
    let path = format!("/channels/{}/messages/{}", raw.channel("general"), message["id"].as_str().unwrap());
    let (status, after) = raw.call("PATCH", &path, json!({"components": [text("three")]})).await;
    assert_eq!((status, after["flags"].as_u64()), (200, Some(V2 | 4)), "{after}");
    raw.clean();
    assert_eq!(raw.call("PATCH", &path, json!({"content": "words"})).await.0, 400);
    assert_eq!(raw.call("PATCH", &path, json!({"flags": 0})).await.0, 400);
    assert_eq!(raw.discord.channel_text("general"), "nod: three\n");
}

#[tokio::test]
async fn what_rings_and_what_unfurls_is_noted() {
    let raw = Raw::start(acme()).await;
    let ana = raw.user("ana");
    let none = json!({"parse": []});
    raw.says(json!({"content": format!("<@{ana}> @everyone"), "allowed_mentions": none})).await;
    assert!(raw.discord.mentioned_users().is_empty());
    raw.says(json!({"content": format!("<@{ana}>"), "allowed_mentions": {"users": [ana]}})).await;
    raw.says(json!({"components": [text("@here")], "flags": V2 | 4})).await;
    assert_eq!(raw.discord.mentioned_users(), ["ana", "@here"]);
    assert!(raw.discord.unfurls().is_empty());
    raw.says(json!({"components": [text("see https://acme.test/a.")], "flags": V2})).await;
    raw.says(json!({"content": "see https://acme.test/b", "flags": 4})).await;
    assert_eq!(raw.discord.unfurls().len(), 1);
    raw.clean();
}

#[tokio::test]
async fn history_pages_and_threads_hang_on_messages() {
    let raw = Raw::start(acme()).await;
    for n in 0..5 {
        raw.says(json!({"content": n.to_string()})).await;
    }
    let general = raw.channel("general");
    let path = format!("/channels/{general}/messages");
    let said = |page: &Value| -> Vec<String> {
        page.as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
    };
    let newest = raw.get(&format!("{path}?limit=2")).await;
    assert_eq!(said(&newest), ["4", "3"]);
    let third = newest[1]["id"].as_str().unwrap();
    assert_eq!(said(&raw.get(&format!("{path}?limit=2&before={third}")).await), ["2", "1"]);
    assert_eq!(said(&raw.get(&format!("{path}?after={third}")).await), ["4"]);
    let body = json!({"name": "a thread"});
    let (status, thread) = raw.call("POST", &format!("{path}/{third}/threads"), body.clone()).await;
    assert_eq!((status, thread["id"].as_str()), (201, Some(third)), "{thread}");
    let (status, again) = raw.call("POST", &format!("{path}/{third}/threads"), body).await;
    assert_eq!((status, again["code"].as_u64()), (400, Some(160_004)));
    raw.call("POST", &format!("/channels/{third}/messages"), json!({"content": "below"})).await;
    let spoken = raw.discord.channel_text("general");
    assert!(spoken.contains("nod: 3\n    nod: below\nnod: 4\n"), "{spoken}");
    raw.clean();
    assert_eq!(raw.call("GET", &format!("{path}?limit=101"), Value::Null).await.0, 400);
    assert_eq!(raw.call("GET", &format!("{path}?odd=1"), Value::Null).await.0, 400);
    assert_eq!(raw.discord.violations().len(), 2);
}

#[tokio::test]
async fn a_private_thread_is_seen_by_those_who_were_added() {
    let raw = Raw::start(acme()).await;
    let (ana, bo) = (raw.user("ana"), raw.user("bo"));
    let without_bot = raw.discord.open_private_thread("ana", "lobby", "alone", &[]);
    let (status, refused) = raw.call("GET", &format!("/channels/{without_bot}"), Value::Null).await;
    assert_eq!((status, refused["code"].as_u64()), (403, Some(50001)));
    let thread = raw.discord.open_private_thread("ana", "lobby", "two", &["nod"]);
    let path = format!("/channels/{thread}");
    let shown = raw.get(&path).await;
    assert_eq!((&shown["type"], &shown["parent_id"]), (&json!(12), &json!(raw.channel("lobby"))));
    // It inherits its channel's permissions and states none itself.
    assert!(shown.get("permission_overwrites").is_none(), "{shown}");
    let member = raw.get(&format!("{path}/thread-members/{ana}?with_member=true")).await;
    assert_eq!((&member["user_id"], &member["member"]["nick"]), (&json!(ana), &json!("Ana")));
    let (status, unknown) = raw.call("GET", &format!("{path}/thread-members/{bo}"), Value::Null).await;
    assert_eq!((status, unknown["code"].as_u64()), (404, Some(10007)));
    assert_eq!(raw.get(&format!("{path}/thread-members")).await.as_array().unwrap().len(), 2);
    let said = NewMessage::new("bo", &thread, "hello");
    assert!(raw.discord.post_message_with(said).is_err());
    assert!(!raw.discord.channel_text("lobby").contains("two"));
    raw.clean();
    let lobby = format!("/channels/{}/thread-members/{ana}", raw.channel("lobby"));
    assert_eq!(raw.call("GET", &lobby, Value::Null).await.0, 400);
}

#[tokio::test]
async fn what_the_bot_may_not_is_refused() {
    let mut config = acme();
    config.app.members_intent = false;
    let mut raw = Raw::start(config).await;
    let (board, news) = (raw.channel("board"), raw.channel("news"));
    let hi = json!({"content": "hi"});
    let code = |answer: (u16, Value)| (answer.0, answer.1["code"].as_u64().unwrap());
    assert_eq!(
        code(raw.call("POST", &format!("/channels/{board}/messages"), hi.clone()).await),
        (403, 50001)
    );
    assert_eq!(code(raw.call("POST", &format!("/channels/{news}/messages"), hi.clone()).await), (403, 50013));
    assert_eq!(code(raw.call("POST", "/channels/1/messages", hi.clone()).await), (404, 10003));
    let recipient = json!({"recipient_id": raw.user("shy")});
    let (_, dm) = raw.call("POST", "/users/@me/channels", recipient).await;
    let path = format!("/channels/{}/messages", dm["id"].as_str().unwrap());
    assert_eq!(code(raw.call("POST", &path, hi).await), (403, 50007));
    let guild = raw.discord.read(|w| w.config.guild.id.clone());
    assert_eq!(code(raw.call("GET", &format!("/guilds/{guild}/members"), Value::Null).await), (403, 50001));
    let member = format!("/guilds/{guild}/members/{}", raw.user("sam"));
    assert_eq!(code(raw.call("GET", &member, Value::Null).await), (404, 10007));
    raw.clean();
    raw.token = "wrong".into();
    assert_eq!(raw.call("GET", "/users/@me", Value::Null).await.0, 401);
    assert_eq!(raw.discord.invalid_requests(), 5);
}

#[tokio::test]
async fn a_sixth_message_within_five_seconds_waits() {
    let mut config = acme();
    config.post_limit = true;
    let raw = Raw::start(config).await;
    for _ in 0..5 {
        raw.says(json!({"content": "hi"})).await;
    }
    let path = format!("/channels/{}/messages", raw.channel("general"));
    let held = raw.request("POST", &path).json(&json!({"content": "hi"})).send().await.unwrap();
    assert_eq!(held.status(), 429);
    assert_eq!(held.headers()["x-ratelimit-remaining"], "0");
    assert_eq!(held.headers()["retry-after"], "5");
    assert_eq!(held.json::<Value>().await.unwrap()["retry_after"], 5.0);
    raw.later(TimeDelta::seconds(5));
    raw.says(json!({"content": "hi"})).await;
    raw.discord.faults().next("global", Fault::Status { code: 429, retry_after: Some(2) });
    let (status, body) = raw.call("GET", "/users/@me", Value::Null).await;
    assert_eq!((status, body["global"].as_bool()), (429, Some(true)));
    raw.clean();
}

#[tokio::test]
async fn a_file_comes_along() {
    let raw = Raw::start(acme()).await;
    let path = format!("/channels/{}/messages", raw.channel("general"));
    let body = "--b\r\nContent-Disposition: form-data; name=\"payload_json\"\r\nContent-Type: application/json\
                \r\n\r\n{\"content\":\"here\",\"attachments\":[{\"id\":\"0\",\"filename\":\"a.txt\"}]}\r\n--b\r\n\
                Content-Disposition: form-data; name=\"files[0]\"; filename=\"a.txt\"\r\nContent-Type: \
                text/plain\r\n\r\nwords\r\n--b--\r\n";
    let request =
        raw.request("POST", &path).header("content-type", "multipart/form-data; boundary=b").body(body);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["attachments"][0]["filename"], "a.txt", "{answer}");
    assert_eq!(raw.discord.file("a.txt").as_deref(), Some("words"));
    assert_eq!(raw.discord.channel_text("general"), "nod: here\n  [file a.txt]\n");
    let numbered = body.replace("\"id\":\"0\"", "\"id\":0");
    let request =
        raw.request("POST", &path).header("content-type", "multipart/form-data; boundary=b").body(numbered);
    assert_eq!(request.send().await.unwrap().status(), 400);
}
