//! Google's sign-in as Nod uses it, against the fake.
#![allow(clippy::unwrap_used)]

use chrono::{DateTime, TimeDelta, Utc};
use nod_connectors::google::{GoogleOAuth, GoogleSettings, OAuthError, SCOPES, scopes};
use nod_sandbox::Fault as Mishap;
use nod_sandbox::google::{Account, Google, GoogleConfig};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

const ANA: &str = "ana@acme.test";
const REDIRECT: &str = "http://127.0.0.1:9/oauth/google/callback";
const VERIFIER: &str = "0123456789012345678901234567890123456789abcdef";

async fn world() -> (Google, GoogleOAuth) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = GoogleConfig {
        accounts: vec![Account::new(ANA, "Ana Silva")],
        redirect_uris: vec![REDIRECT.to_owned()],
        specs_dir: std::env::var_os("NOD_SPECS_DIR").map(Into::into),
        ..GoogleConfig::default()
    };
    let google = Google::start(config.clone()).await.unwrap();
    let oauth = GoogleOAuth::new(&settings(&google, &config.client_secret)).unwrap();
    (google, oauth)
}

fn settings(google: &Google, secret: &str) -> GoogleSettings {
    let url = |text: String| text.parse::<Url>().unwrap();
    GoogleSettings {
        client_id: GoogleConfig::default().client_id,
        client_secret: secret.to_owned().into(),
        auth_url: url(google.auth_url()),
        token_url: url(google.token_url()),
        revoke_url: url(google.revoke_url()),
        gmail_url: url(google.url()),
        redirect_url: url(REDIRECT.to_owned()),
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000, 0).unwrap()
}

fn secret(text: &str) -> SecretString {
    text.to_owned().into()
}

fn code(back: &str) -> String {
    let url = Url::parse(back).unwrap();
    url.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned()).unwrap()
}

#[tokio::test]
async fn consent_gives_tokens_that_open_the_right_mailbox() {
    let (google, oauth) = world().await;
    let url = oauth.authorize("state-1", &secret(VERIFIER), &SCOPES, Some(ANA)).unwrap();
    for part in ["access_type=offline", "prompt=consent", "code_challenge_method=S256", "state=state-1"] {
        assert!(url.query().unwrap().contains(part), "{url}");
    }
    assert!(!url.as_str().contains(VERIFIER));
    let back = google.consent(url.as_str(), ANA, None).unwrap();
    let (tokens, whose) = oauth.exchange_code(&code(&back), &secret(VERIFIER), now()).await.unwrap();
    assert!(tokens.refresh.is_some());
    assert!(tokens.expires_at > now() + TimeDelta::minutes(30));
    assert_eq!(scopes::GOOGLE.missing_scopes(&tokens.scopes.unwrap(), &SCOPES), [""; 0]);
    assert_eq!(whose, ANA);
    let twice = oauth.exchange_code(&code(&back), &secret(VERIFIER), now()).await;
    assert!(matches!(twice, Err(OAuthError::Rejected { .. })), "{twice:?}");
}

#[tokio::test]
async fn an_unticked_scope_and_a_wrong_verifier_are_noticed() {
    let (google, oauth) = world().await;
    let url = oauth.authorize("s", &secret(VERIFIER), &SCOPES, None).unwrap();
    let back = google.consent(url.as_str(), ANA, Some(&SCOPES[..1])).unwrap();
    let wrong = secret(&VERIFIER.replace('0', "x"));
    assert!(matches!(
        oauth.exchange_code(&code(&back), &wrong, now()).await,
        Err(OAuthError::Rejected { .. })
    ));
    let back = google.consent(url.as_str(), ANA, Some(&SCOPES[..1])).unwrap();
    let (tokens, _) = oauth.exchange_code(&code(&back), &secret(VERIFIER), now()).await.unwrap();
    assert_eq!(scopes::GOOGLE.missing_scopes(&tokens.scopes.unwrap(), &SCOPES), [SCOPES[1]]);
    let short = oauth.authorize("s", &secret("short"), &SCOPES, None);
    assert!(matches!(short, Err(OAuthError::Misconfigured { .. })));
}

#[tokio::test]
async fn an_access_token_is_renewed_until_the_grant_is_taken_back() {
    let (google, oauth) = world().await;
    let granted = google.grant_as(ANA, &SCOPES);
    google.expire_tokens(ANA);
    let refresh = secret(&granted.refresh_token);
    let tokens = oauth.refresh(&refresh, now()).await.unwrap();
    assert_ne!(tokens.access.expose_secret(), granted.access_token);
    google.faults.next("oauth.token", Mishap::Status { code: 503, retry_after: None });
    assert!(matches!(oauth.refresh(&refresh, now()).await, Err(OAuthError::Unavailable { .. })));
    google.faults.next("oauth.token", Mishap::DropConnection);
    assert!(matches!(oauth.refresh(&refresh, now()).await, Err(OAuthError::Unavailable { .. })));
    google.revoke_grants(ANA);
    assert_eq!(oauth.refresh(&refresh, now()).await.unwrap_err(), OAuthError::Revoked);
    assert_eq!(google.faults.unused(), [""; 0]);
}

#[tokio::test]
async fn disconnecting_revokes_and_may_be_repeated() {
    let (google, oauth) = world().await;
    let refresh = secret(&google.grant_as(ANA, &SCOPES).refresh_token);
    oauth.revoke(&refresh).await.unwrap();
    oauth.revoke(&refresh).await.unwrap();
    assert_eq!(oauth.refresh(&refresh, now()).await.unwrap_err(), OAuthError::Revoked);
}

#[tokio::test]
async fn a_wrong_client_secret_is_the_operators_business_and_is_not_repeated() {
    let (google, _) = world().await;
    let oauth = GoogleOAuth::new(&settings(&google, "wrong-secret")).unwrap();
    let refresh = secret(&google.grant_as(ANA, &SCOPES).refresh_token);
    let error = oauth.refresh(&refresh, now()).await.unwrap_err();
    assert!(matches!(error, OAuthError::Misconfigured { .. }), "{error:?}");
    assert!(!error.to_string().contains("wrong-secret"));
}
