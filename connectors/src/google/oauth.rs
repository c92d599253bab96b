//! Google's sign-in: the consent URL, access tokens for codes and refresh tokens, and revocation.
//!
//! Stores nothing: the caller stores state, verifier and tokens. Every call times out after ten seconds, and no error
//! contains a token, code or secret.

use std::time::Duration;

use crate::google::scopes;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use nod_accounts::connection::scopes::Scopes;
use nod_accounts::connection::{Grantor, RevokeError, Tokens};
use nod_contract::clock::Timestamp;
use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRequestTokenError, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    ExtraTokenFields, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    RefreshToken, RequestTokenError, Scope, StandardRevocableToken, StandardTokenResponse, TokenResponse,
    TokenUrl,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};
use url::Url;

use super::GoogleSettings;
use super::gmail::{GmailEndpoint, Mailbox};
use nod_contract::provider::Provider;

/// The scopes that most mail tools need: reading, and writing drafts (which includes sending them).
pub const SCOPES: [&str; 2] = [scopes::READONLY, scopes::COMPOSE];
/// Requested with every consent, to learn the account's address.
const IDENTITY_SCOPES: [&str; 2] = ["openid", "https://www.googleapis.com/auth/userinfo.email"];

const TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than a refresh lease lasts.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(8);
/// The lifetime of a token if Google does not return one.
const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

type Answer = StandardTokenResponse<GoogleTokenFields, BasicTokenType>;
type Client<HasAuth = EndpointSet, HasToken = EndpointSet> = oauth2::Client<
    BasicErrorResponse,
    Answer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    HasAuth,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    HasToken,
>;

/// The fields that Google returns in addition to the tokens.
#[derive(Clone, Serialize, Deserialize)]
struct GoogleTokenFields {
    id_token: Option<String>,
    /// Only if the grant expires.
    refresh_token_expires_in: Option<i64>,
}

impl ExtraTokenFields for GoogleTokenFields {}

impl std::fmt::Debug for GoogleTokenFields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Beside(…)")
    }
}

/// Why a sign-in or a refresh failed, classified by who can fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    /// The grant is no longer valid (revoked, expired, password changed): the person must connect again.
    #[error("Google ended the access")]
    Revoked,
    /// The code or the request is invalid (used twice, too old): the person must start over.
    #[error("Google said no: {reason}")]
    Rejected { reason: String },
    /// Nod's own client id, secret or redirect is wrong: an administrator must fix it.
    #[error("Google doesn't accept this installation: {reason}")]
    Misconfigured { reason: String },
    /// No answer, or a broken one: a retry can help.
    #[error("Google didn't answer: {reason}")]
    Unavailable { reason: String },
}

/// The client of Google's sign-in.
#[derive(Clone)]
pub struct GoogleOAuth {
    client_id: String,
    client: Client,
    http: reqwest::Client,
    revoke_url: Url,
    gmail: GmailEndpoint,
}

