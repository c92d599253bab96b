//! Connecting an account: a page that names the owner, Google's consent, the callback. If the chat platform reveals no
//! email address, its own sign-in comes first, so that a forwarded link is useless. The core's connect requests decide
//! who can connect and store the outcome; this is only the browser's side.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use nod_accounts::connection::{
    AuthorizationRequest, ConnectCompletion, ConnectFailure, ConnectRequestError, ConnectRequests,
    PendingAuthorization,
};
use nod_connectors::google::{GoogleOAuth, OAuthError, scopes};
use nod_contract::clock::Clock;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::cookie::Cookie;
use super::pages;
use crate::discord::{PLATFORM, SignIn, SignInError};

/// How long a person can take on Google's pages, in seconds.
const CONSENT_SECONDS: u32 = 600;

/// The dependencies of the pages.
pub struct Connecting {
    /// Who can connect what.
    pub offers: ConnectRequests,
    /// Google's sign-in.
    pub google: GoogleOAuth,
    /// Discord's sign-in; without it an admin must allow each account.
    pub discord: Option<SignIn>,
    /// Decides whether a link is still valid.
    pub clock: Arc<dyn Clock>,
    /// Whether the pages are served over https: then the cookie is `Secure`.
    pub https: bool,
}

type Shared = State<Arc<Connecting>>;

impl Connecting {
    /// Returns the sign-in that must come first, if the platform reveals no email address.
    fn first(&self, platform: &str, address: Option<&str>) -> Option<&SignIn> {
        self.discord.as_ref().filter(|_| platform == PLATFORM && address.is_none())
    }
}

/// The token in a link.
#[derive(Deserialize)]
struct Token {
    t: String,
}

/// The query of a callback.
#[derive(Deserialize)]
struct Back {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

pub(super) fn routes(connecting: Arc<Connecting>) -> Router {
    Router::new()
        .route("/oauth/google/start", get(show).post(begin))
        .route("/oauth/google/callback", get(back))
        .route("/oauth/discord/callback", get(signed_in))
        .with_state(connecting)
}

pub(super) fn not_configured() -> Router {
    let page = || async { pages::not_configured() };
    Router::new()
        .route("/oauth/google/start", get(page).post(page))
        .route("/oauth/google/callback", get(page))
}

/// Shows the page. Chat apps fetch links to preview them, so a GET changes nothing.
async fn show(State(at): Shared, token: Result<Query<Token>, QueryRejection>) -> Response {
    let Ok(Query(Token { t })) = token else { return pages::offer_error(&ConnectRequestError::Unknown) };
    match at.offers.load_page(&t).await {
        Ok(page) => {
            let signs_in = at.first(&page.platform, page.required_email.as_deref()).is_some();
            pages::offer(&page, signs_in, &t, at.clock.now())
        }
        Err(error) => pages::offer_error(&error),
    }
}

/// Consumes the link and redirects the browser to Google, with a cookie that only this browser has.
async fn begin(State(at): Shared, headers: HeaderMap, token: Result<Form<Token>, FormRejection>) -> Response {
    let Ok(Form(Token { t })) = token else { return pages::offer_error(&ConnectRequestError::Unknown) };
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return pages::other_browser();
    }
    let begun = match at.offers.start_authorization(&t).await {
        Ok(begun) => begun,
        Err(error) => return pages::offer_error(&error),
    };
    if let Some(discord) = at.first(&begun.platform, begun.required_email.as_deref()) {
        let verifier = SecretString::from(begun.verifier.clone());
        return sent(&at, &begun.state, &discord.authorize(&begun.state, &verifier));
    }
    to_google(&at, begun)
}

fn to_google(at: &Connecting, begun: AuthorizationRequest) -> Response {
    let verifier = SecretString::from(begun.verifier);
    let account = begun.account.or(begun.required_email);
    match at.google.authorize(&begun.state, &verifier, &begun.scopes, account.as_deref()) {
        Ok(address) => sent(at, &begun.state, &address),
        Err(error) => oauth_error(&error),
    }
}

fn sent(at: &Connecting, state: &str, address: &Url) -> Response {
    let cookie = Cookie::of(state).set(at.https, CONSENT_SECONDS);
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, address.to_string())]).into_response()
}

/// Handles the callback of Discord's sign-in.
async fn signed_in(
    State(at): Shared,
    headers: HeaderMap,
    query: Result<Query<Back>, QueryRejection>,
) -> Response {
    let Some(discord) = &at.discord else { return pages::not_configured() };
    let (mut response, cookie) = match returned(&at, "Discord", &headers, query).await {
        Ok(Returned { pending, code, cookie }) => (recognise(&at, discord, pending, &code).await, cookie),
        Err(page) => return page,
    };
    cookie.clear(&mut response, at.https);
    response
}

