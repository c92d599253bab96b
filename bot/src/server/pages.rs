//! The pages: plain, readable on every device, light and dark. Every sentence that the server shows is here.

use std::sync::LazyLock;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nod_accounts::connection::{ConnectPage, ConnectRequestError};
use nod_connectors::google::scopes::GOOGLE;
use nod_contract::clock::Timestamp;
use sha2::{Digest, Sha256};

use crate::discord;

const STYLE: &str = ":root{color-scheme:light dark}\
body{font:1.0625rem/1.55 system-ui,sans-serif;margin:0;padding:2rem 1.25rem;color:CanvasText;background:Canvas}\
main{max-width:34rem;margin:0 auto}h1{font-size:1.5rem;line-height:1.25}dt{opacity:.75}dd{margin:0 0 .75rem}\
dd,strong{overflow-wrap:anywhere}\
button{font:inherit;font-weight:600;padding:.7rem 1.4rem;border-radius:.5rem;border:1px solid transparent;\
background:#1a56db;color:#fff;cursor:pointer}button:hover{background:#1e429f}\
button:focus-visible{outline:3px solid #76a9fa;outline-offset:2px}small{opacity:.8}";

/// Returns the digest of the one style that the policy allows.
pub(super) fn style_digest() -> &'static str {
    static DIGEST: LazyLock<String> =
        LazyLock::new(|| format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE))));
    &DIGEST
}

/// The page that shows whose account it will be, and what that means.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Connect Google to Nod</title><style>{{ style|safe }}</style></head>
<body><main><h1>Connect your Google account to Nod</h1>
<p>This link is just for you.</p>
<dl><dt>Person</dt><dd><strong>{{ name }}</strong></dd>
<dt>Google account</dt><dd><strong>{% if let Some(address) = address %}{{ address }}{% else if signs_in %}any of yours. You'll sign in with Discord first, so Nod knows it's you{% else %}an admin has to allow it, because your chat profile shows no address{% endif %}</strong></dd>
<dt>{{ place }}</dt><dd><strong>{{ workspace }}</strong></dd></dl>
<h2>What Nod will be able to do</h2>
<ul>{% for right in rights %}<li>{{ right }}</li>
{% endfor %}</ul>
<p>Only {{ name }} sees what Nod reads. You can end this any time in your Google account, under third-party access.</p>
<form method="post" action="/oauth/google/start"><input type="hidden" name="t" value="{{ token }}">
<button type="submit">Continue to {% if signs_in %}Discord{% else %}Google{% endif %}</button></form>
<p><small>The link works once, {{ valid }}. Not {{ name }}? Close this page.</small></p>
</main></body></html>"#
)]
struct ConnectTemplate<'a> {
    style: &'static str,
    name: &'a str,
    address: Option<&'a str>,
    signs_in: bool,
    place: &'static str,
    workspace: &'a str,
    rights: Vec<&'static str>,
    token: &'a str,
    valid: String,
}

/// A page with a message.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{{ title }} · Nod</title><style>{{ style|safe }}</style></head>
<body><main><h1>{{ title }}</h1>{% for line in lines %}<p>{{ line }}</p>{% endfor %}</main></body></html>"#
)]
struct MessageTemplate<'a> {
    style: &'static str,
    title: &'a str,
    lines: &'a [String],
}

