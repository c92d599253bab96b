//! A service account that acts as people of its domain, against a fake Google that verifies signatures.

#![allow(clippy::unwrap_used)]

use nod_connectors::google::delegation::{DelegationError, ServiceKeyError};
use nod_connectors::google::scopes::{COMPOSE, READONLY};
use nod_connectors::google::{DomainDelegation, ServiceKey};
use nod_sandbox::Fault;
use nod_sandbox::google::{Account, Google, GoogleConfig, unknown_service_account_key};
use serde_json::{Value, json};
use url::Url;

async fn google() -> Google {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let accounts = vec![Account::new("ana@acme.test", "Ana")];
    Google::start(GoogleConfig { accounts, ..GoogleConfig::default() }).await.unwrap()
}

fn scope_list(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|&scope| scope.to_owned()).collect()
}

#[tokio::test]
async fn it_gets_tokens_for_what_the_domain_allows_and_says_who_can_mend_the_rest() {
    let google = google().await;
    let key = ServiceKey::read(&google.service_account("acme.test", &[READONLY]), None).unwrap();
    let delegation = DomainDelegation::new(key.clone());
    let token = |subject: &'static str, scopes: &'static [&str]| {
        let delegation = delegation.clone();
        async move { delegation.fetch_token(subject, &scope_list(scopes)).await }
    };
    let issued = token("ana@acme.test", &[READONLY]).await.unwrap();
    assert!((3590..=3600).contains(&issued.lifetime.num_seconds()), "{issued:?}");
    token("ana@acme.test", &[READONLY]).await.unwrap();
    assert_eq!(google.secrets().len(), 2, "nothing is kept here");

    let code = "unauthorized_client".to_owned();
    let refused = token("ana@acme.test", &[READONLY, COMPOSE]).await.unwrap_err();
    let (subject, client) = ("ana@acme.test".to_owned(), key.client_id().to_owned());
    let scopes = format!("{READONLY}, {COMPOSE}");
    assert_eq!(refused, DelegationError::ScopesNotAllowed { code, subject, client, scopes });
    let elsewhere = token("ana@other.test", &[READONLY]).await.unwrap_err();
    assert!(matches!(elsewhere, DelegationError::ScopesNotAllowed { .. }), "{elsewhere}");
    let nobody = token("nobody@acme.test", &[READONLY]).await.unwrap_err();
    assert!(matches!(nobody, DelegationError::UnknownAccount { .. }), "{nobody}");

    google.faults.next("oauth.token", Fault::Status { code: 503, retry_after: None });
    google.faults.next("oauth.token", Fault::DropConnection);
    for _ in 0..2 {
        let silent = token("ana@acme.test", &[READONLY]).await.unwrap_err();
        assert!(matches!(silent, DelegationError::Unavailable(_)), "{silent}");
    }
}

#[tokio::test]
async fn a_key_that_google_does_not_know_and_one_for_another_address_are_not_taken() {
    let google = google().await;
    let here = Url::parse(&google.token_url()).unwrap();
    let stranger =
        DomainDelegation::new(ServiceKey::read(&unknown_service_account_key(), Some(&here)).unwrap());
    let refused = stranger.fetch_token("ana@acme.test", &scope_list(&[READONLY])).await.unwrap_err();
    assert_eq!(refused, DelegationError::InvalidKey { code: "invalid_grant".to_owned() });
    // The key of one account with the email of another.
    let known: Value = serde_json::from_str(&google.service_account("acme.test", &[READONLY])).unwrap();
    let mut forged: Value = serde_json::from_str(&unknown_service_account_key()).unwrap();
    forged["client_email"] = known["client_email"].clone();
    let forged = DomainDelegation::new(ServiceKey::read(&forged.to_string(), Some(&here)).unwrap());
    let refused = forged.fetch_token("ana@acme.test", &scope_list(&[READONLY])).await.unwrap_err();
    assert_eq!(refused, DelegationError::InvalidKey { code: "invalid_grant".to_owned() });
}

#[test]
fn what_is_no_key_says_what_it_lacks_and_shows_nothing() {
    let good: Value = serde_json::from_str(&unknown_service_account_key()).unwrap();
    let read = |key: &Value| ServiceKey::read(&key.to_string(), None).map(drop);
    assert_eq!(read(&good), Ok(()));
    for (name, value, problem) in [
        ("type", json!("authorized_user"), ServiceKeyError::InvalidKey),
        ("private_key", Value::Null, ServiceKeyError::InvalidKey),
        ("private_key", json!("hidden"), ServiceKeyError::MissingField("private_key")),
        ("client_id", Value::Null, ServiceKeyError::MissingField("client_id")),
        ("client_email", json!("nobody"), ServiceKeyError::MissingField("client_email")),
        ("token_uri", json!("no address"), ServiceKeyError::MissingField("token_uri")),
        ("token_uri", json!("ftp://x.test/"), ServiceKeyError::MissingField("token_uri")),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert_eq!(read(&bad), Err(problem.clone()), "{name}");
        assert!(!problem.to_string().contains("hidden"));
    }
    let key = ServiceKey::read(&good.to_string(), None).unwrap();
    assert!(!format!("{key:?}").contains("PRIVATE"));
}
