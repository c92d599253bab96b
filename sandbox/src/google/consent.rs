//! Consent: the page on which a person chooses an account and the scopes to grant.
//!
//! The page and the tests' shortcut ([`super::Google::consent`]) use the same two functions: [`Ask::parse`] validates
//! the request, [`decide`] creates the redirect.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawForm, RawQuery, State as Shares};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;

use super::grants::{Code, random};
use super::{Account, Shared};

const KNOWN: [&str; 11] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "access_type",
    "prompt",
    "login_hint",
    "include_granted_scopes",
];

/// The scopes that identify a person.
const IDENTITY: [&str; 4] = [
    "openid",
    "email",
    "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/userinfo.profile",
];
/// The scopes of Gmail and Calendar that are registered on the consent screen, without their common prefix.
const REGISTERED: [&str; 11] = [
    "gmail.readonly",
    "gmail.compose",
    "gmail.modify",
    "gmail.metadata",
    "gmail.send",
    "calendar",
    "calendar.readonly",
    "calendar.events",
    "calendar.events.readonly",
    "calendar.events.freebusy",
    "calendar.freebusy",
];

fn registered(scope: &str) -> bool {
    let short = scope.strip_prefix("https://www.googleapis.com/auth/");
    scope == "https://mail.google.com/"
        || IDENTITY.contains(&scope)
        || short.is_some_and(|short| REGISTERED.contains(&short))
}

/// A valid request for consent.
#[derive(Debug, Clone)]
pub(super) struct ConsentRequest {
    redirect_uri: String,
    scopes: BTreeSet<String>,
    state: String,
    challenge: String,
    offline: bool,
    prompt: Vec<String>,
    login_hint: Option<String>,
    adds_to_granted: bool,
}

/// The person's choice.
#[derive(Debug)]
pub(super) enum Choice {
    Allow { email: String, scopes: BTreeSet<String> },
    Deny,
}

type Pairs = Vec<(String, String)>;

impl ConsentRequest {
    /// Validates the query of the consent page; the error is the text shown on the page.
    pub fn parse(shared: &Shared, pairs: &Pairs) -> Result<Self, String> {
        for (at, (name, _)) in pairs.iter().enumerate() {
            if !KNOWN.contains(&name.as_str()) {
                return Err(format!("Error 400: invalid_request: unknown parameter {name}"));
            }
            if pairs.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(format!("Error 400: invalid_request: {name} given twice"));
            }
        }
        let get = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let need = |name: &str| {
            let value = get(name).filter(|value| !value.is_empty());
            value.ok_or(format!("Error 400: invalid_request: Missing required parameter: {name}"))
        };
        let only = |name: &str, allowed: &[&str]| match get(name) {
            Some(value) if !allowed.contains(&value.as_str()) => {
                Err(format!("Error 400: invalid_request: Invalid {name}"))
            }
            value => Ok(value),
        };
        if need("client_id")? != shared.config.client_id {
            return Err("Error 401: invalid_client: The OAuth client was not found.".to_owned());
        }
        let redirect_uri = need("redirect_uri")?;
        if !shared.state().redirect_uris.contains(&redirect_uri) {
            return Err("Error 400: redirect_uri_mismatch".to_owned());
        }
        need("response_type")?;
        only("response_type", &["code"])?;
        need("code_challenge_method")?;
        only("code_challenge_method", &["S256"])?;
        let challenge = need("code_challenge")?;
        if challenge.len() != 43 {
            return Err("Error 400: invalid_request: Invalid code_challenge".to_owned());
        }
        let scopes: BTreeSet<String> =
            need("scope")?.split(' ').filter(|s| !s.is_empty()).map(str::to_owned).collect();
        if let Some(unknown) = scopes.iter().find(|scope| !registered(scope)) {
            return Err(format!("Error 400: invalid_scope: {unknown}"));
        }
        Ok(Self {
            redirect_uri,
            scopes,
            state: need("state")?,
            challenge,
            offline: only("access_type", &["online", "offline"])?.as_deref() == Some("offline"),
            prompt: prompt(get("prompt"))?,
            login_hint: get("login_hint"),
            adds_to_granted: only("include_granted_scopes", &["true", "false"])?.as_deref() == Some("true"),
        })
    }

    pub fn scopes(&self) -> &BTreeSet<String> {
        &self.scopes
    }
}

fn prompt(value: Option<String>) -> Result<Vec<String>, String> {
    let all: Vec<String> = value.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    if all.iter().all(|one| ["consent", "select_account"].contains(&one.as_str())) {
        return Ok(all);
    }
    Err("Error 400: invalid_request: Invalid prompt".to_owned())
}

/// Returns the address to which the browser is redirected.
pub(super) fn decide(shared: &Shared, ask: &ConsentRequest, choice: Choice) -> Result<String, String> {
    let mut back = url::Url::parse(&ask.redirect_uri).map_err(|error| error.to_string())?;
    back.query_pairs_mut().append_pair("state", &ask.state);
    let Choice::Allow { email, scopes } = choice else {
        back.query_pairs_mut().append_pair("error", "access_denied");
        return Ok(back.to_string());
    };
    // Identity scopes have no checkbox.
    let mut scopes = scopes;
    scopes.extend(ask.scopes.iter().filter(|scope| IDENTITY.contains(&scope.as_str())).cloned());
    if scopes.is_empty() {
        back.query_pairs_mut().append_pair("error", "access_denied");
        return Ok(back.to_string());
    }
    if !scopes.is_subset(&ask.scopes) {
        return Err("A scope was granted that had not been asked for.".to_owned());
    }
    let (code, granted) = grant(shared, ask, &email, scopes)?;
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("scope", &granted)
        .append_pair("authuser", "0")
        .append_pair("prompt", "consent");
    Ok(back.to_string())
}

