//! Identifies the user of a browser by Discord's own sign-in (OAuth, scope `identify`), because Discord reveals no
//! email addresses that could identify the owner. Stores nothing; the token is used once and dropped.

use std::time::Duration;

use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    TokenResponse, TokenUrl,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::web::AGENT;

const TIMEOUT: Duration = Duration::from_secs(10);

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Why a sign-in failed, by who can fix it. Contains no token, code or secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The code is invalid (used twice, too old): the person starts over.
    #[error("Discord said no: {0}")]
    Rejected(String),
    /// The client secret or the redirect is wrong: an operator must fix it.
    #[error("Discord doesn't accept this installation: {0}")]
    Misconfigured(String),
    /// No answer, or an invalid one: a retry can help.
    #[error("Discord didn't answer: {0}")]
    Unavailable(&'static str),
}

/// Discord's sign-in, for one application.
pub struct SignIn {
    client: Client,
    http: reqwest::Client,
    me: Url,
}

#[derive(Deserialize)]
struct CurrentUser {
    id: String,
}

impl SignIn {
    /// Makes no request yet. `api_url` is `https://discord.com/api/v10/`; the consent page is on the same host.
    ///
    /// # Errors
    /// If a URL is invalid.
    pub fn new(api_url: &Url, id: &str, secret: &SecretString, redirect: Url) -> anyhow::Result<Self> {
        let client = BasicClient::new(ClientId::new(id.to_owned()))
            .set_client_secret(ClientSecret::new(secret.expose_secret().to_owned()))
            .set_auth_uri(AuthUrl::from_url(api_url.join("/oauth2/authorize")?))
            .set_token_uri(TokenUrl::from_url(api_url.join("oauth2/token")?))
            .set_redirect_uri(RedirectUrl::from_url(redirect))
            .set_auth_type(AuthType::RequestBody);
        // A redirect of a token request would carry the secret elsewhere.
        let http = reqwest::Client::builder()
            .user_agent(AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { client, http, me: api_url.join("users/@me")? })
    }

    /// Returns the URL of the consent page.
    #[must_use]
    pub fn authorize(&self, state: &str, verifier: &SecretString) -> Url {
        let verifier = PkceCodeVerifier::new(verifier.expose_secret().to_owned());
        let state = CsrfToken::new(state.to_owned());
        self.client
            .authorize_url(|| state)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .add_scope(Scope::new("identify".to_owned()))
            .url()
            .0
    }

    /// Returns the Discord id of the user who signed in.
    ///
    /// # Errors
    /// If Discord refuses the code or does not answer.
    pub async fn fetch_user_id(&self, code: &str, verifier: &SecretString) -> Result<String, SignInError> {
        let verifier = PkceCodeVerifier::new(verifier.expose_secret().to_owned());
        let http = |request| send(self.http.clone(), request);
        let answer = self
            .client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(verifier)
            .request_async(&http)
            .await;
        let token = match answer {
            Ok(answer) => answer,
            // The library's errors can quote whole bodies; only Discord's error code is kept.
            Err(RequestTokenError::ServerResponse(answer)) => {
                let code = answer.error().to_string();
                return Err(match answer.error() {
                    BasicErrorResponseType::InvalidClient | BasicErrorResponseType::UnauthorizedClient => {
                        SignInError::Misconfigured(code)
                    }
                    _ => SignInError::Rejected(code),
                });
            }
            Err(_) => return Err(SignInError::Unavailable("no token")),
        };
        let asked = self.http.get(self.me.clone()).bearer_auth(token.access_token().secret()).send().await;
        let told = asked.and_then(reqwest::Response::error_for_status);
        let told = told.map_err(|_| SignInError::Unavailable("it does not say who that is"))?;
        let me: CurrentUser =
            told.json().await.map_err(|_| SignInError::Unavailable("it does not say who that is"))?;
        Ok(me.id)
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
