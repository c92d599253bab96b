//! The way to a connected account: a page that names whose it will be, Google's consent, the way back. The
//! core's offers say who may and remember what happened; this is only the browser's side of it.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use nod_connectors::google::{GoogleOAuth, OAuthError, SCOPES, missing};
use nod_core::clock::Clock;
use nod_core::connection::{Completion, OfferError, Offers, Pending, Setback};
use secrecy::SecretString;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::pages;

/// How long somebody may take at Google's, in seconds.
const CONSENT_SECONDS: u32 = 600;

/// What the pages work with.
pub struct Connecting {
    /// Who may connect what.
    pub offers: Offers,
    /// Google's sign-in.
    pub google: GoogleOAuth,
    /// For how long a link is still valid.
    pub clock: Arc<dyn Clock>,
    /// Whether people reach the pages by https: then the cookie travels by nothing else.
    pub https: bool,
}

type Shared = State<Arc<Connecting>>;

/// The token in a link.
#[derive(Deserialize)]
struct Token {
    t: String,
}

/// What Google's way back carries.
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
        .with_state(connecting)
}

pub(super) fn not_configured() -> Router {
    let page = || async { pages::not_configured() };
    Router::new()
        .route("/oauth/google/start", get(page).post(page))
        .route("/oauth/google/callback", get(page))
}

/// Chat programs fetch links to preview them, so looking changes nothing.
async fn show(State(at): Shared, token: Result<Query<Token>, QueryRejection>) -> Response {
    let Ok(Query(Token { t })) = token else { return pages::offer_error(&OfferError::Unknown) };
    match at.offers.read(&t).await {
        Ok(page) => pages::offer(&page, &t, at.clock.now()),
        Err(error) => pages::offer_error(&error),
    }
}

/// Consumes the link and sends the browser to Google, with a cookie that only this browser has.
async fn begin(State(at): Shared, headers: HeaderMap, token: Result<Form<Token>, FormRejection>) -> Response {
    let Ok(Form(Token { t })) = token else { return pages::offer_error(&OfferError::Unknown) };
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return pages::other_browser();
    }
    let begun = match at.offers.begin(&t).await {
        Ok(begun) => begun,
        Err(error) => return pages::offer_error(&error),
    };
    let verifier = SecretString::from(begun.verifier);
    match at.google.authorize(&begun.state, &verifier, &SCOPES, begun.address.as_deref()) {
        Ok(address) => {
            let cookie = Cookie::of(&begun.state).set(at.https, CONSENT_SECONDS);
            let headers = [(SET_COOKIE, cookie), (LOCATION, address.to_string())];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(error) => oauth_error(&error),
    }
}

/// The browser returns from Google.
async fn back(State(at): Shared, headers: HeaderMap, query: Result<Query<Back>, QueryRejection>) -> Response {
    let Ok(Query(back)) = query else { return pages::refused() };
    let Some(state) = back.state.as_deref() else { return pages::other_browser() };
    let cookie = Cookie::of(state);
    // Before the state is looked at: somebody else's browser must not use it up.
    if !cookie.is_in(&headers) {
        return pages::other_browser();
    }
    let mut response = match at.offers.resume(state).await {
        Ok(pending) => settle(&at, pending, back).await,
        Err(error) => pages::offer_error(&error),
    };
    if let Ok(cleared) = HeaderValue::from_str(&cookie.set(at.https, 0)) {
        response.headers_mut().append(SET_COOKIE, cleared);
    }
    response
}

async fn settle(at: &Connecting, pending: Pending, back: Back) -> Response {
    if let Some(error) = back.error {
        let denied = error == "access_denied";
        let why = if denied { Setback::Declined } else { Setback::Broken };
        return give_up(at, pending, why, if denied { pages::declined } else { pages::refused }).await;
    }
    let Some(code) = back.code else {
        return give_up(at, pending, Setback::Broken, pages::refused).await;
    };
    let verifier = SecretString::from(pending.verifier.clone());
    let tokens = match at.google.exchange(&code, &verifier, at.clock.now()).await {
        Ok(tokens) => tokens,
        Err(error) => return give_up(at, pending, Setback::Broken, || oauth_error(&error)).await,
    };
    if tokens.scopes.as_deref().is_some_and(|granted| !missing(granted).is_empty()) {
        // Dropped and not given back: that would end an earlier, whole grant of the same account as well.
        return give_up(at, pending, Setback::TooLittle, pages::too_little).await;
    }
    let account = match at.google.account(&tokens.access).await {
        Ok(account) => account,
        Err(error) => return give_up(at, pending, Setback::Broken, || oauth_error(&error)).await,
    };
    match at.offers.complete(pending, &account, &tokens).await {
        Ok(Completion::Connected { account }) => pages::connected(&account),
        Ok(Completion::OtherAccount { account, expected, admin_asked }) => {
            pages::other_account(&account, expected.as_deref(), admin_asked)
        }
        Err(error) => pages::offer_error(&error),
    }
}

/// Whoever waits for this account is told that it did not come, and why.
async fn give_up(
    at: &Connecting,
    pending: Pending,
    why: Setback,
    page: impl FnOnce() -> Response,
) -> Response {
    match at.offers.failed(pending, why).await {
        Ok(()) => page(),
        Err(error) => pages::offer_error(&error),
    }
}

fn oauth_error(error: &OAuthError) -> Response {
    tracing::warn!(%error, "a sign-in with Google did not work");
    match error {
        OAuthError::Revoked | OAuthError::Refused { .. } => pages::refused(),
        OAuthError::Misconfigured { .. } => pages::broken(),
        OAuthError::Silent { .. } => pages::silent(),
    }
}

/// Binds one sign-in to one browser. Named after it, so that two at once do not disturb each other; made from
/// the state, so that nothing has to be kept.
struct Cookie {
    name: String,
    value: String,
}

impl Cookie {
    fn of(state: &str) -> Self {
        let digest = hex::encode(Sha256::digest(state.as_bytes()));
        let (name, value) = digest.split_at(16);
        Self { name: format!("nod_connect_{name}"), value: value.to_owned() }
    }

    /// `Lax` and not `Strict`: the way back is a navigation that Google begins.
    fn set(&self, https: bool, seconds: u32) -> String {
        let Self { name, value } = self;
        let secure = if https { "; Secure" } else { "" };
        format!("{name}={value}; Path=/oauth/google; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        let wanted = format!("{}={}", self.name, self.value);
        let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        sent.flat_map(|value| value.split(';')).any(|cookie| cookie.trim() == wanted)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn sent(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_sign_in_is_bound_to_the_browser_that_began_it() {
        let cookie = Cookie::of("state-one");
        let set = cookie.set(true, 600);
        let pair = set.split(';').next().unwrap();
        assert!(set.ends_with("; Path=/oauth/google; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{set}");
        assert!(cookie.is_in(&sent(pair)));
        assert!(cookie.is_in(&sent(&format!("a=b; {pair}; c=d"))));
        assert!(!Cookie::of("state-two").is_in(&sent(pair)));
        assert!(!cookie.is_in(&HeaderMap::new()));
        assert!(!set.contains("state-one"));
    }
}
