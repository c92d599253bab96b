//! Catching up: messages that a workspace's events did not bring are read from the platform's history. They pass
//! through the inbox as any other, which drops those that arrived already.
//!
//! What is still to be read is a row for each channel, so a job that was killed continues where it stopped.

mod order;
mod sql;

use chrono::TimeDelta;

use self::order::ToRead;
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
/// Nor are messages that a job which was held up this long finds: their keys are deleted after twice that time (`tidy`),
/// so they could pass for new ones.
const MAX_DELAY: TimeDelta = TimeDelta::days(7);
/// Followed threads in which no user addressed Nod for this long are not read.
const FOLLOWED: TimeDelta = TimeDelta::days(30);
/// Limit of followed threads that are read, in each channel.
const MAX_THREADS: i64 = 30;
/// How many of the channels that are left are held in memory.
const MAX_ROWS: i64 = 100;

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
        let work = CatchUpJob::CatchUp { platform, workspace, since, listed: false };
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

/// Lists the channels, then reads one after another and commits after each, and after each page of a long one.
pub(crate) async fn catch_up(
    core: &App,
    claim: &Claim,
    platform: &str,
    workspace: &str,
    since: Timestamp,
    listed: bool,
) -> Result<(), WorkError> {
    let adapter = core.adapters.get(platform).ok_or("no such platform here")?.as_ref();
    let reader = Reader { core, claim, adapter, workspace };
    if !listed {
        match reader.list_channels(since).await {
            Ok(()) => {}
            Err(CatchUpError::Chat(error)) => return reschedule_after_error(core, claim, error).await,
            Err(CatchUpError::Database(error)) => return Err(error.into()),
        }
    }
    loop {
        let mut conn = core.pool.acquire().await?;
        let left = sql::list_left(&mut conn, claim.tenant, platform, workspace, MAX_ROWS).await?;
        if left.is_empty() {
            return Ok(jobs::complete(&mut conn, claim).await?);
        }
        drop(conn);
        for channel in left {
            match reader.read_channel(channel).await {
                Ok(()) => {}
                Err(CatchUpError::Chat(error)) => return reschedule_after_error(core, claim, error).await,
                Err(CatchUpError::Database(error)) => return Err(error.into()),
            }
        }
    }
}

enum CatchUpError {
    Chat(ChatError),
    Database(sqlx::Error),
}

impl From<ChatError> for CatchUpError {
    fn from(error: ChatError) -> Self {
        Self::Chat(error)
    }
}

impl From<sqlx::Error> for CatchUpError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// What reads the channels of a workspace.
struct Reader<'a> {
    core: &'a App,
    claim: &'a Claim,
    adapter: &'a dyn ChatAdapter,
    workspace: &'a str,
}

impl Reader<'_> {
    /// Stores the channels that are to be read, and that they are known.
    async fn list_channels(&self, since: Timestamp) -> Result<(), CatchUpError> {
        let Self { core, claim, workspace, .. } = *self;
        let (tenant, platform) = (claim.tenant, self.adapter.platform());
        let mut conn = core.pool.acquire().await?;
        // A job that was given up has left what it did not read.
        let unread = sql::load_earliest_left(&mut conn, tenant, platform, workspace).await?;
        drop(conn);
        let since = unread.map_or(since, |unread| since.min(unread.max(core.now() - MAX_LOOKBACK)));
        let listed = match self.adapter.list_channels_since(workspace, since).await {
            Ok(listed) => listed,
            // An older installation lacks a scope; `nod doctor` reports it to the administrator. Nothing can be read.
            Err(ChatError::Rejected { code } | ChatError::ChannelClosed { code }) => {
                tracing::warn!(code, "could not list channels for catch-up; skipping");
                return self.store_channels(since, &[]).await;
            }
            Err(error) => return Err(error.into()),
        };
        let refs: Vec<String> = listed.iter().map(|channel| channel.channel.clone()).collect();
        let mut conn = core.pool.acquire().await?;
        let known = sql::list_known_channels(&mut conn, tenant, platform, workspace, &refs).await?;
        drop(conn);
        self.store_channels(since, &order::in_order(listed, known)).await
    }

    async fn store_channels(&self, since: Timestamp, channels: &[ToRead]) -> Result<(), CatchUpError> {
        let (tenant, platform) = (self.claim.tenant, self.adapter.platform());
        let work = CatchUpJob::CatchUp {
            platform: platform.to_owned(),
            workspace: self.workspace.to_owned(),
            since,
            listed: true,
        };
        let mut tx = self.core.begin().await?;
        jobs::assert_lease(&mut tx, self.claim).await?;
        sql::replace_left(&mut tx, tenant, platform, self.workspace, since, channels).await?;
        jobs::update_payload(&mut tx, self.claim, &work).await?;
        Ok(tx.commit().await?)
    }

    /// Reads one channel to its end.
    async fn read_channel(&self, mut channel: sql::ChannelLeft) -> Result<(), CatchUpError> {
        let (tenant, platform) = (self.claim.tenant, self.adapter.platform());
        loop {
            channel.cursor = match self.read_batch(&channel).await {
                Ok(next) => next,
                // The channel was deleted or closed to Nod meanwhile, so nothing in it was for Nod.
                Err(CatchUpError::Chat(ChatError::ChannelClosed { code } | ChatError::Rejected { code })) => {
                    tracing::info!(
                        channel = channel.channel_ref,
                        code,
                        "could not catch up on a channel; skipping"
                    );
                    None
                }
                Err(error) => return Err(error),
            };
            let mut tx = self.core.begin().await?;
            jobs::assert_lease(&mut tx, self.claim).await?;
            match &channel.cursor {
                Some(cursor) => {
                    sql::update_cursor(&mut tx, tenant, platform, self.workspace, channel.place, cursor)
                        .await?;
                }
                None => sql::delete_left(&mut tx, tenant, platform, self.workspace, channel.place).await?,
            }
            tx.commit().await?;
            if channel.cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads a channel on from its cursor, and returns the next one.
    async fn read_batch(&self, channel: &sql::ChannelLeft) -> Result<Option<String>, CatchUpError> {
        let Self { core, workspace, .. } = *self;
        let (tenant, platform) = (self.claim.tenant, self.adapter.platform());
        let mut conn = core.pool.acquire().await?;
        let addressed = core.now() - FOLLOWED;
        let mut threads = sql::list_followed_threads(
            &mut conn,
            tenant,
            platform,
            workspace,
            &channel.channel_ref,
            addressed,
            MAX_THREADS,
        )
        .await?;
        drop(conn);
        threads.extend(channel.threads.iter().cloned());
        let cursor = channel.cursor.as_deref();
        let since = channel.since.max(core.now() - MAX_DELAY);
        let missed = self
            .adapter
            .list_missed_messages(workspace, &channel.channel_ref, &threads, since, cursor)
            .await?;
        let acted_on = core.now() - core.answers_within;
        for inbound in missed.messages {
            let late = inbound.at < acted_on;
            inbox::ingest(core, &inbound, Reached::LookedUp { late }).await?;
        }
        Ok(missed.cursor)
    }
}

/// Reschedules the job for when the rate limit ends; it continues from the last commit.
async fn reschedule_after_error(core: &App, claim: &Claim, error: ChatError) -> Result<(), WorkError> {
    let ChatError::RateLimited { retry_after_secs: after_seconds } = error else { return Err(error.into()) };
    let until = core.now() + TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?)
}
