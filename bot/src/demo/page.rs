//! The demo's own small server: the page, and a proxy to the fakes' `_sandbox` endpoints on the same origin. Forwards
//! only what is listed here; knows nothing of Nod.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use nod_sandbox::google::Google;

use super::handbook;
use super::page_facts::PageFacts;
use super::restart::RestartControl;
use super::sandbox::DemoSandbox;

/// The longest body of a message with a file, in bytes: 20 MB in Base64.
const MAX_FILE_BODY: usize = 28 * 1024 * 1024;

/// The start of the demo that answered: another one knows nothing of what the page shows.
const START: HeaderName = HeaderName::from_static("x-nod-demo");

/// Everything the page loads comes from here; nothing that it shows can run scripts or connect elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files of the page's folder: path and text.
macro_rules! files {
    ($($name:literal)*) => { [$((concat!("/", $name), include_str!(concat!("page/", $name)))),*] };
}

/// Returns path, type and text of every file.
pub(super) fn files() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let scripts = files!(
        "reload.js" "api.js" "avatar.js" "blocks.js" "message_box.js" "calendar.js" "channel.js" "chat.js" "composer.js" "connect.js" "dialog.js"
        "documents_tour.js" "dom.js" "end.js" "home.js" "message_menu.js" "facts.js" "guide.js" "links.js" "progress.js" "mail.js" "main.js" "meeting_tour.js" "message.js" "message_list.js" "modal.js"
        "slack_date.js" "slack_documents.js" "suggestions.js" "mrkdwn.js" "polling.js" "rich_text.js" "scroll.js" "sidebar.js" "mail_tour.js" "store.js" "thread.js" "threads.js"
        "notifications.js" "task_tour.js" "toast.js" "trick_tour.js" "unread.js" "way.js" "windows.js"
        "discord/command.js" "discord/components.js" "discord/composer.js" "discord/actions.js" "discord/documents.js" "discord/guild.js" "discord/progress.js"
        "discord/markdown.js" "discord/menu.js" "discord/message.js" "discord/modal.js" "discord/channel.js"
        "discord/sidebar.js" "discord/timestamp.js" "discord/discord_tour.js" "discord/autocomplete.js" "discord/window.js"
    );
    let styles = files!(
        "base.css" "calendar.css" "chat.css" "mail.css" "modal.css" "discord/message.css" "discord/window.css"
    );
    let scripts = scripts.map(|(path, text)| (path, "text/javascript; charset=utf-8", text));
    let styles = styles.map(|(path, text)| (path, "text/css; charset=utf-8", text));
    let page = [
        ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
        ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ];
    scripts.into_iter().chain(styles).chain(page)
}

/// The endpoints that read, and those that act.
const READ_ROUTES: [&str; 7] = [
    "slack/state",
    "slack/events",
    "discord/state",
    "discord/events",
    "google/accounts",
    "google/mailbox",
    "google/calendar",
];
const WRITE_ROUTES: [&str; 16] = [
    "slack/say",
    "slack/home",
    "slack/press_home",
    "slack/assistant",
    "slack/pick",
    "slack/slash",
    "slack/press",
    "slack/submit",
    "slack/close",
    "discord/say",
    "discord/slash",
    "discord/complete",
    "discord/pick",
    "discord/press",
    "discord/submit",
    "discord/close",
];

/// Longer than the fakes hold a long poll open.
const PROXY_TIMEOUT: Duration = Duration::from_secs(60);

struct SandboxUrls {
    slack: String,
    discord: String,
    google: String,
    client: reqwest::Client,
}