impl GoogleOAuth {
    /// Creates the client without connecting.
    ///
    /// # Errors
    /// If no HTTP client can be built.
    pub fn new(settings: &GoogleSettings) -> Result<Self, OAuthError> {
        let client = Client::<EndpointNotSet, EndpointNotSet>::new(ClientId::new(settings.client_id.clone()))
            .set_client_secret(ClientSecret::new(settings.client_secret.expose_secret().to_owned()))
            .set_auth_uri(AuthUrl::from_url(settings.auth_url.clone()))
            .set_token_uri(TokenUrl::from_url(settings.token_url.clone()))
            .set_redirect_uri(RedirectUrl::from_url(settings.redirect_url.clone()))
            .set_auth_type(AuthType::RequestBody);
        // Following a redirect of a token request would send the secret elsewhere.
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| OAuthError::Misconfigured { reason: error.to_string() })?;
        let gmail = GmailEndpoint::new(&settings.gmail_url);
        Ok(Self {
            client_id: settings.client_id.clone(),
            client,
            http,
            revoke_url: settings.revoke_url.clone(),
            gmail,
        })
    }

    /// Returns the URL where the person gives consent. `verifier` is 43 to 128 of `A-Z a-z 0-9 - . _ ~`; Google shows
    /// the account of `login_hint` first.
    ///
    /// # Errors
    /// If the verifier has another length.
    pub fn authorize<S: AsRef<str>>(
        &self,
        state: &str,
        verifier: &SecretString,
        scopes: &[S],
        login_hint: Option<&str>,
    ) -> Result<Url, OAuthError> {
        if !(43..=128).contains(&verifier.expose_secret().len()) {
            return Err(OAuthError::Misconfigured {
                reason: "a PKCE verifier has 43 to 128 characters".into(),
            });
        }
        let verifier = PkceCodeVerifier::new(verifier.expose_secret().to_owned());
        let state = CsrfToken::new(state.to_owned());
        // Offline access and forced consent: otherwise Google returns no refresh token the second time.
        let mut request = self
            .client
            .authorize_url(|| state)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .add_scopes(IDENTITY_SCOPES.into_iter().chain(scopes.iter().map(AsRef::as_ref)).map(scope))
            .add_extra_param("access_type", "offline")
            .add_extra_param("prompt", "consent")
            .add_extra_param("include_granted_scopes", "true");
        if let Some(hint) = login_hint {
            request = request.add_extra_param("login_hint", hint);
        }
        Ok(request.url().0)
    }

    /// Exchanges a code for tokens, and returns them with the account's email address.
    ///
    /// # Errors
    /// If Google rejects it or does not answer.
    pub async fn exchange_code(
        &self,
        code: &str,
        verifier: &SecretString,
        now: Timestamp,
    ) -> Result<(Tokens, String), OAuthError> {
        let verifier = PkceCodeVerifier::new(verifier.expose_secret().to_owned());
        let http = |request| send(self.http.clone(), request);
        let answer = self
            .client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(verifier)
            .request_async(&http);
        match timeout(TIMEOUT, answer).await {
            Ok(Ok(answer)) => {
                let id_token = answer.extra_fields().id_token.as_deref();
                let tokens = tokens(&answer, now);
                let whose = match id_token.and_then(|token| address(token, &self.client_id)) {
                    Some(whose) => whose,
                    None => self.fetch_email(&tokens.access).await?,
                };
                Ok((tokens, whose))
            }
            Ok(Err(error)) => Err(match classify_error(error) {
                OAuthError::Revoked => {
                    OAuthError::Rejected { reason: "the code was used before or is too old".into() }
                }
                other => other,
            }),
            Err(_) => Err(timeout_error()),
        }
    }

    /// Asks the mailbox for the account of an access token, if there is no identity token.
    pub(in crate::google) async fn fetch_email(&self, access: &SecretString) -> Result<String, OAuthError> {
        let token = access.expose_secret().to_owned();
        let mailbox = Mailbox::new(&self.gmail, token, String::new(), Instant::now() + TIMEOUT);
        let unsaid = |_| OAuthError::Unavailable { reason: "it did not say whose account that is".into() };
        mailbox.fetch_email().await.map_err(unsaid)
    }

    /// Refreshes the access token.
    ///
    /// # Errors
    /// [`OAuthError::Revoked`] if the grant is no longer valid; otherwise if Google rejects it or does not answer.
    pub async fn refresh(&self, refresh: &SecretString, now: Timestamp) -> Result<Tokens, OAuthError> {
        let refresh = RefreshToken::new(refresh.expose_secret().to_owned());
        let http = |request| send(self.http.clone(), request);
        let answer = self.client.exchange_refresh_token(&refresh).request_async(&http);
        match timeout(REFRESH_TIMEOUT, answer).await {
            Ok(Ok(answer)) => Ok(tokens(&answer, now)),
            Ok(Err(error)) => Err(classify_error(error)),
            Err(_) => Err(timeout_error()),
        }
    }

    /// Revokes a grant by either of its tokens. A grant that is already revoked is no error.
    ///
    /// # Errors
    /// If Google does not answer.
    pub async fn revoke(&self, token: &SecretString) -> Result<(), OAuthError> {
        // By hand: the library rejects revocation over plain http, which loopback needs.
        let form = [("token", token.expose_secret())];
        let response = self.http.post(self.revoke_url.clone()).form(&form).send().await;
        let response = response.map_err(|error| OAuthError::Unavailable {
            reason: describe_transport_error(&error).to_owned(),
        })?;
        let status = response.status();
        let said = response.text().await.unwrap_or_default();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        if status.is_success() || said["error"] == "invalid_token" {
            return Ok(());
        }
        Err(OAuthError::Unavailable { reason: format!("status {status}") })
    }

    /// Returns the Gmail client.
    #[must_use]
    pub fn gmail(&self) -> &GmailEndpoint {
        &self.gmail
    }
}

