use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{Raw, SOON, acme, general, id};
use crate::slack::{Delivery, EventDelivery, ForgedClick, NewMessage};

struct Socket(WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>);

impl Socket {
    async fn open(raw: &Raw) -> Self {
        let app_token = raw.slack.read(|w| w.config.app.app_token.clone());
        let request = raw.http.post(raw.url("apps.connections.open")).bearer_auth(app_token);
        let opened: Value = request.send().await.unwrap().json().await.unwrap();
        let mut socket = Self(connect_async(opened["url"].as_str().unwrap()).await.unwrap().0);
        assert_eq!(socket.next().await["type"], "hello");
        socket
    }

    async fn next(&mut self) -> Value {
        match tokio::time::timeout(SOON, self.0.next()).await.unwrap() {
            Some(Ok(Frame::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn send(&mut self, value: Value) {
        self.0.send(Frame::Text(value.to_string().into())).await.unwrap();
    }

    async fn ack(&mut self, envelope: &Value) {
        self.send(json!({"envelope_id": envelope["envelope_id"]})).await;
    }
}

#[tokio::test]
async fn a_mention_comes_twice_with_different_event_ids() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    let ts = raw.slack.post_message("ana", "general", None, "@nod hi");
    let (mention, message) = (socket.next().await, socket.next().await);
    assert_eq!(mention["payload"]["event"]["type"], "app_mention");
    assert_eq!(message["payload"]["event"]["type"], "message");
    assert_eq!(message["payload"]["event"]["channel_type"], "channel");
    assert_eq!(
        (&mention["payload"]["event"]["ts"], &message["payload"]["event"]["ts"]),
        (&json!(ts), &json!(ts))
    );
    assert_ne!(mention["payload"]["event_id"], message["payload"]["event_id"]);
    socket.ack(&mention).await;
    socket.ack(&message).await;
    raw.slack
        .wait_for("acks", SOON, |w| w.sockets.envelopes().iter().all(|e| e.took.is_some()).then_some(()))
        .await;
    assert!(raw.slack.list_unacknowledged().is_empty());
    assert_eq!(raw.slack.ack_times().len(), 2);
}

#[tokio::test]
async fn events_are_redelivered_three_times_and_presses_never() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    raw.slack
        .click_forged(ForgedClick { user: "ana".into(), channel: "general".into(), ..ForgedClick::default() })
        .unwrap();
    assert_eq!(socket.next().await["type"], "interactive");
    raw.slack.post_message("ana", "dm:ana", None, "hello");
    for attempt in 0..4 {
        let envelope = socket.next().await;
        assert_eq!(envelope["payload"]["event"]["channel_type"], "im");
        assert_eq!(envelope["retry_attempt"], attempt);
    }
    raw.slack
        .wait_for("giving up", SOON, |w| {
            w.sockets.envelopes().iter().any(|e| e.state == Delivery::Abandoned).then_some(())
        })
        .await;
    assert_eq!(raw.slack.list_unacknowledged().len(), 2);
}

#[tokio::test]
async fn events_wait_for_a_socket_and_presses_are_lost() {
    let raw = Raw::start(acme()).await;
    raw.slack.post_message("ana", "general", None, "while you were away");
    raw.slack.run_command("ana", "general", "/nod", "help");
    let mut socket = Socket::open(&raw).await;
    let envelope = socket.next().await;
    assert_eq!(envelope["payload"]["event"]["text"], "while you were away");
    assert_eq!(envelope["retry_attempt"], 1);
    socket.ack(&envelope).await;
    raw.slack
        .wait_for("ack", SOON, |w| (w.sockets.envelopes()[0].state == Delivery::Acknowledged).then_some(()))
        .await;
    assert_eq!(raw.slack.envelopes()[1].state, Delivery::Lost);
}

#[tokio::test]
async fn a_cut_socket_hands_its_events_to_the_next() {
    let mut config = acme();
    config.redeliver_after = SOON;
    let raw = Raw::start(config).await;
    let mut first = Socket::open(&raw).await;
    raw.slack.post_message("ana", "general", None, "hi");
    let before = first.next().await;
    raw.slack.drop_sockets();
    let mut second = Socket::open(&raw).await;
    let after = second.next().await;
    assert_eq!(before["payload"]["event_id"], after["payload"]["event_id"]);
    assert_ne!(before["envelope_id"], after["envelope_id"]);
}

#[tokio::test]
async fn a_command_is_answered_by_its_acknowledgement_and_its_url() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    let pending = raw.slack.run_command("ana", "random", "/nod", "help");
    let envelope = socket.next().await;
    socket.send(json!({"envelope_id": envelope["envelope_id"], "payload": {"text": "Hello Ana"}})).await;
    assert_eq!(pending.wait_for_acknowledgement(SOON).await.payload, Some(json!({"text": "Hello Ana"})));
    let url = envelope["payload"]["response_url"].as_str().unwrap();
    for use_ in 1..=6 {
        let answer = raw.http.post(url).json(&json!({"text": "more"})).send().await.unwrap();
        assert_eq!(answer.status().is_success(), use_ <= 5);
    }
    let seen: Vec<String> = raw.slack.ephemerals("ana").into_iter().map(|e| e.text).collect();
    assert_eq!(seen[..2], ["Hello Ana", "more"]);
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
}

#[tokio::test]
async fn malformed_acknowledgements_are_noted() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    raw.slack.run_command("ana", "general", "/nod", "help");
    let envelope = socket.next().await;
    socket.send(json!({"envelope_id": envelope["envelope_id"], "payload": {"text": "x", "blocks": [{"type": "no"}]}})).await;
    socket.send(json!({"envelope_id": "made up"})).await;
    socket.send(json!({"id": 1})).await;
    socket.0.send(Frame::Text("no json".into())).await.unwrap();
    raw.slack.wait_for("violations", SOON, |w| (w.violations.len() >= 5).then_some(())).await;
}

