//! Tests of the fake over HTTP, and through the real Gmail client.
#![allow(clippy::unwrap_used)]

mod calendar;
mod client;
mod consent;
mod delegation;
mod drafts;
mod mail;

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Account, Google, GoogleConfig};

pub(super) const MODIFY: &str = "https://www.googleapis.com/auth/gmail.modify";
pub(super) const READONLY: &str = "https://www.googleapis.com/auth/gmail.readonly";
pub(super) const REDIRECT: &str = "http://127.0.0.1:9/google/callback";
pub(super) const ANA: &str = "ana@acme.test";
pub(super) const BO: &str = "bo@acme.test";

/// A Google with Ana and Bo, and Ana's token.
pub(super) struct Fixture {
    pub google: Google,
    pub http: reqwest::Client,
    pub token: String,
}

pub(super) async fn fixture() -> Fixture {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = GoogleConfig {
        accounts: vec![Account::new(ANA, "Ana Silva"), Account::new(BO, "Bo Chen")],
        redirect_uris: vec![REDIRECT.to_owned()],
        specs_dir: std::env::var_os("NOD_SPECS_DIR").map(PathBuf::from),
        ..GoogleConfig::default()
    };
    let google = Google::start(config).await.unwrap();
    let token = google.grant_as(ANA, &[MODIFY]).access_token;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    Fixture { google, http, token }
}

impl Fixture {
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let url = format!("{}/gmail/v1/users/me/{path}", self.google.url());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap_or_default())
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Creates a draft and returns its id.
    pub async fn draft(&self, raw: &str) -> String {
        let body = json!({"message": {"raw": base64url(raw)}});
        let (status, draft) = self.post("drafts", body).await;
        assert_eq!(status, 200, "{draft}");
        draft["id"].as_str().unwrap().to_owned()
    }
}

pub(super) fn base64url(raw: &str) -> String {
    URL_SAFE.encode(raw)
}

pub(super) fn raw_mail(to: &str, subject: &str, body: &str) -> String {
    format!(
        "From: Ana Silva <{ANA}>\r\nTo: {to}\r\nSubject: {subject}\r\nMessage-ID: <mine@acme.test>\r\n\
         X-Nod-Effect: e-1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}"
    )
}