fn grant(
    shared: &Shared,
    ask: &ConsentRequest,
    email: &str,
    mut scopes: BTreeSet<String>,
) -> Result<(String, String), String> {
    let now = shared.now();
    shared.change(|state| {
        let account = state.mail.account(email).ok_or("No such account.")?.email.clone();
        let earlier = state.grants.all.iter().filter(|g| g.email == account && !g.revoked);
        if ask.adds_to_granted {
            scopes.extend(earlier.flat_map(|grant| grant.scopes.iter().cloned()));
        }
        // Google returns a refresh token at the first consent only, unless `prompt=consent` is given.
        let again = ask.prompt.iter().any(|one| one == "consent");
        let refreshable = ask.offline && (again || !state.grants.has_refresh(&account));
        let granted = scopes.iter().cloned().collect::<Vec<_>>().join(" ");
        let grant = state.grants.add(&account, scopes);
        let code = format!("4/0A{}", random());
        let made = Code {
            grant,
            redirect_uri: ask.redirect_uri.clone(),
            challenge: ask.challenge.clone(),
            created_at: now,
            refreshable,
            used: false,
        };
        state.grants.codes.insert(code.clone(), made);
        Ok((code, granted))
    })
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/o/oauth2/v2/auth", get(page).post(chosen))
}

async fn page(Shares(shared): Shares<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let query: Pairs =
        url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    match ConsentRequest::parse(&shared, &query) {
        Err(why) => access_blocked_page(&why),
        Ok(ask) => {
            let accounts = shared.state().mail.accounts();
            Html(render(&ask, &query, &accounts)).into_response()
        }
    }
}

async fn chosen(Shares(shared): Shares<Arc<Shared>>, RawForm(form): RawForm) -> Response {
    let all: Pairs = url::form_urlencoded::parse(&form).into_owned().collect();
    let (choice, query): (Pairs, Pairs) =
        all.into_iter().partition(|(name, _)| ["account", "grant", "decision"].contains(&name.as_str()));
    let ask = match ConsentRequest::parse(&shared, &query) {
        Ok(ask) => ask,
        Err(why) => return access_blocked_page(&why),
    };
    let get =
        |name: &str| choice.iter().filter(|(n, _)| n == name).map(|(_, v)| v.clone()).collect::<Vec<_>>();
    let choice = match (get("decision").first().map(String::as_str), get("account").pop()) {
        (Some("allow"), Some(email)) => Choice::Allow { email, scopes: get("grant").into_iter().collect() },
        _ => Choice::Deny,
    };
    match decide(&shared, &ask, choice) {
        Ok(location) => Redirect::to(&location).into_response(),
        Err(why) => access_blocked_page(&why),
    }
}

fn access_blocked_page(why: &str) -> Response {
    let page =
        format!("<!doctype html><title>Sandbox Google</title><h1>Access blocked</h1><p>{}</p>", escape(why));
    (StatusCode::BAD_REQUEST, Html(page)).into_response()
}

fn render(ask: &ConsentRequest, query: &Pairs, accounts: &[Account]) -> String {
    let hidden: String = query
        .iter()
        .map(|(name, value)| {
            format!(r#"<input type="hidden" name="{}" value="{}">"#, escape(name), escape(value))
        })
        .collect();
    let scopes: String = ask
        .scopes
        .iter()
        .filter(|scope| !IDENTITY.contains(&scope.as_str()))
        .map(|scope| {
            let scope = escape(scope);
            format!(
                r#"<label><input type="checkbox" name="grant" value="{scope}" checked> {scope}</label><br>"#
            )
        })
        .collect();
    let mut accounts = accounts.to_vec();
    let is_expected = |account: &Account| Some(&account.email) == ask.login_hint.as_ref();
    accounts.sort_by_key(|account| !is_expected(account));
    let forms: String = accounts
        .iter()
        .map(|account| {
            // Every account can be chosen, as at Google.
            let (look, note) = match is_expected(account) {
                true => (r#" class="expected""#, "<p><strong>This is the account that was asked for.</strong></p>"),
                false => ("", ""),
            };
            format!(
                r#"<form method="post" action="/o/oauth2/v2/auth"{look}>{hidden}{note}<h2>{} <small>{email}</small></h2>
<input type="hidden" name="account" value="{email}">{scopes}
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Cancel</button></form>"#,
                escape(&account.name),
                email = escape(&account.email),
            )
        })
        .collect();
    format!(
        r#"<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox Google</title><style>body{{font:16px system-ui;max-width:34em;margin:3em auto;padding:0 1em}}
form{{border:1px solid #ccc;border-radius:8px;padding:0 1em 1em;margin:1em 0}}small{{color:#666;font-weight:400}}
.expected{{border:2px solid #0b57d0;background:#eef4ff}}.expected strong{{color:#0b57d0}}
.expected [value=allow]{{background:#0b57d0;color:#fff;border:0;border-radius:4px}}button{{font:inherit;padding:.4em 1em;margin-top:.8em}}</style>
<h1>Sandbox Google – choose account</h1><p>Nothing here leaves this machine.</p>{forms}"#
    )
}

pub(super) fn escape(text: &str) -> String {
    let entity = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(entity).collect()
}
