//! OAuth from the consent page to revocation.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ANA, Fixture, MODIFY, READONLY, REDIRECT, fixture};
use crate::Fault;

const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-rules-0123456789";

fn auth_url(world: &Fixture, changes: &[(&str, &str)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let scope = format!("{MODIFY} {READONLY}");
    let mut pairs = vec![
        ("client_id", "sandbox-client.apps.googleusercontent.com"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("scope", &scope),
        ("state", "s-1"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("access_type", "offline"),
    ];
    for (name, value) in changes {
        pairs.retain(|(n, _)| n != name);
        if !value.is_empty() {
            pairs.push((name, value));
        }
    }
    url::Url::parse_with_params(&world.google.auth_url(), pairs).unwrap().to_string()
}

fn answered(location: &str) -> HashMap<String, String> {
    url::Url::parse(location).unwrap().query_pairs().into_owned().collect()
}

fn code(world: &Fixture, changes: &[(&str, &str)]) -> String {
    let location = world.google.consent(&auth_url(world, changes), ANA, None).unwrap();
    answered(&location)["code"].clone()
}

async fn token(world: &Fixture, changes: &[(&str, &str)]) -> (u16, Value) {
    let mut form: HashMap<&str, &str> = HashMap::from([
        ("client_id", "sandbox-client.apps.googleusercontent.com"),
        ("client_secret", "sandbox-client-secret"),
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]);
    form.extend(changes.iter().copied());
    let response = world.http.post(world.google.token_url()).form(&form).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_code_becomes_tokens_once() {
    let world = fixture().await;
    let location = world.google.consent(&auth_url(&world, &[]), ANA, Some(&[READONLY])).unwrap();
    let back = answered(&location);
    assert_eq!((back["state"].as_str(), back["scope"].as_str()), ("s-1", READONLY));
    let (status, tokens) = token(&world, &[("code", &back["code"])]).await;
    assert_eq!(status, 200, "{tokens}");
    assert_eq!((&tokens["expires_in"], &tokens["scope"]), (&json!(3599), &json!(READONLY)));
    let (status, error) = token(&world, &[("code", &back["code"])]).await;
    assert_eq!((status, &error["error"]), (400, &json!("invalid_grant")));

    let refresh = tokens["refresh_token"].as_str();
    assert!(refresh.is_none(), "there was a grant already: a second refresh token needs prompt=consent");
    let code = code(&world, &[("prompt", "consent")]);
    let (_, tokens) = token(&world, &[("code", &code)]).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let changes = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let (status, again) = token(&world, &changes).await;
    assert_eq!(status, 200);
    assert!(again["refresh_token"].is_null());
    world.google.revoke_grants(ANA);
    let (status, error) = token(&world, &changes).await;
    assert_eq!((status, &error["error"]), (400, &json!("invalid_grant")));
}

#[tokio::test]
async fn exchanges_that_do_not_match_are_refused() {
    let world = fixture().await;
    let code = code(&world, &[]);
    for (changes, expected) in [
        (vec![("code_verifier", "another-verifier-that-is-long-enough-0123456789")], "invalid_grant"),
        (vec![("code_verifier", "")], "invalid_grant"),
        (vec![("redirect_uri", "http://127.0.0.1:9/other")], "redirect_uri_mismatch"),
        (vec![("client_secret", "guess")], "invalid_client"),
        (vec![("client_id", "guess")], "invalid_client"),
        (vec![("grant_type", "password")], "unsupported_grant_type"),
        (vec![("code", "4/made-up")], "invalid_grant"),
    ] {
        let mut form = vec![("code", code.as_str())];
        form.extend(changes);
        assert_eq!(token(&world, &form).await.1["error"], expected, "{form:?}");
    }
    assert_eq!(token(&world, &[("code", &code)]).await.0, 200, "refusals did not use the code up");
}

#[tokio::test]
async fn consent_requests_keep_the_rules() {
    let world = fixture().await;
    for change in [
        ("redirect_uri", "http://127.0.0.1:9/google/callback/"),
        ("client_id", "other"),
        ("response_type", "token"),
        ("code_challenge", ""),
        ("code_challenge_method", "plain"),
        ("state", ""),
        ("scope", ""),
        ("access_type", "forever"),
        ("colour", "red"),
    ] {
        let url = auth_url(&world, &[change]);
        assert!(world.google.consent(&url, ANA, None).is_err(), "{change:?}");
        assert_eq!(world.http.get(&url).send().await.unwrap().status(), 400, "{change:?}");
    }
    let asked = auth_url(&world, &[("scope", READONLY)]);
    assert!(world.google.consent(&asked, ANA, Some(&[MODIFY])).is_err(), "more than was asked for");
    let denied = answered(&world.google.refuse_consent(&asked).unwrap());
    assert_eq!((denied["error"].as_str(), denied["state"].as_str()), ("access_denied", "s-1"));
}

#[tokio::test]
async fn a_person_consents_on_the_page() {
    let world = fixture().await;
    let url = auth_url(&world, &[("state", "\"><b>")]);
    let page = world.http.get(&url).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Sandbox Google – choose account") && page.contains("Bo Chen"));
    assert!(!page.contains("\"><b>"), "what is put in is escaped");
    let mut form: Vec<(String, String)> = url::Url::parse(&url).unwrap().query_pairs().into_owned().collect();
    form.extend(
        [("account", ANA), ("grant", READONLY), ("decision", "allow")].map(|(a, b)| (a.into(), b.into())),
    );
    let response = world.http.post(world.google.auth_url()).form(&form).send().await.unwrap();
    assert_eq!(response.status(), 303);
    let back = answered(response.headers()["location"].to_str().unwrap());
    assert_eq!((back["scope"].as_str(), back["state"].as_str()), (READONLY, "\"><b>"));
    assert!(back.contains_key("code"));
}

#[tokio::test]
async fn revoking_ends_the_grant() {
    let world = fixture().await;
    let form = [("token", world.token.as_str())];
    let revoke = || world.http.post(world.google.revoke_url()).form(&form).send();
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    assert_eq!(revoke().await.unwrap().status(), 503);
    assert_eq!(revoke().await.unwrap().status(), 200);
    assert_eq!(revoke().await.unwrap().status(), 400);
    assert_eq!(world.get("profile").await.0, 401);
}