/// Builds the page's routes.
pub(super) fn router(
    stage: &DemoSandbox,
    facts: PageFacts,
    switch: RestartControl,
    client: reqwest::Client,
) -> Router {
    let doors = SandboxUrls {
        slack: stage.slack.url(),
        discord: stage.discord.root_url(),
        google: stage.google.url(),
        client,
    };
    let mut router = Router::new()
        .route("/facts", get(move || std::future::ready(Json(facts))))
        .route(
            &format!("/{}", handbook::OFFER),
            get(async || ([(CONTENT_TYPE, "application/pdf")], handbook::OFFER_PDF)),
        )
        // A file can be dropped in a composer.
        .route(
            "/sandbox/{*door}",
            get(proxy_get).post(proxy_post).layer(DefaultBodyLimit::max(MAX_FILE_BODY)),
        )
        .with_state(Arc::new(doors))
        .route("/demo/state", get(async |State(switch): State<RestartControl>| Json(switch.nod())))
        .route("/demo/restart", post(restart))
        .route("/demo/kill", post(kill))
        .with_state(switch);
    for (path, kind, text) in files() {
        router = router.route(path, get(move || async move { ([(CONTENT_TYPE, kind)], text) }));
    }
    // Enough for a form with the longest mail.
    let router = router.layer(Extension(stage.google.clone()));
    router.layer(DefaultBodyLimit::max(256 * 1024)).layer(from_fn_with_state(start(), check_host))
}

async fn proxy_get(
    State(doors): State<Arc<SandboxUrls>>,
    Path(door): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(address) = doors.address(&door, &READ_ROUTES) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    forward(doors.client.get(format!("{address}{query}"))).await
}

async fn proxy_post(
    State(doors): State<Arc<SandboxUrls>>,
    Path(door): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(address) = doors.address(&door, &WRITE_ROUTES) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !is_from_page(&headers) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    forward(doors.client.post(address).header(CONTENT_TYPE, "application/json").body(body)).await
}

/// Returns whether the request has the JSON content type. Another site cannot send it without a CORS preflight, which
/// this server never allows.
fn is_from_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

/// Stops Nod's own part and starts it again.
async fn restart(State(switch): State<RestartControl>, headers: HeaderMap) -> Response {
    if !is_from_page(&headers) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    if !switch.pull() {
        let why = serde_json::json!({"error": "Nod is already stopped."});
        return (StatusCode::CONFLICT, Json(why)).into_response();
    }
    Json(switch.nod()).into_response()
}

/// Kills Nod's own part while it sends the next email.
async fn kill(
    State(switch): State<RestartControl>,
    Extension(google): Extension<Google>,
    headers: HeaderMap,
) -> Response {
    if !is_from_page(&headers) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    if !switch.arm(&google) {
        let why = serde_json::json!({"error": "Nod is stopped, or will be killed already."});
        return (StatusCode::CONFLICT, Json(why)).into_response();
    }
    Json(switch.nod()).into_response()
}

fn start() -> HeaderValue {
    HeaderValue::from(chrono::Utc::now().timestamp_micros().unsigned_abs())
}

impl SandboxUrls {
    fn address(&self, door: &str, open: &[&str]) -> Option<String> {
        let (house, name) = open.iter().find(|one| **one == door)?.split_once('/')?;
        let base = match house {
            "slack" => &self.slack,
            "discord" => &self.discord,
            _ => &self.google,
        };
        Some(format!("{base}/_sandbox/{name}"))
    }
}

async fn forward(request: reqwest::RequestBuilder) -> Response {
    let answer = async {
        let answer = request.timeout(PROXY_TIMEOUT).send().await?;
        let status = StatusCode::from_u16(answer.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
        Ok::<_, reqwest::Error>((status, [(CONTENT_TYPE, "application/json")], answer.bytes().await?))
    };
    match answer.await {
        Ok(answer) => answer.into_response(),
        Err(error) => {
            tracing::warn!(%error, "the sandbox did not answer the demo page");
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

/// Answers only requests whose `Host` is this machine (another site could point its own name here). Adds which start of
/// the demo answers, and the security headers.
async fn check_host(State(start): State<HeaderValue>, request: Request, next: Next) -> Response {
    if !request.headers().get(HOST).is_some_and(is_here) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(START, start);
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_here(host: &HeaderValue) -> bool {
    let host = host.to_str().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost"].contains(&name)
}
