//! Stories about the fake itself: raw requests, a raw gateway, and the real client's models.
#![allow(clippy::unwrap_used)]

mod control;
mod gateway;
mod interactions;
mod messages;
mod models;
mod oauth;
mod shown;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use futures::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{Channel, Discord, DiscordConfig, User};

const SOON: Duration = Duration::from_secs(10);
/// Guilds, members, messages in guilds and DM channels, and message content.
const INTENTS: u64 = 1 | (1 << 1) | (1 << 9) | (1 << 12) | (1 << 15);
const V2: u64 = 1 << 15;

fn acme() -> DiscordConfig {
    let mut shy = User::new("shy", "Shy");
    shy.refuses_dms = true;
    let mut config = DiscordConfig::new("nod")
        .user(User::new("ana", "Ana Ruiz").nick("Ana"))
        .user(User::new("bo", "Bo Stone"))
        .user(User::new("sam", "Sam Strange").outside_guild())
        .user(shy)
        .channel(Channel::new("general", &["ana", "bo"]))
        .channel(Channel::new("lobby", &[]))
        .channel(Channel::new("board", &["bo"]).without_bot_access())
        .channel(Channel::new("news", &["ana"]).read_only_for_bot());
    config.specs_dir = std::env::var_os("NOD_SPECS_DIR").map(Into::into);
    config
}

/// Plain requests with the bot's token, with a fixed clock.
struct Raw {
    http: reqwest::Client,
    discord: Discord,
    token: String,
    clock: Arc<AtomicI64>,
}

impl Raw {
    async fn start(mut config: DiscordConfig) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Arc::new(AtomicI64::new(1_772_787_600_000));
        let now = clock.clone();
        config.clock = Arc::new(move || DateTime::from_timestamp_millis(now.load(Ordering::SeqCst)).unwrap());
        let token = config.app.bot_token.clone();
        let http =
            reqwest::Client::builder().user_agent("DiscordBot (https://acme.test, 1)").build().unwrap();
        Self { http, discord: Discord::start(config).await.unwrap(), token, clock }
    }

    fn later(&self, by: TimeDelta) {
        self.clock.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
    }

    fn request(&self, verb: &str, path: &str) -> reqwest::RequestBuilder {
        let verb = Method::from_bytes(verb.as_bytes()).unwrap();
        let request = self.http.request(verb, format!("{}{path}", self.discord.url()));
        request.header("authorization", format!("Bot {}", self.token))
    }

    /// Returns status and body.
    async fn call(&self, verb: &str, path: &str, body: Value) -> (u16, Value) {
        let mut request = self.request(verb, path);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Posts to `general`; returns the message.
    async fn says(&self, body: Value) -> Value {
        let path = format!("/channels/{}/messages", self.channel("general"));
        let (status, body) = self.call("POST", &path, body).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    fn channel(&self, name: &str) -> String {
        self.discord.read(|w| w.channel_id(name)).unwrap()
    }

    fn user(&self, name: &str) -> String {
        self.discord.read(|w| w.user_id(name)).unwrap()
    }

    fn app(&self) -> String {
        self.discord.read(|w| w.config.app.id.clone())
    }

    /// Registers `/nod` with a sub-command, and a message command.
    async fn registers(&self) {
        let text = json!({"type": 3, "name": "to", "description": "To whom", "required": true});
        let sub = json!({"type": 1, "name": "send", "description": "Send", "options": [text]});
        let all = json!([
            {"name": "nod", "description": "Ask Nod", "type": 1, "options": [sub]},
            {"name": "Ask Nod", "type": 3},
        ]);
        let (status, body) = self.call("PUT", &format!("/applications/{}/commands", self.app()), all).await;
        assert_eq!(status, 200, "{body}");
    }

    fn clean(&self) {
        assert!(self.discord.violations().is_empty(), "{:#?}", self.discord.violations());
    }
}

fn text(content: &str) -> Value {
    json!({"type": 10, "content": content})
}

fn button(id: &str, label: &str) -> Value {
    json!({"type": 2, "style": 1, "custom_id": id, "label": label})
}

fn v2(components: Value) -> Value {
    json!({"components": components, "flags": V2 | 4, "allowed_mentions": {"parse": []}})
}

/// One gateway connection.
struct Socket(WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>);

impl Socket {
    async fn connect(raw: &Raw) -> Self {
        let told = raw.get("/gateway/bot").await;
        let url = format!("{}?v=10&encoding=json", told["url"].as_str().unwrap());
        let mut socket = Self(connect_async(url).await.unwrap().0);
        assert_eq!(socket.next().await["op"], 10);
        socket
    }

    /// Opens a connection that is identified, past READY and GUILD_CREATE.
    async fn open(raw: &Raw, intents: u64) -> (Self, Value) {
        let mut socket = Self::connect(raw).await;
        socket.identify(raw, intents).await;
        let ready = socket.next().await;
        assert_eq!(ready["t"], "READY");
        if intents & 1 != 0 {
            assert_eq!(socket.next().await["t"], "GUILD_CREATE");
        }
        (socket, ready)
    }

    async fn identify(&mut self, raw: &Raw, intents: u64) {
        let properties = json!({"os": "linux", "browser": "test", "device": "test"});
        let body = json!({"token": raw.token, "intents": intents, "shard": [0, 1], "properties": properties});
        self.send(json!({"op": 2, "d": body})).await;
    }

    async fn next(&mut self) -> Value {
        match tokio::time::timeout(SOON, self.0.next()).await.unwrap() {
            Some(Ok(Frame::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the code with which the connection is closed.
    async fn wait_for_close_code(&mut self) -> u16 {
        match tokio::time::timeout(SOON, self.0.next()).await.unwrap() {
            Some(Ok(Frame::Close(Some(frame)))) => frame.code.into(),
            other => panic!("{other:?}"),
        }
    }

    async fn send(&mut self, value: Value) {
        self.0.send(Frame::Text(value.to_string().into())).await.unwrap();
    }
}
