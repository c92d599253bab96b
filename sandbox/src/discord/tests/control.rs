//! The interface for a demo page.

use serde_json::{Value, json};

use super::{INTENTS, Raw, Socket, acme, button, text, v2};

async fn does(raw: &Raw, door: &str, body: Value) -> Value {
    let url = format!("{}/_sandbox/{door}", raw.discord.root_url());
    raw.http.post(url).json(&body).send().await.unwrap().json().await.unwrap()
}

async fn sees(raw: &Raw, user: &str) -> Value {
    let url = format!("{}/_sandbox/state?user={user}", raw.discord.root_url());
    raw.http.get(url).send().await.unwrap().json().await.unwrap()
}

/// Answers the next interaction with `body`.
async fn answers(raw: &Raw, socket: &mut Socket, body: Value) {
    let told = socket.next().await;
    assert_eq!(told["t"], "INTERACTION_CREATE");
    let (id, token) = (told["d"]["id"].as_str().unwrap(), told["d"]["token"].as_str().unwrap());
    let (status, body) = raw.call("POST", &format!("/interactions/{id}/{token}/callback"), body).await;
    assert_eq!(status, 204, "{body}");
}

#[tokio::test]
async fn what_became_of_a_press_is_told() {
    let raw = Raw::start(acme()).await;
    let row = json!({"type": 1, "components": [button("yes", "Approve")]});
    let posted = raw.says(v2(json!([{"type": 17, "components": [text("### Send?"), row]}]))).await;
    let press = json!({"user": "ana", "channel": "general", "ts": posted["id"], "custom_id": "yes"});
    assert_eq!(does(&raw, "press", press.clone()).await["state"], "lost");
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let body = json!({"type": 6});
    let (told, ()) = tokio::join!(does(&raw, "press", press), answers(&raw, &mut socket, body));
    assert_eq!(told["state"], "acknowledged");
    raw.clean();
}

#[tokio::test]
async fn what_completes_an_option_comes_with_the_answer() {
    let raw = Raw::start(acme()).await;
    let option = json!({"type": 3, "name": "what", "description": "What", "autocomplete": true});
    let all = json!([{"name": "forget", "description": "Forget", "type": 1, "options": [option]}]);
    let path = format!("/applications/{}/commands", raw.app());
    assert_eq!(raw.call("PUT", &path, all).await.0, 200);
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let choices = json!([{"name": "the launch", "value": "7"}]);
    let typed =
        json!({"user": "ana", "channel": "general", "command": "forget", "options": {"what": "the l"}});
    let body = json!({"type": 8, "data": {"choices": choices}});
    let (told, ()) = tokio::join!(does(&raw, "complete", typed), answers(&raw, &mut socket, body));
    assert_eq!(told["choices"], choices);
    raw.clean();
}

#[tokio::test]
async fn an_entry_of_a_messages_menu_is_answered_to_one_person() {
    let raw = Raw::start(acme()).await;
    raw.registers().await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let said = raw.discord.post_message("bo", "general", None, "lunch at one?");
    assert_eq!(socket.next().await["t"], "MESSAGE_CREATE");
    let picked = json!({"user": "ana", "channel": "general", "ts": said, "entry": "Ask Nod"});
    let body = json!({"type": 4, "data": {"content": "On it.", "flags": 64}});
    let (told, ()) = tokio::join!(does(&raw, "pick", picked), answers(&raw, &mut socket, body));
    assert_eq!(told["state"], "acknowledged");
    let whisper = &sees(&raw, "ana").await["ephemerals"][0];
    assert_eq!(whisper["command"], json!({"user": raw.user("ana"), "name": "Ask Nod"}));
    assert_eq!(sees(&raw, "bo").await["ephemerals"], json!([]));
    raw.clean();
}
