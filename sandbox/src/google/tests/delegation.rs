//! The JWT bearer grant: what Google rejects, the fake rejects.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::{ANA, Fixture, READONLY, fixture};

/// Returns the token endpoint's answer to claims changed by `change` and signed with the key.
async fn request_token(world: &Fixture, key: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let now = chrono::Utc::now().timestamp();
    let mut claims = json!({ "iss": key["client_email"], "aud": key["token_uri"], "sub": ANA, "scope": READONLY,
        "iat": now, "exp": now + 3600 });
    change(&mut claims);
    let letters: String =
        key["private_key"].as_str().unwrap().lines().filter(|line| !line.starts_with('-')).collect();
    let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(letters).unwrap()).unwrap();
    let head = json!({ "alg": "RS256", "typ": "JWT" });
    let signed = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    let assertion = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
    let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
    let answer = world.http.post(world.google.token_url()).form(&form).send().await.unwrap();
    answer.json().await.unwrap()
}

#[tokio::test]
async fn an_assertion_must_be_right_in_every_claim() {
    let world = fixture().await;
    let key: Value = serde_json::from_str(&world.google.service_account("acme.test", &[READONLY])).unwrap();
    let good = request_token(&world, &key, |_| {}).await;
    assert_eq!(
        (good["token_type"].as_str(), good["expires_in"].as_i64()),
        (Some("Bearer"), Some(3599)),
        "{good}"
    );
    let now = chrono::Utc::now().timestamp();
    for (claim, value, error) in [
        ("iss", json!("somebody@else.test"), "invalid_grant"),
        ("aud", json!("https://oauth2.googleapis.com/token"), "invalid_grant"),
        ("exp", json!(now + 3700), "invalid_grant"),
        ("exp", json!(now - 1), "invalid_grant"),
        ("iat", json!(now + 3000), "invalid_grant"),
        ("scope", json!(""), "invalid_scope"),
        ("scope", json!("https://mail.google.com/"), "unauthorized_client"),
        ("scope", json!(format!("{READONLY} https://mail.google.com/")), "unauthorized_client"),
        ("sub", json!("bo@other.test"), "unauthorized_client"),
        ("sub", Value::Null, "unauthorized_client"),
        ("sub", json!("nobody@acme.test"), "invalid_grant"),
    ] {
        let said = request_token(&world, &key, |claims| claims[claim] = value.clone()).await;
        assert_eq!(said["error"], error, "{claim} {value}: {said}");
    }
    world.google.delegates("acme.test", &[]);
    assert_eq!(request_token(&world, &key, |_| {}).await["error"], "unauthorized_client");
}