fn html(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => {
            tracing::error!(%error, "could not render a page");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn message_page(status: StatusCode, title: &str, lines: &[&str]) -> Response {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    (status, html(&MessageTemplate { style: STYLE, title, lines: &lines })).into_response()
}

/// Renders the page; `signs_in` if a sign-in with the chat platform comes first.
pub(super) fn offer(page: &ConnectPage, signs_in: bool, token: &str, now: Timestamp) -> Response {
    html(&ConnectTemplate {
        style: STYLE,
        name: &page.person_name,
        address: page.required_email.as_deref(),
        signs_in,
        place: if page.platform == discord::PLATFORM { "Discord" } else { "Workspace" },
        workspace: &page.workspace_name,
        rights: GOOGLE.consent_lines(&page.scopes),
        token,
        valid: valid(page.expires_at, now),
    })
}

/// A browser does not send its time zone, so the remaining time says more than a time of day in another zone.
fn valid(until: Timestamp, now: Timestamp) -> String {
    let minutes = (until - now).num_minutes();
    let left = match minutes {
        ..=1 => "for another minute".to_owned(),
        2..=119 => format!("for another {minutes} minutes"),
        _ => format!("for another {} hours", minutes / 60),
    };
    format!("{left}, until {}", until.format("%H:%M UTC on %-d %B"))
}

pub(super) fn connected_page(account: &str, lacks: &[String]) -> Response {
    let first = format!("Nod can now use {account} for you.");
    let then = "You can close this page. Nod is already carrying on in your chat.";
    if lacks.is_empty() {
        return message_page(StatusCode::OK, "Connected", &[&first, then]);
    }
    let but = format!(
        "Nod can't {}: that box wasn't ticked. If you want it, ask Nod again in chat and tick it.",
        GOOGLE.describe_any(lacks)
    );
    message_page(StatusCode::OK, "Connected", &[&first, &but, then])
}

pub(super) fn not_that_account(account: &str, connected: &str) -> Response {
    let why =
        format!("You signed in as {account}, but {connected} is the one that's connected. Nothing changed.");
    message_page(StatusCode::OK, "Not connected", &[&why, ASK_AGAIN])
}

pub(super) fn other_account(account: &str, expected: Option<&str>, admin_asked: bool) -> Response {
    let was = match expected {
        Some(expected) => format!("You signed in as {account}, but this link is for {expected}."),
        None => {
            format!("You signed in as {account}, but your chat profile shows no address to compare it with.")
        }
    };
    let next = match expected {
        _ if admin_asked => "An admin has been asked to allow this account. Nod will let you know in chat.",
        Some(_) => "Ask Nod in chat for a new link, and sign in with that address.",
        None => "Ask the person who runs Nod to name an admin who can allow it.",
    };
    message_page(StatusCode::OK, "Not connected", &[&was, next])
}

pub(super) fn declined_page() -> Response {
    let lines = ["You said no, so nothing was connected.", ASK_AGAIN];
    message_page(StatusCode::OK, "Not connected", &lines)
}

pub(super) fn too_little() -> Response {
    let why = "No permission was ticked at Google, so nothing was connected.";
    message_page(StatusCode::OK, "Not connected", &[why, ASK_AGAIN])
}

pub(super) fn other_browser() -> Response {
    let why = "This sign-in started in another browser, or too long ago. Nothing was connected.";
    message_page(StatusCode::BAD_REQUEST, "Not connected", &[why, ASK_AGAIN])
}

pub(super) fn rejected_page(by: &str) -> Response {
    let why = format!("{by} didn't accept the sign-in.");
    message_page(StatusCode::BAD_REQUEST, "Not connected", &[&why, ASK_AGAIN])
}

pub(super) fn no_response_page(who: &str) -> Response {
    let why = format!("{who} didn't answer. Nothing was connected.");
    message_page(StatusCode::BAD_GATEWAY, "Not connected", &[&why, ASK_AGAIN])
}

pub(super) fn provider_error_page(with: &str) -> Response {
    let lines = [
        &format!("Nod isn't set up properly at {with}. Nothing was connected."),
        "Please tell the person who runs Nod: the log has the answer, and “nod doctor” checks the rest.",
    ];
    message_page(StatusCode::BAD_GATEWAY, "Not connected", &lines)
}

pub(super) fn wrong_person_page() -> Response {
    let why = "You signed in as someone else, so nothing was connected. If someone sent you this link, it \
        would have let them read your email.";
    message_page(StatusCode::OK, "Not connected", &[why, ASK_AGAIN])
}

/// Renders the core's own message, which reveals no internals.
pub(super) fn offer_error(error: &ConnectRequestError) -> Response {
    let (status, title) = match error {
        ConnectRequestError::Unknown => (StatusCode::NOT_FOUND, "This isn't a Nod link"),
        ConnectRequestError::Expired => (StatusCode::GONE, "This link has expired"),
        ConnectRequestError::Used => (StatusCode::GONE, "This link was already used"),
        ConnectRequestError::Stranger => (StatusCode::FORBIDDEN, "This is for members"),
        ConnectRequestError::NotNow => (StatusCode::SERVICE_UNAVAILABLE, "Please try again in a minute"),
        ConnectRequestError::Database(error) => {
            tracing::error!(%error, "database error while serving a page");
            (StatusCode::SERVICE_UNAVAILABLE, "Please try again in a minute")
        }
    };
    message_page(status, title, &[&error.to_string()])
}

pub(super) fn not_configured_page() -> Response {
    let why = "This Nod can't connect accounts yet. The person who runs it has to set google.client_id, \
        google.client_secret and server.public_url.";
    message_page(StatusCode::NOT_FOUND, "Not set up yet", &[why])
}

pub(super) fn not_here() -> Response {
    message_page(
        StatusCode::NOT_FOUND,
        "Nothing here",
        &["Nod lives in your chat. There's no page at this address."],
    )
}

const ASK_AGAIN: &str = "Ask Nod in chat if you need a new link.";
