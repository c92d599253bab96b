//! Catching up: what was said in a workspace while nothing of it reached Nod is read from the platform's
//! history and takes the same door, once each, whatever arrives twice.
//!
//! The job carries what is left to be read, so that a killed one goes on where it was.

mod sql;

use chrono::TimeDelta;

use crate::context::App;
use crate::inbox::{self, Reached};
use crate::work::CatchUpJob;
use nod_contract::chat::{ChatAdapter, ChatError};
use nod_contract::clock::Timestamp;
use nod_people::people::heard::lane;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How much earlier than known is looked: clocks differ, and a message takes its time.
const MARGIN: TimeDelta = TimeDelta::minutes(2);
/// What was said longer ago is not looked for.
const LONGEST: TimeDelta = TimeDelta::days(3);
/// A thread in which nobody spoke to Nod for so long is not followed that far.
const FOLLOWED: TimeDelta = TimeDelta::days(30);
/// Followed threads that are looked into, in each channel.
const MOST_THREADS: i64 = 30;

/// From now on what is said there reaches Nod by this part. What was said since it last did is to be looked up, in all
/// of the workspace: which part brings which channel is the platform's to know.
pub(crate) async fn hears(
    core: &App,
    platform: &str,
    workspace: &str,
    part: u32,
    anew: bool,
) -> sqlx::Result<()> {
    let (tenant, now) = (core.tenant, core.now());
    let row = row_of(workspace, part);
    let mut tx = core.begin().await?;
    if anew && let Some(until) = sql::heard_until(&mut tx, tenant, platform, &row).await? {
        let since = (until - MARGIN).max(now - LONGEST);
        let (platform, workspace) = (platform.to_owned(), workspace.to_owned());
        let lane = lane(&platform, &workspace);
        let work = CatchUpJob::CatchUp { platform, workspace, since, left: None, from: None };
        jobs::enqueue(&mut tx, tenant, lane, &work, now, now).await?;
    }
    sql::hear(&mut tx, tenant, platform, &row, now).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Each part has a row of its own: what one brings says nothing of what another missed. The first one has the name that
/// the row has where there is only one, so that more of them begin where that one ended.
fn row_of(workspace: &str, part: u32) -> String {
    if part == 0 { workspace.to_owned() } else { format!("{workspace}/{part}") }
}

/// Reads channel after channel and commits after each, and after each piece of a long one.
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
                let mut lines = sql::direct_lines(&mut conn, claim.tenant, platform, workspace).await?;
                lines.retain(|line| !all.iter().any(|(id, _)| id == line));
                all.into_iter().map(|(id, _)| id).chain(lines).collect()
            }
            // A scope that an older installation lacks: whoever runs Nod learns of it from the doctor.
            Err(ChatError::Rejected { code } | ChatError::ChannelClosed { code }) => {
                tracing::warn!(code, "nothing can be caught up with");
                Vec::new()
            }
            Err(error) => return later(core, claim, error).await,
        },
    };
    while let Some(channel) = left.last() {
        let read = channel_since(core, claim, adapter, workspace, channel, since, from.as_deref()).await;
        from = match read {
            Ok(next) => next,
            // Gone, or closed to us meanwhile: nothing of it was for us.
            Err(Failed::Chat(ChatError::ChannelClosed { code } | ChatError::Rejected { code })) => {
                tracing::info!(channel, code, "a channel could not be caught up with");
                None
            }
            Err(Failed::Chat(error)) => return later(core, claim, error).await,
            Err(Failed::Database(error)) => return Err(error.into()),
        };
        if from.is_none() {
            left.pop();
        }
        let work = CatchUpJob::CatchUp {
            platform: platform.to_owned(),
            workspace: workspace.to_owned(),
            since,
            left: Some(left.clone()),
            from: from.clone(),
        };
        let mut tx = core.begin().await?;
        jobs::assert_lease(&mut tx, claim).await?;
        jobs::update_payload(&mut tx, claim, &work).await?;
        tx.commit().await?;
    }
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}

enum Failed {
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
) -> Result<Option<String>, Failed> {
    let (tenant, platform) = (claim.tenant, adapter.platform());
    let mut conn = core.pool.acquire().await.map_err(Failed::Database)?;
    let spoken = core.now() - FOLLOWED;
    let threads = sql::threads(&mut conn, tenant, platform, workspace, channel, spoken, MOST_THREADS).await;
    drop(conn);
    let threads = threads.map_err(Failed::Database)?;
    let missed = adapter
        .list_missed_messages(workspace, channel, &threads, since, from)
        .await
        .map_err(Failed::Chat)?;
    let acted_on = core.now() - core.answers_within;
    for inbound in missed.messages {
        let late = inbound.at < acted_on;
        inbox::take_in(core, &inbound, Reached::LookedUp { late }).await.map_err(Failed::Database)?;
    }
    Ok(missed.cursor)
}

/// Goes on when the platform lets us, from what was committed last.
async fn later(core: &App, claim: &Claim, error: ChatError) -> Result<(), WorkError> {
    let ChatError::RateLimited { retry_after_secs: after_seconds } = error else { return Err(error.into()) };
    let until = core.now() + TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?)
}
