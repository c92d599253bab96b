//! The home pages that people have opened: each is updated when something that it shows has changed.

mod sql;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId, named_lane_id};
use nod_store::jobs::{Job, sql as jobs};

/// How long after it was opened a page is kept up to date.
pub(crate) const REFRESH_WINDOW: TimeDelta = TimeDelta::hours(1);

/// A job that updates a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum PageJob {
    /// Update a person's home page; in a lane of its own.
    PublishHome { person: PersonId, platform: String, workspace: String },
}

impl Job for PageJob {
    const KINDS: &'static [&'static str] = &["publish_home"];
}

/// A home page that a person has opened.
#[derive(Debug, Deserialize)]
pub struct Home {
    #[serde(rename = "person_id")]
    pub person: PersonId,
    pub platform: String,
    pub workspace: String,
    #[serde(rename = "user_ref")]
    pub user: String,
}

/// Records that the person opened their page.
pub async fn record_opened(
    conn: &mut PgConnection,
    tenant: TenantId,
    home: &Home,
    now: Timestamp,
) -> sqlx::Result<()> {
    enqueue_publish(conn, tenant, home, now).await?;
    sql::record_opened(conn, tenant, home, now).await
}

/// Updates the pages of a person after a change. Called last in a transaction: their lanes are locked after all others.
pub async fn enqueue_refresh(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for home in sql::list_recently_opened(conn, tenant, person, now - REFRESH_WINDOW).await? {
        enqueue_publish(conn, tenant, &home, now).await?;
    }
    Ok(())
}

/// Enqueues the update: one job, however much changes before it begins.
pub(crate) async fn enqueue_publish(
    conn: &mut PgConnection,
    tenant: TenantId,
    home: &Home,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Home { person, platform, workspace, .. } = home;
    let work =
        PageJob::PublishHome { person: *person, platform: platform.clone(), workspace: workspace.clone() };
    jobs::enqueue_once(conn, tenant, lane(platform, workspace, *person), &work, now).await
}

pub fn lane(platform: &str, workspace: &str, person: PersonId) -> Uuid {
    named_lane_id(&["home", platform, workspace, &person.to_string()])
}
