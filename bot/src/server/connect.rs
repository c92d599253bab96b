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

use super::cookie::SignInCookie;
use super::pages;
use crate::discord::{PLATFORM, SignIn, SignInError};

/// How long a person can take on Google's pages, in seconds.
const CONSENT_TIMEOUT_SECS: u32 = 600;

/// The dependencies of the pages.
pub struct ConnectPages {
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

type Shared = State<Arc<ConnectPages>>;

impl ConnectPages {
    /// Returns the sign-in that must come first, if the platform reveals no email address.
    fn required_sign_in(&self, platform: &str, address: Option<&str>) -> Option<&SignIn> {
        self.discord.as_ref().filter(|_| platform == PLATFORM && address.is_none())
    }
}

/// The token in a link.
#[derive(Deserialize)]
struct LinkQuery {
    t: String,
}

/// The query of a callback.
#[derive(Deserialize)]
struct CallbackQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

pub(super) fn routes(connecting: Arc<ConnectPages>) -> Router {
    Router::new()
        .route("/oauth/google/start", get(show_connect_page).post(start_consent))
        .route("/oauth/google/callback", get(google_callback))
        .route("/oauth/discord/callback", get(discord_callback))
        .with_state(connecting)
}

pub(super) fn not_configured() -> Router {
    let page = || async { pages::not_configured_page() };
    Router::new()
        .route("/oauth/google/start", get(page).post(page))
        .route("/oauth/google/callback", get(page))
}

/// Shows the page. Chat apps fetch links to preview them, so a GET changes nothing.
async fn show_connect_page(State(at): Shared, token: Result<Query<LinkQuery>, QueryRejection>) -> Response {
    let Ok(Query(LinkQuery { t })) = token else { return pages::offer_error(&ConnectRequestError::Unknown) };
    match at.offers.load_page(&t).await {
        Ok(page) => {
            let signs_in = at.required_sign_in(&page.platform, page.required_email.as_deref()).is_some();
            pages::offer(&page, signs_in, &t, at.clock.now())
        }
        Err(error) => pages::offer_error(&error),
    }
}

/// Consumes the link and redirects the browser to Google, with a cookie that only this browser has.
async fn start_consent(
    State(at): Shared,
    headers: HeaderMap,
    token: Result<Form<LinkQuery>, FormRejection>,
) -> Response {
    let Ok(Form(LinkQuery { t })) = token else { return pages::offer_error(&ConnectRequestError::Unknown) };
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return pages::other_browser();
    }
    let begun = match at.offers.start_authorization(&t).await {
        Ok(begun) => begun,
        Err(error) => return pages::offer_error(&error),
    };
    if let Some(discord) = at.required_sign_in(&begun.platform, begun.required_email.as_deref()) {
        let verifier = SecretString::from(begun.verifier.clone());
        return redirect_with_cookie(&at, &begun.state, &discord.authorize(&begun.state, &verifier));
    }
    redirect_to_google(&at, begun)
}

fn redirect_to_google(at: &ConnectPages, begun: AuthorizationRequest) -> Response {
    let verifier = SecretString::from(begun.verifier);
    let account = begun.account.or(begun.required_email);
    match at.google.authorize(&begun.state, &verifier, &begun.scopes, account.as_deref()) {
        Ok(address) => redirect_with_cookie(at, &begun.state, &address),
        Err(error) => oauth_error(&error),
    }
}

fn redirect_with_cookie(at: &ConnectPages, state: &str, address: &Url) -> Response {
    let cookie = SignInCookie::from_state(state).set(at.https, CONSENT_TIMEOUT_SECS);
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, address.to_string())]).into_response()
}

