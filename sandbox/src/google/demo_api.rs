//! JSON for a page that shows the mailboxes: `/_sandbox/…`. This is no Google API, and Nod does not use it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State as Shares};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

use super::Shared;

const MAX_POLL_TIME: Duration = Duration::from_secs(25);

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/_sandbox/accounts", get(accounts)).route("/_sandbox/mailbox", get(mailbox))
}

async fn accounts(Shares(shared): Shares<Arc<Shared>>) -> Response {
    Json(shared.state().mail.accounts()).into_response()
}

#[derive(Debug, Deserialize)]
struct Ask {
    account: String,
    /// Answer only once the version differs from this one, or after 25 s.
    since: Option<u64>,
}

async fn mailbox(Shares(shared): Shares<Arc<Shared>>, Query(ask): Query<Ask>) -> Response {
    if shared.state().mail.account(&ask.account).is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let mut version = shared.version.subscribe();
    if let Some(since) = ask.since {
        let _ = tokio::time::timeout(MAX_POLL_TIME, version.wait_for(|now| *now != since)).await;
    }
    // The version is read first, so a change in between is shown twice instead of never.
    let seen = *version.borrow();
    Json(json!({
        "version": seen,
        "account": ask.account,
        "inbox": shared.list_by_label(&ask.account, "INBOX"),
        "sent": shared.list_by_label(&ask.account, "SENT"),
        "drafts": shared.list_by_label(&ask.account, "DRAFT"),
        "outbox": shared.outbox(),
    }))
    .into_response()
}
