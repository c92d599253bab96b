//! Service accounts to which a domain delegates its people's accounts: the JWT bearer grant (RFC 7523).
//!
//! As strict as Google: the signature, `iss`, `aud` and `scope` must be right, the assertion is valid for an hour at
//! most, and every scope must be authorised for the client in the domain of `sub`
//! (<https://developers.google.com/identity/protocols/oauth2/service-account>).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use serde::Deserialize;
use serde_json::{Value, json};

use super::grants::random;
use super::key::ServiceAccountKey;
use super::oauth::OAuthErrorResponse;
use super::{Google, Shared};

pub(super) const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const MAX_LIFETIME_SECONDS: i64 = 3600;
/// The tolerated clock difference.
const SKEW_SECONDS: i64 = 300;

/// A service account, and the scopes that an admin of its domain authorised.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    email: String,
    client_id: String,
    key: ServiceAccountKey,
    domain: String,
    scopes: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    iat: i64,
    exp: i64,
    scope: String,
    sub: Option<String>,
}

const INVALID: &str = "invalid_grant";
const TIMES: &str = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check \
                     your iat and exp values in the JWT claim.";
const UNAUTHORIZED: &str = "Client is unauthorized to retrieve access tokens using this method, or client not \
                            authorized for any of the scopes requested.";

/// Issues the access token that the assertion requests.
pub(super) fn exchange_assertion(
    shared: &Shared,
    audience: &str,
    assertion: &str,
) -> Result<Value, OAuthErrorResponse> {
    let (signed, signature) = assertion.rsplit_once('.').ok_or(OAuthErrorResponse(INVALID, "Invalid JWT"))?;
    let (head, claims) = signed.split_once('.').ok_or(OAuthErrorResponse(INVALID, "Invalid JWT"))?;
    let head: Value = part(head)?;
    if head["alg"] != "RS256" || head["typ"] != "JWT" {
        return Err(OAuthErrorResponse(INVALID, "Invalid JWT: only RS256 is taken"));
    }
    let claims: Claims = part(claims)?;
    let signature = bytes(signature).ok_or(OAuthErrorResponse(INVALID, "Invalid JWT Signature."))?;
    // A client signs with the machine's time, even if the fake's clock differs.
    let (now, told) = (Utc::now().timestamp(), shared.now());
    shared.change(|state| {
        let service = state.services.iter().find(|service| service.email == claims.iss);
        let service = service.ok_or(OAuthErrorResponse(INVALID, "Invalid grant: account not found"))?;
        if !service.key.verifies(signed.as_bytes(), &signature) {
            return Err(OAuthErrorResponse(INVALID, "Invalid JWT Signature."));
        }
        if claims.aud != audience {
            return Err(OAuthErrorResponse(INVALID, "Invalid JWT: Failed audience check."));
        }
        let begins = claims.iat - SKEW_SECONDS <= now;
        let lives =
            now < claims.exp && claims.exp > claims.iat && claims.exp - claims.iat <= MAX_LIFETIME_SECONDS;
        if !begins || !lives {
            return Err(OAuthErrorResponse(INVALID, TIMES));
        }
        let scopes: BTreeSet<String> = claims.scope.split_whitespace().map(str::to_owned).collect();
        if scopes.is_empty() {
            return Err(OAuthErrorResponse(
                "invalid_scope",
                "Invalid OAuth scope or ID token audience provided.",
            ));
        }
        let Some(subject) = claims.sub.as_deref().filter(|sub| !sub.is_empty()) else {
            return Err(OAuthErrorResponse(
                "unauthorized_client",
                "Only people have mailboxes here: name one in sub.",
            ));
        };
        let at = subject.split_once('@').map(|(_, domain)| domain).unwrap_or_default();
        if !at.eq_ignore_ascii_case(&service.domain) || !scopes.is_subset(&service.scopes) {
            return Err(OAuthErrorResponse("unauthorized_client", UNAUTHORIZED));
        }
        if state.mail.account(&subject.to_lowercase()).is_none() {
            return Err(OAuthErrorResponse(INVALID, "Invalid email or User ID"));
        }
        let grant = state.grants.add(&subject.to_lowercase(), scopes);
        let (access, lives) = state.grants.issue(grant, told);
        Ok(json!({ "access_token": access, "expires_in": lives, "token_type": "Bearer" }))
    })
}

/// Some clients pad base64; Google accepts both.
fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, OAuthErrorResponse> {
    let bytes = bytes(text).ok_or(OAuthErrorResponse(INVALID, "Invalid JWT"))?;
    serde_json::from_slice(&bytes).map_err(|_| OAuthErrorResponse(INVALID, "Invalid JWT"))
}

/// Returns a key in the format of the Google Cloud console that Google does not know.
#[must_use]
pub fn unknown_service_account_key() -> String {
    key_json(&ServiceAccount::new("acme.test", &[]), "https://oauth2.googleapis.com/token")
}

impl ServiceAccount {
    fn new(domain: &str, scopes: &[&str]) -> Self {
        Self {
            email: format!("nod-{}@sandbox.iam.gserviceaccount.com", &random()[..8]),
            client_id: "104729104729104729104".to_owned(),
            key: ServiceAccountKey::new(),
            domain: domain.to_owned(),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        }
    }
}

fn key_json(service: &ServiceAccount, token_url: &str) -> String {
    let key = json!({
        "type": "service_account",
        "project_id": "sandbox",
        "private_key_id": &random()[..40],
        "private_key": service.key.pem(),
        "client_email": service.email,
        "client_id": service.client_id,
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": token_url,
        "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
        "client_x509_cert_url": "https://www.googleapis.com/robot/v1/metadata/x509/sandbox",
        "universe_domain": "googleapis.com",
    });
    key.to_string()
}

impl Google {
    /// Creates a service account to which the domain delegates these scopes of its people; returns its key in the
    /// format of the Google Cloud console.
    #[must_use]
    pub fn service_account(&self, domain: &str, scopes: &[&str]) -> String {
        let service = ServiceAccount::new(domain, scopes);
        let key = key_json(&service, &self.token_url());
        self.shared.change(|state| state.services.push(service));
        key
    }

    /// Sets the scopes that the domain authorises for its service accounts, and removes all others.
    pub fn delegates(&self, domain: &str, scopes: &[&str]) {
        self.shared.change(|state| {
            for service in state.services.iter_mut().filter(|service| service.domain == domain) {
                service.scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            }
        });
    }
}
