//! A service account that acts as people of its domain, against a fake Google that verifies signatures.

#![allow(clippy::unwrap_used)]

use nod_connectors::google::delegation::{KeyProblem, Undelegated};
use nod_connectors::google::scopes::{COMPOSE, READONLY};
use nod_connectors::google::{Delegation, ServiceKey};
use nod_sandbox::Fault;
use nod_sandbox::google::{Account, Google, GoogleConfig, stranger_key};
use serde_json::{Value, json};
use url::Url;

async fn google() -> Google {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let accounts = vec![Account::new("ana@acme.test", "Ana")];
    Google::start(GoogleConfig { accounts, ..GoogleConfig::default() }).await.unwrap()
}

fn asked(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|&scope| scope.to_owned()).collect()
}

#[tokio::test]
async fn it_gets_tokens_for_what_the_domain_allows_and_says_who_can_mend_the_rest() {
    let google = google().await;
    let key = ServiceKey::read(&google.service_account("acme.test", &[READONLY]), None).unwrap();
    let delegation = Delegation::new(key.clone());
    let token = |subject: &'static str, scopes: &'static [&str]| {
        let delegation = delegation.clone();
        async move { delegation.token(subject, &asked(scopes)).await }
    };
    let issued = token("ana@acme.test", &[READONLY]).await.unwrap();
    assert!((3590..=3600).contains(&issued.lives.num_seconds()), "{issued:?}");
    token("ana@acme.test", &[READONLY]).await.unwrap();
    assert_eq!(google.secrets().len(), 2, "nothing is kept here");

    let code = "unauthorized_client".to_owned();
    let refused = token("ana@acme.test", &[READONLY, COMPOSE]).await.unwrap_err();
    let (subject, client) = ("ana@acme.test".to_owned(), key.client_id().to_owned());
    let scopes = format!("{READONLY}, {COMPOSE}");
    assert_eq!(refused, Undelegated::NotAllowed { code, subject, client, scopes });
    let elsewhere = token("ana@other.test", &[READONLY]).await.unwrap_err();
    assert!(matches!(elsewhere, Undelegated::NotAllowed { .. }), "{elsewhere}");
    let nobody = token("nobody@acme.test", &[READONLY]).await.unwrap_err();
    assert!(matches!(nobody, Undelegated::NoAccount { .. }), "{nobody}");

    google.faults.next("oauth.token", Fault::Status { code: 503, retry_after: None });
    google.faults.next("oauth.token", Fault::Drop);
    for _ in 0..2 {
        let silent = token("ana@acme.test", &[READONLY]).await.unwrap_err();
        assert!(matches!(silent, Undelegated::Silent(_)), "{silent}");
    }
}

#[tokio::test]
async fn a_key_that_google_does_not_know_and_one_for_another_address_are_not_taken() {
    let google = google().await;
    let here = Url::parse(&google.token_url()).unwrap();
    let stranger = Delegation::new(ServiceKey::read(&stranger_key(), Some(&here)).unwrap());
    let refused = stranger.token("ana@acme.test", &asked(&[READONLY])).await.unwrap_err();
    assert_eq!(refused, Undelegated::Key { code: "invalid_grant".to_owned() });
    // The key of one account with the email of another.
    let known: Value = serde_json::from_str(&google.service_account("acme.test", &[READONLY])).unwrap();
    let mut forged: Value = serde_json::from_str(&stranger_key()).unwrap();
    forged["client_email"] = known["client_email"].clone();
    let forged = Delegation::new(ServiceKey::read(&forged.to_string(), Some(&here)).unwrap());
    let refused = forged.token("ana@acme.test", &asked(&[READONLY])).await.unwrap_err();
    assert_eq!(refused, Undelegated::Key { code: "invalid_grant".to_owned() });
}

#[test]
fn what_is_no_key_says_what_it_lacks_and_shows_nothing() {
    let good: Value = serde_json::from_str(&stranger_key()).unwrap();
    let read = |key: &Value| ServiceKey::read(&key.to_string(), None).map(drop);
    assert_eq!(read(&good), Ok(()));
    for (name, value, problem) in [
        ("type", json!("authorized_user"), KeyProblem::NotAKey),
        ("private_key", Value::Null, KeyProblem::NotAKey),
        ("private_key", json!("hidden"), KeyProblem::Lacks("private_key")),
        ("client_id", Value::Null, KeyProblem::Lacks("client_id")),
        ("client_email", json!("nobody"), KeyProblem::Lacks("client_email")),
        ("token_uri", json!("no address"), KeyProblem::Lacks("token_uri")),
        ("token_uri", json!("ftp://x.test/"), KeyProblem::Lacks("token_uri")),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert_eq!(read(&bad), Err(problem.clone()), "{name}");
        assert!(!problem.to_string().contains("hidden"));
    }
    let key = ServiceKey::read(&good.to_string(), None).unwrap();
    assert!(!format!("{key:?}").contains("PRIVATE"));
}