#[tokio::test]
async fn odd_deliveries_happen_on_demand() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    raw.slack
        .post_message_with(NewMessage {
            deliver: EventDelivery::Held,
            ..NewMessage::new("ana", "general", "late")
        })
        .unwrap();
    raw.slack
        .post_message_with(NewMessage {
            deliver: EventDelivery::Never,
            ..NewMessage::new("ana", "general", "lost")
        })
        .unwrap();
    raw.slack
        .post_message_with(NewMessage {
            deliver: EventDelivery::Duplicated,
            ..NewMessage::new("ana", "general", "twice")
        })
        .unwrap();
    let (one, two) = (socket.next().await, socket.next().await);
    assert_eq!(one["payload"]["event_id"], two["payload"]["event_id"]);
    raw.slack.release();
    let late = socket.next().await;
    assert_eq!(late["payload"]["event"]["text"], "late");
    socket.ack(&late).await;
    let foreign =
        NewMessage { subtype: Some("bot_message".into()), ..NewMessage::new("B0OTHER", "general", "beep") };
    raw.slack.post_message_with(foreign).unwrap();
    raw.slack.wait_for("five", SOON, |w| (w.sockets.envelopes().len() >= 4).then_some(())).await;
    let beep = &raw.slack.envelopes()[3].payload["event"];
    assert_eq!((beep["bot_id"].as_str(), beep["subtype"].as_str()), (Some("B0OTHER"), Some("bot_message")));
}

#[tokio::test]
async fn edits_and_deletions_are_told_and_the_bots_own_posts_too() {
    let raw = Raw::start(acme()).await;
    let ts = raw.slack.post_message("ana", "general", None, "teh");
    raw.slack.edit("ana", "general", &ts, "the");
    raw.slack.delete("ana", "general", &ts);
    let own = raw.says(json!({"text": "one"})).await;
    raw.post("chat.update", json!({"channel": general(), "ts": own, "text": "two"})).await;
    let told: Vec<Value> = raw.slack.envelopes().into_iter().map(|e| e.payload["event"].clone()).collect();
    let kinds: Vec<&str> = told.iter().map(|e| e["subtype"].as_str().unwrap_or("-")).collect();
    assert_eq!(kinds, ["-", "message_changed", "message_deleted", "-", "message_changed"]);
    assert_eq!(told[1]["previous_message"]["text"], "teh");
    assert!(told[3]["bot_id"].is_string());
}

#[tokio::test]
async fn a_form_is_opened_once_by_its_trigger_and_submitted() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    raw.slack.run_command("ana", "general", "/nod", "edit");
    let envelope = socket.next().await;
    socket.ack(&envelope).await;
    let words = |text: &str| json!({"type": "plain_text", "text": text});
    let input = json!({"type": "plain_text_input", "action_id": "body"});
    let view = json!({
        "type": "modal", "callback_id": "edit", "title": words("Edit"), "submit": words("Save"),
        "blocks": [{"type": "input", "block_id": "b", "label": words("Body"), "element": input}],
    });
    let open = json!({"trigger_id": envelope["payload"]["trigger_id"], "view": view});
    let opened = raw.post("views.open", open.clone()).await;
    assert_eq!(opened["ok"], true, "{opened}");
    assert_eq!(raw.post("views.open", open).await["error"], "exchanged_trigger_id");
    let values = json!({"b": {"body": {"type": "plain_text_input", "value": "Hi"}}});
    let id = opened["view"]["id"].as_str().unwrap();
    assert!(raw.slack.submit("bo", id, &values).is_err());
    let pending = raw.slack.submit("ana", id, &values).unwrap();
    let envelope = socket.next().await;
    assert_eq!(envelope["payload"]["view"]["state"]["values"], values);
    let errors = json!({"response_action": "errors", "errors": {"b": "Too short"}});
    socket.send(json!({"envelope_id": envelope["envelope_id"], "payload": errors})).await;
    pending.wait_for_acknowledgement(SOON).await;
    assert_eq!(raw.slack.views()[0].answer, Some(errors));
    assert!(raw.slack.views()[0].open);
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
}

#[tokio::test]
async fn an_invited_app_is_told_and_shown_in_the_channel() {
    let raw = Raw::start(acme()).await;
    let mut socket = Socket::open(&raw).await;
    let invites = |who: &str, channel: &str| raw.slack.change(|w| w.invite_app(who, channel)).err();
    assert_eq!(invites("bo", "random").unwrap(), "bo is no member of random.");
    assert_eq!(invites("bo", "general").unwrap(), "The app is already in this channel.");
    raw.slack.invite_app("ana", "random");
    let (joined, shown) = (socket.next().await, socket.next().await);
    let joined = &joined["payload"]["event"];
    assert_eq!((&joined["type"], &joined["inviter"]), (&json!("member_joined_channel"), &json!(id("ana"))));
    // Not `app_mention`, though the words mention the app.
    assert_eq!(shown["payload"]["event"]["subtype"], "channel_join");
    raw.slack.remove_app("random");
    raw.slack.post_message("ana", "random", None, "@nod hi");
    raw.slack.post_message("ana", "general", None, "heard");
    assert_eq!(socket.next().await["payload"]["event"]["text"], "heard");
}