/// Handles the callback of Discord's sign-in.
async fn discord_callback(
    State(at): Shared,
    headers: HeaderMap,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Response {
    let Some(discord) = &at.discord else { return pages::not_configured_page() };
    let (mut response, cookie) = match verify_callback(&at, "Discord", &headers, query).await {
        Ok(Callback { pending, code, cookie }) => {
            (verify_discord_user(&at, discord, pending, &code).await, cookie)
        }
        Err(page) => return page,
    };
    cookie.clear(&mut response, at.https);
    response
}

async fn verify_discord_user(
    at: &ConnectPages,
    discord: &SignIn,
    pending: PendingAuthorization,
    code: &str,
) -> Response {
    let verifier = SecretString::from(pending.verifier.clone());
    let user = match discord.fetch_user_id(code, &verifier).await {
        Ok(user) => user,
        Err(error) => {
            return report_failure(at, pending, ConnectFailure::ProviderError, || sign_in_error_page(&error))
                .await;
        }
    };
    match at.offers.confirm_sign_in(pending, &user).await {
        Ok(Some(begun)) => redirect_to_google(at, begun),
        Ok(None) => pages::wrong_person_page(),
        Err(error) => pages::offer_error(&error),
    }
}

/// Handles the callback of Google.
async fn google_callback(
    State(at): Shared,
    headers: HeaderMap,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Response {
    let (mut response, cookie) = match verify_callback(&at, "Google", &headers, query).await {
        Ok(Callback { pending, code, cookie }) => (complete_connection(&at, pending, &code).await, cookie),
        Err(page) => return page,
    };
    cookie.clear(&mut response, at.https);
    response
}

/// A valid callback.
struct Callback {
    pending: PendingAuthorization,
    code: String,
    cookie: SignInCookie,
}

/// Validates a callback; it counts once, and only in the browser that began the sign-in.
async fn verify_callback(
    at: &ConnectPages,
    from: &str,
    headers: &HeaderMap,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Result<Callback, Response> {
    let Ok(Query(back)) = query else { return Err(pages::rejected_page(from)) };
    let Some(state) = back.state.as_deref() else { return Err(pages::other_browser()) };
    let cookie = SignInCookie::from_state(state);
    // Before the state is consumed: another browser must not use it up.
    if !cookie.is_present(headers) {
        return Err(pages::other_browser());
    }
    let pending = at.offers.receive_callback(state).await.map_err(|error| pages::offer_error(&error))?;
    let mut page = match (back.error, back.code) {
        (None, Some(code)) => return Ok(Callback { pending, code, cookie }),
        (Some(error), _) if error == "access_denied" => {
            report_failure(at, pending, ConnectFailure::Declined, pages::declined_page).await
        }
        _ => report_failure(at, pending, ConnectFailure::ProviderError, || pages::rejected_page(from)).await,
    };
    cookie.clear(&mut page, at.https);
    Err(page)
}

async fn complete_connection(at: &ConnectPages, pending: PendingAuthorization, code: &str) -> Response {
    let verifier = SecretString::from(pending.verifier.clone());
    let (tokens, account) = match at.google.exchange_code(code, &verifier, at.clock.now()).await {
        Ok(exchanged) => exchanged,
        Err(error) => {
            return report_failure(at, pending, ConnectFailure::ProviderError, || oauth_error(&error)).await;
        }
    };
    if tokens.scopes.as_deref().is_some_and(|granted| scopes::GOOGLE.usable_scopes(granted).is_empty()) {
        // Dropped and not revoked: revoking would also end an earlier grant of the same account.
        return report_failure(at, pending, ConnectFailure::NoScopesGranted, pages::too_little).await;
    }
    match at.offers.complete(pending, &account, &tokens).await {
        Ok(ConnectCompletion::Connected { account, missing_scopes: lacks }) => {
            pages::connected_page(&account, &lacks)
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
async fn report_failure(
    at: &ConnectPages,
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
        OAuthError::Revoked | OAuthError::Rejected { .. } => pages::rejected_page("Google"),
        OAuthError::Misconfigured { .. } => pages::provider_error_page("Google"),
        OAuthError::Unavailable { .. } => pages::no_response_page("Google"),
    }
}

fn sign_in_error_page(error: &SignInError) -> Response {
    tracing::warn!(%error, "sign-in with Discord failed");
    match error {
        SignInError::Rejected(_) => pages::rejected_page("Discord"),
        SignInError::Misconfigured(_) => pages::provider_error_page("Discord"),
        SignInError::Unavailable(_) => pages::no_response_page("Discord"),
    }
}
