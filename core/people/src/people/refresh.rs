//! Requests a new read of a workspace's people before the daily one, because a name might mean a person who joined
//! since. Owns how often: lists are long, and platforms limit who reads them. Reads none itself; a job does.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;
use tokio::time::{Instant, sleep};

use super::sql::{self, Reading};
use super::{directory, names, resolve_with_lists};
use crate::context::Chat;
use crate::work::PeopleJob;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::TenantId;
use nod_contract::tool::{Principal, ToolError};
use nod_store::jobs::{JobNotifier, sql as jobs};
use nod_store::store;

/// How old a list can be from which a name is resolved. No list is read more often, whoever requests it.
const FRESH: TimeDelta = TimeDelta::minutes(10);
/// How long a requested list is waited for. A list of thousands of people takes longer.
const PATIENCE: Duration = Duration::from_secs(8);
/// The pause between two checks whether it was read.
const PAUSE: Duration = Duration::from_millis(100);

/// Requests the lists of people.
pub struct Lists<'a> {
    pool: &'a PgPool,
    jobs: &'a JobNotifier,
    clock: &'a Arc<dyn Clock>,
    platforms: Vec<String>,
    tenant: TenantId,
}

impl<'a> Lists<'a> {
    pub fn new(core: &'a Chat, tenant: TenantId) -> Self {
        let platforms = core.adapters.platforms().map(str::to_owned).collect();
        Self { pool: &core.pool, jobs: &core.jobs, clock: &core.clock, platforms, tenant }
    }

    /// The same on connections that no job takes, for requests that cannot wait.
    pub fn at_the_door(core: &'a Chat) -> Self {
        Self { pool: &core.door, ..Self::new(core, core.tenant) }
    }

    /// Resolves a recipient as [`resolve_recipient`](super::resolve_recipient) does, with one read. Also returns whether the
    /// result is up to date: it does not depend on the lists, or all of them were read lately.
    pub async fn resolve_recipient(
        &self,
        platform: &str,
        workspace: &str,
        written: &str,
        me: &Principal,
    ) -> sqlx::Result<(Result<String, ToolError>, bool)> {
        let now = self.clock.now();
        let mut conn = self.pool.acquire().await?;
        let resolved =
            resolve_with_lists(&mut conn, self.tenant, platform, workspace, written, me, &self.platforms);
        let (found, lists) = resolved.await?;
        let is_old = |list: &Reading| list.is_stale(now) || list.is_being_read(now);
        Ok((found, !names::is_name(written) || !lists.iter().any(is_old)))
    }

    /// Requests those that are old, and waits a moment for them; returns false if one is still being read. No
    /// connection is held meanwhile.
    pub async fn refresh(&self) -> sqlx::Result<bool> {
        self.enqueue_stale_refreshes().await?;
        let begun = Instant::now();
        loop {
            let (now, lists) = (self.clock.now(), self.load().await?);
            let being_read = |list: &Reading| list.is_being_read(now);
            if !lists.iter().any(being_read) {
                return Ok(true);
            }
            // A list that was already waited for is not waited for again.
            if begun.elapsed() > PATIENCE || !lists.iter().any(|list| list.is_expected_soon(now)) {
                return Ok(false);
            }
            sleep(PAUSE).await;
        }
    }

    /// Requests those that are old, without waiting.
    pub async fn enqueue_stale_refreshes(&self) -> sqlx::Result<()> {
        let now = self.clock.now();
        let stale = now - FRESH;
        for list in self.load().await? {
            if !list.is_stale(now) {
                continue;
            }
            let Reading { platform, workspace, .. } = list;
            let work = PeopleJob::SyncDirectory { platform: platform.clone(), workspace: workspace.clone() };
            let lane = directory::lane(&platform, &workspace);
            let mut tx = store::begin(self.pool).await?;
            // The lane before the row, as the job that reads the list locks them.
            jobs::lock_lane(&mut tx, self.tenant, lane).await?;
            if sql::mark_directory_requested(&mut tx, self.tenant, &platform, &workspace, stale, now).await? {
                // The daily job waits in the lane, so it is moved forward and there is never more than one. A job that
                // was put off for some seconds, because the platform asked for that, is not moved.
                let moved = jobs::bring_forward(&mut tx, self.tenant, lane, now + FRESH, now).await?;
                if !moved && jobs::is_lane_idle(&mut tx, self.tenant, lane).await? {
                    jobs::enqueue(&mut tx, self.tenant, lane, &work, now, now).await?;
                }
            }
            tx.commit().await?;
            self.jobs.wake();
        }
        Ok(())
    }

    async fn load(&self) -> sqlx::Result<Vec<Reading>> {
        sql::readings(&mut *self.pool.acquire().await?, self.tenant, &self.platforms).await
    }
}

impl Reading {
    /// Returns whether it was neither read nor requested lately.
    fn is_stale(&self, now: Timestamp) -> bool {
        self.asked_at.max(self.synced_at).is_none_or(|at| at < now - FRESH)
    }

    /// Returns whether it was requested and is not read yet. A request older than `FRESH` no longer counts.
    fn is_being_read(&self, now: Timestamp) -> bool {
        self.asked_at
            .is_some_and(|asked| self.synced_at.is_none_or(|read| read < asked) && now - asked < FRESH)
    }

    fn is_expected_soon(&self, now: Timestamp) -> bool {
        let patience = TimeDelta::from_std(PATIENCE).unwrap_or_default();
        self.is_being_read(now) && self.asked_at.is_some_and(|asked| now - asked < patience)
    }
}