#[async_trait]
impl Grantor for GoogleOAuth {
    fn provider(&self) -> Provider {
        Provider::Google
    }

    fn scopes(&self) -> &'static Scopes {
        &scopes::GOOGLE
    }

    async fn revoke(&self, token: &SecretString) -> Result<(), RevokeError> {
        Self::revoke(self, token).await.map_err(|error| RevokeError(error.to_string()))
    }
}

fn scope(name: &str) -> Scope {
    Scope::new(name.to_owned())
}

fn tokens(answer: &Answer, now: Timestamp) -> Tokens {
    let life = TimeDelta::from_std(answer.expires_in().unwrap_or(DEFAULT_TOKEN_LIFETIME)).unwrap_or_default();
    Tokens {
        access: SecretString::from(answer.access_token().secret().clone()),
        refresh: answer.refresh_token().map(|refresh| SecretString::from(refresh.secret().clone())),
        expires_at: now + life,
        scopes: answer.scopes().map(|all| all.iter().map(|scope| scope.to_string()).collect()),
        grant_expires_at: answer
            .extra_fields()
            .refresh_token_expires_in
            .and_then(TimeDelta::try_seconds)
            .map(|life| now + life),
    }
}

/// Returns the account's address from an identity token. Its signature needs no check, because it came directly from
/// Google's token endpoint
/// (<https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken>).
fn address(id_token: &str, client_id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        iss: String,
        aud: String,
        email: String,
        email_verified: bool,
    }
    let claims = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
    let claims: Claims = serde_json::from_slice(&claims).ok()?;
    let googles = matches!(claims.iss.as_str(), "https://accounts.google.com" | "accounts.google.com");
    (googles && claims.aud == client_id && claims.email_verified).then_some(claims.email)
}

/// Classifies an error. The library's messages can quote whole bodies, including tokens, so only Google's error code is
/// kept.
fn classify_error<E: std::error::Error>(error: BasicRequestTokenError<E>) -> OAuthError {
    let RequestTokenError::ServerResponse(answer) = error else {
        let reason = match error {
            RequestTokenError::Request(_) => "no connection",
            RequestTokenError::Parse(..) => "its answer could not be read",
            _ => "its answer was not the expected one",
        };
        return OAuthError::Unavailable { reason: reason.into() };
    };
    match answer.error() {
        BasicErrorResponseType::InvalidGrant => OAuthError::Revoked,
        BasicErrorResponseType::InvalidClient | BasicErrorResponseType::UnauthorizedClient => {
            OAuthError::Misconfigured { reason: answer.error().to_string() }
        }
        BasicErrorResponseType::Extension(code) if code == "redirect_uri_mismatch" => {
            OAuthError::Misconfigured { reason: code.clone() }
        }
        BasicErrorResponseType::Extension(code)
            if matches!(
                code.as_str(),
                "internal_failure" | "server_error" | "temporarily_unavailable" | "rate_limit_exceeded"
            ) =>
        {
            OAuthError::Unavailable { reason: code.clone() }
        }
        other => OAuthError::Rejected { reason: other.to_string() },
    }
}

async fn send(http: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
    let response = http.execute(request.try_into()?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut answer = HttpResponse::new(response.bytes().await?.to_vec());
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

fn timeout_error() -> OAuthError {
    OAuthError::Unavailable { reason: format!("no answer for {} s", TIMEOUT.as_secs()) }
}

fn describe_transport_error(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() { "it took too long" } else { "no connection" }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn id_token_is_accepted_for_our_client_only() {
        let token = |claims: &Value| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let good = json!({ "iss": "https://accounts.google.com", "aud": "nod", "email": "ana@acme.test",
            "email_verified": true });
        assert_eq!(address(&token(&good), "nod").as_deref(), Some("ana@acme.test"));
        for (name, value) in [
            ("iss", json!("https://accounts.google.com.evil.test")),
            ("aud", json!("another")),
            ("email_verified", json!(false)),
            ("email", Value::Null),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert_eq!(address(&token(&bad), "nod"), None, "{name}");
        }
        assert_eq!(address("e30", "nod"), None);
    }
}
