//! The cookie of a sign-in.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use sha2::{Digest, Sha256};

/// Binds one sign-in to one browser. Its name differs per sign-in, so two at once do not interfere; it is derived from
/// the state, so nothing has to be stored.
pub(super) struct SignInCookie {
    name: String,
    value: String,
}

impl SignInCookie {
    pub(super) fn from_state(state: &str) -> Self {
        let digest = hex::encode(Sha256::digest(state.as_bytes()));
        let (name, value) = digest.split_at(16);
        Self { name: format!("nod_connect_{name}"), value: value.to_owned() }
    }

    /// Formats the cookie. `Lax` and not `Strict`: the callback is a navigation that Google or Discord starts.
    pub(super) fn set(&self, https: bool, seconds: u32) -> String {
        let Self { name, value } = self;
        let secure = if https { "; Secure" } else { "" };
        format!("{name}={value}; Path=/oauth; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    /// Deletes the cookie, because the sign-in has ended in this browser.
    pub(super) fn clear(&self, response: &mut Response, https: bool) {
        if let Ok(cleared) = HeaderValue::from_str(&self.set(https, 0)) {
            response.headers_mut().append(SET_COOKIE, cleared);
        }
    }

    pub(super) fn is_present(&self, headers: &HeaderMap) -> bool {
        let wanted = format!("{}={}", self.name, self.value);
        let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        sent.flat_map(|value| value.split(';')).any(|cookie| cookie.trim() == wanted)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn cookie_headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_sign_in_is_bound_to_the_browser_that_began_it() {
        let cookie = SignInCookie::from_state("state-one");
        let set = cookie.set(true, 600);
        let pair = set.split(';').next().unwrap();
        assert!(set.ends_with("; Path=/oauth; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{set}");
        assert!(cookie.is_present(&cookie_headers(pair)));
        assert!(cookie.is_present(&cookie_headers(&format!("a=b; {pair}; c=d"))));
        assert!(!SignInCookie::from_state("state-two").is_present(&cookie_headers(pair)));
        assert!(!cookie.is_present(&HeaderMap::new()));
        assert!(!set.contains("state-one"));
    }
}
