//! The consent page and its tokens: a user's identity in Discord, and nothing else (scope `identify`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::{Form, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::{Json, Router, routing};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::world::{World, secret};
use super::{Discord, State};

/// Consents whose code was not exchanged yet, and the tokens issued.
#[derive(Default)]
pub(super) struct Grants {
    codes: HashMap<String, Code>,
    /// Users by access token.
    pub tokens: HashMap<String, String>,
}

struct Code {
    user: String,
    redirect: String,
    challenge: Option<String>,
}

pub(super) type Fields = BTreeMap<String, String>;

pub(super) fn router() -> Router<Arc<State>> {
    Router::new()
        .route("/oauth2/authorize", routing::get(authorize))
        .route("/api/oauth2/token", routing::post(token))
        .route("/api/v10/oauth2/token", routing::post(token))
}

/// Without `as` it shows the page; with `as=handle` that user has agreed, with an empty `as` the user has cancelled.
async fn authorize(Extract(state): Extract<Arc<State>>, Query(asked): Query<Fields>) -> Response {
    match state.change(|w| w.consent(&asked)) {
        Ok(Some(back)) => Redirect::to(&back).into_response(),
        Ok(None) => Html(state.read(|w| w.consent_page(&asked))).into_response(),
        Err(sentence) => (StatusCode::BAD_REQUEST, sentence).into_response(),
    }
}

async fn token(Extract(state): Extract<Arc<State>>, Form(given): Form<Fields>) -> Response {
    match state.change(|w| w.exchange(&given)) {
        Ok(token) => Json(json!({
            "access_token": token, "token_type": "Bearer", "expires_in": 604_800, "scope": "identify",
            "refresh_token": secret(15),
        }))
        .into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({"error": error}))).into_response(),
    }
}

fn field_text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).map_or("", String::as_str)
}

impl Discord {
    /// Cancels on the consent page; returns the URL to which the browser is redirected.
    ///
    /// # Errors
    /// A sentence if the page would not have been shown.
    pub fn refuse_consent(&self, address: &str) -> Result<String, String> {
        let url = url::Url::parse(address).map_err(|e| e.to_string())?;
        let asked: Fields = url.query_pairs().into_owned().collect();
        self.change(|w| w.consent(&asked))?;
        let mut back = url::Url::parse(field_text(&asked, "redirect_uri")).map_err(|e| e.to_string())?;
        let mut answer = back.query_pairs_mut();
        answer.append_pair("error", "access_denied").append_pair("state", field_text(&asked, "state"));
        drop(answer);
        Ok(back.into())
    }
}

impl World {
    fn consent(&mut self, asked: &Fields) -> Result<Option<String>, String> {
        let app = &self.config.app;
        let redirect = field_text(asked, "redirect_uri");
        let challenge = asked.get("code_challenge");
        let wrong = if field_text(asked, "client_id") != app.id {
            Some("unknown client_id")
        } else if field_text(asked, "response_type") != "code" {
            Some("response_type is code")
        } else if !app.redirects.iter().any(|r| r == redirect) {
            Some("redirect_uri is not registered")
        } else if field_text(asked, "scope") != "identify" {
            Some("scope is identify")
        } else if field_text(asked, "state").is_empty() {
            Some("state is missing")
        } else if challenge.is_some() && field_text(asked, "code_challenge_method") != "S256" {
            Some("code_challenge_method is S256")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.violation(format!("oauth2/authorize: {wrong}"));
            return Err(wrong.to_owned());
        }
        let Some(who) = asked.get("as") else { return Ok(None) };
        let mut back = url::Url::parse(redirect).map_err(|e| e.to_string())?;
        if who.is_empty() {
            back.query_pairs_mut()
                .append_pair("error", "access_denied")
                .append_pair(
                    "error_description",
                    "The resource owner or authorization server denied the request",
                )
                .append_pair("state", field_text(asked, "state"));
            return Ok(Some(back.into()));
        }
        let (user, code) = (self.actor(who)?, secret(15));
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", field_text(asked, "state"));
        let granted = Code { user, redirect: redirect.to_owned(), challenge: challenge.cloned() };
        self.grants.codes.insert(code, granted);
        Ok(Some(back.into()))
    }

    fn exchange(&mut self, given: &Fields) -> Result<String, &'static str> {
        let app = &self.config.app;
        if field_text(given, "client_id") != app.id || field_text(given, "client_secret") != app.client_secret
        {
            return Err("invalid_client");
        }
        if field_text(given, "grant_type") != "authorization_code" {
            return Err("unsupported_grant_type");
        }
        // A code can be used for only one attempt.
        let code = self.grants.codes.remove(field_text(given, "code")).ok_or("invalid_grant")?;
        let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(field_text(given, "code_verifier")));
        if code.redirect != field_text(given, "redirect_uri") || code.challenge.is_some_and(|c| c != proof) {
            return Err("invalid_grant");
        }
        let token = secret(15);
        self.grants.tokens.insert(token.clone(), code.user);
        Ok(token)
    }
}
