//! Tests of the fake itself: raw requests, a raw socket, and the real client.
#![allow(clippy::unwrap_used)]

mod morphism;
mod people;
mod socket;
mod streams;
mod web;

use std::time::Duration;

use serde_json::{Value, json};

use super::{Channel, Slack, SlackConfig, User};

const SOON: Duration = Duration::from_secs(10);

fn acme() -> SlackConfig {
    let mut gone = User::new("gus", "Gus Gone");
    gone.deleted = true;
    let mut config = SlackConfig::new("nod")
        .user(User::new("ana", "Ana Ruiz"))
        .user(User::new("bo", "Bo Stone"))
        .user(User::new("sam", "Sam Strange").external("T0OTHER001"))
        .user(gone)
        .channel(Channel::new("general", &["ana", "bo", "nod"]))
        .channel(Channel::new("board", &["bo"]).private())
        .channel(Channel::new("random", &["ana"]));
    config.redeliver_after = Duration::from_millis(100);
    config.disconnect_grace = Duration::from_millis(20);
    config.specs_dir = std::env::var_os("NOD_SPECS_DIR").map(Into::into);
    config
}

/// Plain requests with the bot's token.
struct Raw {
    http: reqwest::Client,
    slack: Slack,
    token: String,
}

impl Raw {
    async fn start(config: SlackConfig) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let token = config.app.bot_token.clone();
        Self { http: reqwest::Client::new(), slack: Slack::start(config).await.unwrap(), token }
    }

    fn url(&self, method: &str) -> String {
        format!("{}/{method}", self.slack.api_url())
    }

    async fn post(&self, method: &str, body: Value) -> Value {
        let request = self.http.post(self.url(method)).bearer_auth(&self.token).json(&body);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn get(&self, method: &str, query: &[(&str, &str)]) -> Value {
        let request = self.http.get(self.url(method)).bearer_auth(&self.token).query(query);
        request.send().await.unwrap().json().await.unwrap()
    }

    /// Posts to `general`; returns the ts.
    async fn says(&self, body: Value) -> String {
        let mut full = json!({"channel": "C0GENERAL".to_owned()});
        full["channel"] = json!(general());
        super::render::merge(&mut full, body);
        let answer = self.post("chat.postMessage", full).await;
        assert_eq!(answer["ok"], true, "{answer}");
        answer["ts"].as_str().unwrap().to_owned()
    }
}

fn general() -> String {
    Channel::new("general", &[]).id
}

fn id(handle: &str) -> String {
    User::new(handle, "").id
}