async fn recognise(at: &Connecting, discord: &SignIn, pending: PendingAuthorization, code: &str) -> Response {
    let verifier = SecretString::from(pending.verifier.clone());
    let user = match discord.who(code, &verifier).await {
        Ok(user) => user,
        Err(error) => {
            return give_up(at, pending, ConnectFailure::ProviderError, || sign_in_error(&error)).await;
        }
    };
    match at.offers.confirm_sign_in(pending, &user).await {
        Ok(Some(begun)) => to_google(at, begun),
        Ok(None) => pages::somebody_else(),
        Err(error) => pages::offer_error(&error),
    }
}

/// Handles the callback of Google.
async fn back(State(at): Shared, headers: HeaderMap, query: Result<Query<Back>, QueryRejection>) -> Response {
    let (mut response, cookie) = match returned(&at, "Google", &headers, query).await {
        Ok(Returned { pending, code, cookie }) => (settle(&at, pending, &code).await, cookie),
        Err(page) => return page,
    };
    cookie.clear(&mut response, at.https);
    response
}

/// A valid callback.
struct Returned {
    pending: PendingAuthorization,
    code: String,
    cookie: Cookie,
}

/// Validates a callback; it counts once, and only in the browser that began the sign-in.
async fn returned(
    at: &Connecting,
    from: &str,
    headers: &HeaderMap,
    query: Result<Query<Back>, QueryRejection>,
) -> Result<Returned, Response> {
    let Ok(Query(back)) = query else { return Err(pages::refused(from)) };
    let Some(state) = back.state.as_deref() else { return Err(pages::other_browser()) };
    let cookie = Cookie::of(state);
    // Before the state is consumed: another browser must not use it up.
    if !cookie.is_in(headers) {
        return Err(pages::other_browser());
    }
    let pending = at.offers.receive_callback(state).await.map_err(|error| pages::offer_error(&error))?;
    let mut page = match (back.error, back.code) {
        (None, Some(code)) => return Ok(Returned { pending, code, cookie }),
        (Some(error), _) if error == "access_denied" => {
            give_up(at, pending, ConnectFailure::Declined, pages::declined).await
        }
        _ => give_up(at, pending, ConnectFailure::ProviderError, || pages::refused(from)).await,
    };
    cookie.clear(&mut page, at.https);
    Err(page)
}

async fn settle(at: &Connecting, pending: PendingAuthorization, code: &str) -> Response {
    let verifier = SecretString::from(pending.verifier.clone());
    let (tokens, account) = match at.google.exchange(code, &verifier, at.clock.now()).await {
        Ok(exchanged) => exchanged,
        Err(error) => {
            return give_up(at, pending, ConnectFailure::ProviderError, || oauth_error(&error)).await;
        }
    };
    if tokens.scopes.as_deref().is_some_and(|granted| scopes::GOOGLE.usable_scopes(granted).is_empty()) {
        // Dropped and not revoked: revoking would also end an earlier grant of the same account.
        return give_up(at, pending, ConnectFailure::NoScopesGranted, pages::too_little).await;
    }
    match at.offers.complete(pending, &account, &tokens).await {
        Ok(ConnectCompletion::Connected { account, missing_scopes: lacks }) => {
            pages::connected(&account, &lacks)
        }
        Ok(ConnectCompletion::AccountMismatch { account, connected }) => {
            pages::not_that_account(&account, &connected)
        }
        Ok(ConnectCompletion::NeedsReview { account, expected, review_requested: admin_asked }) => {
            pages::other_account(&account, expected.as_deref(), admin_asked)
        }
        Err(error) => pages::offer_error(&error),
    }
}

/// Notifies the person who waits for this account that it was not connected, and why.
async fn give_up(
    at: &Connecting,
    pending: PendingAuthorization,
    why: ConnectFailure,
    page: impl FnOnce() -> Response,
) -> Response {
    match at.offers.fail(pending, why).await {
        Ok(()) => page(),
        Err(error) => pages::offer_error(&error),
    }
}

fn oauth_error(error: &OAuthError) -> Response {
    tracing::warn!(%error, "sign-in with Google failed");
    match error {
        OAuthError::Revoked | OAuthError::Refused { .. } => pages::refused("Google"),
        OAuthError::Misconfigured { .. } => pages::broken("Google"),
        OAuthError::Silent { .. } => pages::silent("Google"),
    }
}

fn sign_in_error(error: &SignInError) -> Response {
    tracing::warn!(%error, "sign-in with Discord failed");
    match error {
        SignInError::Refused(_) => pages::refused("Discord"),
        SignInError::Misconfigured(_) => pages::broken("Discord"),
        SignInError::Silent(_) => pages::silent("Discord"),
    }
}
