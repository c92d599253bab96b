//! Catching up: messages that a workspace's events did not bring are read from the platform's history. They pass
//! through the inbox as any other, which drops those that arrived already.
//!
//! The job's payload holds what is still to be read, so a job that was killed continues where it stopped.

mod sql;

use chrono::TimeDelta;

use crate::context::App;
use crate::inbox::{self, Reached};
use crate::work::CatchUpJob;
use nod_contract::chat::{ChatAdapter, ChatError};
use nod_contract::clock::Timestamp;
use nod_people::people::heard::lane;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How far before the watermark to start: clocks differ, and messages take time to arrive.
const MARGIN: TimeDelta = TimeDelta::minutes(2);
/// Older messages are not looked up.
const MAX_LOOKBACK: TimeDelta = TimeDelta::days(3);
/// Followed threads in which no user addressed Nod for this long are not read.
const FOLLOWED: TimeDelta = TimeDelta::days(30);
/// Limit of followed threads that are read, in each channel.
const MAX_THREADS: i64 = 30;

/// Advances the ingest watermark of a part. With `anew`, enqueues the lookup of what was missed since the old
/// watermark. The lookup covers the whole workspace, because only the platform knows which part brings which channel.
pub(crate) async fn record_ingest(
    core: &App,
    platform: &str,
    workspace: &str,
    part: u32,
    anew: bool,
) -> sqlx::Result<()> {
    let (tenant, now) = (core.tenant, core.now());
    let row = watermark_name(workspace, part);
    let mut tx = core.begin().await?;
    if anew && let Some(until) = sql::load_watermark(&mut tx, tenant, platform, &row).await? {
        let since = (until - MARGIN).max(now - MAX_LOOKBACK);
        let (platform, workspace) = (platform.to_owned(), workspace.to_owned());
        let lane = lane(&platform, &workspace);
        let work = CatchUpJob::CatchUp { platform, workspace, since, channels_left: None, cursor: None };
        jobs::enqueue(&mut tx, tenant, lane, &work, now, now).await?;
    }
    sql::advance_watermark(&mut tx, tenant, platform, &row, now).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Each part has its own row, because the events of one say nothing about what another missed. The first part's row has
/// the name that a single part uses, so a change from one part to several continues from its watermark.
fn watermark_name(workspace: &str, part: u32) -> String {
    if part == 0 { workspace.to_owned() } else { format!("{workspace}/{part}") }
}

/// Reads one channel after another and commits after each, and after each page of a long one.
pub(crate) async fn catch_up(
    core: &App,
    claim: &Claim,
    platform: &str,
    workspace: &str,
    since: Timestamp,
    left: Option<&[String]>,
    mut from: Option<String>,
) -> Result<(), WorkError> {
    let adapter = core.adapters.get(platform).ok_or("no such platform here")?.as_ref();
    let mut left = match left {
        Some(left) => left.to_vec(),
        None => match adapter.list_channels(workspace).await {
            Ok(all) => {
                let mut conn = core.pool.acquire().await?;
                let mut lines = sql::list_dm_channels(&mut conn, claim.tenant, platform, workspace).await?;
                lines.retain(|line| !all.iter().any(|(id, _)| id == line));
                all.into_iter().map(|(id, _)| id).chain(lines).collect()
            }
            // An older installation lacks a scope; `nod doctor` reports it to the administrator.
            Err(ChatError::Rejected { code } | ChatError::ChannelClosed { code }) => {
                tracing::warn!(code, "could not list channels for catch-up; skipping");
                Vec::new()
            }
            Err(error) => return reschedule_after_error(core, claim, error).await,
        },
    };
    while let Some(channel) = left.last() {
        let read = channel_since(core, claim, adapter, workspace, channel, since, from.as_deref()).await;
        from = match read {
            Ok(next) => next,
            // The channel was deleted or closed to Nod meanwhile, so nothing in it was for Nod.
            Err(CatchUpError::Chat(ChatError::ChannelClosed { code } | ChatError::Rejected { code })) => {
                tracing::info!(channel, code, "could not catch up on a channel; skipping");
                None
            }
            Err(CatchUpError::Chat(error)) => return reschedule_after_error(core, claim, error).await,
            Err(CatchUpError::Database(error)) => return Err(error.into()),
        };
        if from.is_none() {
            left.pop();
        }
        let work = CatchUpJob::CatchUp {
            platform: platform.to_owned(),
            workspace: workspace.to_owned(),
            since,
            channels_left: Some(left.clone()),
            cursor: from.clone(),
        };
        let mut tx = core.begin().await?;
        jobs::assert_lease(&mut tx, claim).await?;
        jobs::update_payload(&mut tx, claim, &work).await?;
        tx.commit().await?;
    }
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}

enum CatchUpError {
    Chat(ChatError),
    Database(sqlx::Error),
}

async fn channel_since(
    core: &App,
    claim: &Claim,
    adapter: &dyn ChatAdapter,
    workspace: &str,
    channel: &str,
    since: Timestamp,
    from: Option<&str>,
) -> Result<Option<String>, CatchUpError> {
    let (tenant, platform) = (claim.tenant, adapter.platform());
    let mut conn = core.pool.acquire().await.map_err(CatchUpError::Database)?;
    let spoken = core.now() - FOLLOWED;
    let threads =
        sql::list_followed_threads(&mut conn, tenant, platform, workspace, channel, spoken, MAX_THREADS)
            .await;
    drop(conn);
    let threads = threads.map_err(CatchUpError::Database)?;
    let missed = adapter
        .list_missed_messages(workspace, channel, &threads, since, from)
        .await
        .map_err(CatchUpError::Chat)?;
    let acted_on = core.now() - core.answers_within;
    for inbound in missed.messages {
        let late = inbound.at < acted_on;
        inbox::ingest(core, &inbound, Reached::LookedUp { late }).await.map_err(CatchUpError::Database)?;
    }
    Ok(missed.cursor)
}

/// Reschedules the job for when the rate limit ends; it continues from the last commit.
async fn reschedule_after_error(core: &App, claim: &Claim, error: ChatError) -> Result<(), WorkError> {
    let ChatError::RateLimited { retry_after_secs: after_seconds } = error else { return Err(error.into()) };
    let until = core.now() + TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?)
}
