use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;

use super::{INTENTS, Raw, Socket, acme};

#[tokio::test]
async fn a_session_is_taken_up_where_it_was_left() {
    let raw = Raw::start(acme()).await;
    let (mut socket, ready) = Socket::open(&raw, INTENTS).await;
    raw.discord.post_message("ana", "general", None, "one");
    let one = socket.next().await;
    raw.discord.drop_connections();
    raw.discord.wait_for("the cut", super::SOON, |w| (w.gateway.ready() == 0).then_some(())).await;
    raw.discord.post_message("ana", "general", None, "two");
    let resume = json!({"op": 6, "d": {
        "token": raw.token, "session_id": ready["d"]["session_id"], "seq": one["s"],
    }});
    let mut socket = Socket::connect(&raw).await;
    socket.send(resume.clone()).await;
    let two = socket.next().await;
    assert_eq!((&two["t"], &two["d"]["content"]), (&json!("MESSAGE_CREATE"), &json!("two")));
    assert_eq!(socket.next().await["t"], "RESUMED");
    raw.discord.drop_connections();
    raw.discord.wait_for("the cut", super::SOON, |w| (w.gateway.ready() == 0).then_some(())).await;
    raw.later(TimeDelta::minutes(3));
    let mut socket = Socket::connect(&raw).await;
    socket.send(resume).await;
    let invalid = socket.next().await;
    assert_eq!((&invalid["op"], &invalid["d"]), (&json!(9), &json!(false)));
    raw.clean();
}

#[tokio::test]
async fn only_what_the_intents_ask_for_is_told() {
    let raw = Raw::start(acme()).await;
    let (mut socket, _) = Socket::open(&raw, 1 | (1 << 9) | (1 << 12)).await;
    raw.discord.join("sam");
    raw.discord.post_message("ana", "general", None, "secret");
    raw.discord.post_message("ana", "general", None, "@nod hear me");
    raw.discord.post_message("ana", "dm:ana", None, "direct");
    raw.discord.post_message("bo", "board", None, "unseen");
    let said = [socket.next().await, socket.next().await, socket.next().await];
    let heard: Vec<&str> = said.iter().map(|e| e["d"]["content"].as_str().unwrap()).collect();
    assert_eq!(heard, ["", &format!("<@{}> hear me", raw.app()), "direct"]);
    assert_eq!(said[1]["d"]["mentions"][0]["id"], json!(raw.app()));
    assert_eq!(said[1]["d"]["member"]["nick"], "Ana");
    assert!(said[2]["d"].get("guild_id").is_none());
    raw.clean();
}

#[tokio::test]
async fn who_may_not_listen_is_sent_away() {
    let mut config = acme();
    config.app.content_intent = false;
    let mut raw = Raw::start(config).await;
    let mut socket = Socket::connect(&raw).await;
    socket.identify(&raw, INTENTS).await;
    assert_eq!(socket.wait_for_close_code().await, 4014);
    raw.token = "wrong".into();
    raw.discord.change(|w| w.config.app.bot_token.clone());
    let url = format!("{}/gateway?v=10", raw.discord.root_url().replacen("http", "ws", 1));
    let mut socket = Socket(tokio_tungstenite::connect_async(url).await.unwrap().0);
    socket.next().await;
    socket.identify(&raw, 1).await;
    assert_eq!(socket.wait_for_close_code().await, 4004);
    raw.clean();
}

#[tokio::test]
async fn trouble_on_demand() {
    let mut config = acme();
    config.heartbeat_interval = Duration::from_millis(200);
    config.heartbeat_strict = true;
    let raw = Raw::start(config).await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    socket.send(json!({"op": 1, "d": 2})).await;
    assert_eq!(socket.next().await["op"], 11);
    raw.discord.reconnect();
    assert_eq!(socket.next().await["op"], 7);
    raw.discord.duplicate_next();
    raw.discord.post_message("ana", "general", None, "hi");
    let (one, two) = (socket.next().await, socket.next().await);
    assert_eq!(one["d"]["id"], two["d"]["id"]);
    assert_eq!(socket.wait_for_close_code().await, 4009);
    raw.clean();
}
