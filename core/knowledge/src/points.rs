//! What the store of vectors is told of documents: the points of a version before it can be found, and what is gone after
//! that. Rows are the truth: points are made from them, and compared with them by a job.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{TenantId, named_lane_id};
use nod_contract::vector_store::{PointGroup, Space, VectorStore, VectorStoreError};
use nod_people::context::Chat;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use sqlx::{PgConnection, PgPool};
use tokio::time::Instant;
use uuid::Uuid;

use crate::document::Status;
use crate::job::{KnowledgeJob, complete};
use crate::sql::{self, VersionRow};

/// How many points are loaded and put at once.
const BATCH: i64 = 64;
/// When points are swept once more: a worker that lost its lease may still have put some.
const SWEEP_AGAIN: TimeDelta = TimeDelta::hours(1);
/// How long one job compares, so that it can be stopped.
const SLICE: Duration = Duration::from_secs(5);

/// The points of this replica's embedding model.
#[derive(Clone)]
pub(crate) struct Points {
    pub(crate) store: Arc<dyn VectorStore>,
    model: Option<String>,
    /// How many numbers the model's vectors have, once there are any: that never changes while this process runs, because
    /// the jobs refuse vectors of another dimension.
    dimensions: Arc<Mutex<HashMap<TenantId, usize>>>,
}

impl Points {
    pub(crate) fn new(store: Arc<dyn VectorStore>, model: Option<&str>) -> Self {
        Self { store, model: model.map(str::to_owned), dimensions: Arc::default() }
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the space of the model, or `None` as long as it has no vectors: nobody knows then how long they are.
    pub(crate) async fn find_space(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
    ) -> sqlx::Result<Option<Space>> {
        let Some(model) = &self.model else { return Ok(Some(Space { model: None, dimension: 0 })) };
        let known = self.lock().get(&tenant).copied();
        let dimension = match known {
            Some(dimension) => Some(dimension),
            None => {
                let found = sql::find_dimension(conn, tenant, model).await?;
                let found = found.and_then(|dimension| usize::try_from(dimension).ok());
                found.inspect(|dimension| _ = self.lock().insert(tenant, *dimension))
            }
        };
        Ok(dimension.map(|dimension| Space { model: Some(model.clone()), dimension }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        self.dimensions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the points of a version, with the vectors that there are. Put again, they take their own place. No connection
    /// is held while the store is asked.
    ///
    /// # Errors
    /// If the database or the store does not answer, or the store refuses.
    pub(crate) async fn put_version(
        &self,
        pool: &PgPool,
        tenant: TenantId,
        document: Uuid,
        generation: i32,
    ) -> Result<(), PointsError> {
        if !self.store.keeps_points() {
            return Ok(());
        }
        let mut from = 0;
        loop {
            let mut conn = pool.acquire().await?;
            // Without a vector there is no space yet; the job that compares puts them when there is.
            let Some(space) = self.find_space(&mut conn, tenant).await? else { return Ok(()) };
            let model = space.model.as_deref();
            let version = (document, generation);
            let rows = sql::list_points(&mut conn, tenant, version, model, from, BATCH).await?;
            drop(conn);
            let Some(last) = rows.last() else { return Ok(()) };
            from = last.position + 1;
            let points: Vec<_> = rows.into_iter().map(|row| row.into_point(space.dimension)).collect();
            self.store.upsert(&space, tenant, &points).await?;
        }
    }

    /// Has the points swept that are not of a document's current version: now, and once more later.
    pub(crate) async fn enqueue_sweep(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        document: Uuid,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if !self.store.keeps_points() {
            return Ok(());
        }
        // Once its rows are gone, they might not tell any more. Without a vector there is no space yet, but those of earlier
        // models.
        let space = self.find_space(conn, tenant).await?;
        let Space { model, dimension } =
            space.unwrap_or_else(|| Space { model: self.model.clone(), dimension: 0 });
        let work = KnowledgeJob::SweepPoints { document, model, dimension };
        // In a lane of their own, those of an hour later do not keep the others waiting.
        for (lane, at) in [("sweep", now), ("sweep again", now + SWEEP_AGAIN)] {
            let lane = named_lane_id(&["knowledge", lane, &tenant.to_string()]);
            jobs::enqueue(conn, tenant, lane, &work, at, now).await?;
        }
        Ok(())
    }

    /// Deletes the points of earlier models, once the rows have no vectors of these any more.
    pub(crate) async fn delete_earlier(&self, pool: &PgPool, tenant: TenantId) -> Result<(), PointsError> {
        if !self.store.keeps_points() {
            return Ok(());
        }
        let mut conn = pool.acquire().await?;
        let space = self.find_space(&mut conn, tenant).await?;
        drop(conn);
        match space {
            Some(space) => Ok(self.store.delete_elsewhere(&space, tenant, None).await?),
            None => Ok(()),
        }
    }

    /// Has the points compared with the rows.
    pub(crate) async fn enqueue_reconcile(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if !self.store.keeps_points() {
            return Ok(());
        }
        let lane = named_lane_id(&["knowledge", "reconcile", &tenant.to_string()]);
        jobs::enqueue_once(conn, tenant, lane, &KnowledgeJob::ReconcilePoints {}, now).await
    }

    /// Sweeps the points of a document. Rows tell which version is kept now.
    pub(crate) async fn sweep(
        &self,
        core: &Chat,
        claim: &Claim,
        document: Uuid,
        space: &Space,
    ) -> Result<(), WorkError> {
        let tenant = claim.tenant;
        let mut conn = core.pool.acquire().await?;
        let row = sql::load(&mut conn, tenant, document).await?;
        drop(conn);
        match row {
            // The next version may be put at this moment; when it is there, or has failed, they are swept again.
            Some(row) if row.status == Status::Indexing => {}
            Some(row) => self.store.delete(space, tenant, document, Some(row.generation)).await?,
            None => {
                self.store.delete(space, tenant, document, None).await?;
                self.store.delete_elsewhere(space, tenant, Some(document)).await?;
            }
        }
        complete(core, claim).await
    }

    /// Makes the points those that the rows ask for: deletes what is too much, and puts what is missing or belongs to
    /// somebody else now. A space that is new, or was lost, is filled like that, without the model.
    pub(crate) async fn reconcile(&self, core: &Chat, claim: &Claim) -> Result<(), WorkError> {
        let (tenant, until) = (claim.tenant, Instant::now() + SLICE);
        let mut conn = core.pool.acquire().await?;
        let space = self.find_space(&mut conn, tenant).await?;
        let rows = sql::list_versions(&mut conn, tenant, self.model.as_deref()).await?;
        drop(conn);
        let Some(space) = space.filter(|_| self.store.keeps_points()) else {
            return complete(core, claim).await;
        };
        let mut listed: HashMap<Uuid, BTreeMap<PointGroup, u64>> = HashMap::new();
        for (group, count) in self.store.list_groups(&space, tenant).await? {
            listed.entry(group.document).or_default().insert(group, count);
        }
        for row in rows {
            let there = listed.remove(&row.document).unwrap_or_default();
            self.reconcile_version(core, tenant, &space, &row, there).await?;
            if Instant::now() >= until {
                let mut tx = core.begin().await?;
                jobs::assert_lease(&mut tx, claim).await?;
                self.enqueue_reconcile(&mut tx, tenant, core.now()).await?;
                jobs::complete(&mut tx, claim).await?;
                tx.commit().await?;
                core.jobs.wake();
                return Ok(());
            }
        }
        for document in listed.into_keys() {
            self.store.delete(&space, tenant, document, None).await?;
        }
        complete(core, claim).await
    }

    async fn reconcile_version(
        &self,
        core: &Chat,
        tenant: TenantId,
        space: &Space,
        row: &VersionRow,
        mut there: BTreeMap<PointGroup, u64>,
    ) -> Result<(), WorkError> {
        // What is being put at this moment is no version yet, and is not touched.
        let is_stray = there.keys().any(|group| group.generation != row.generation);
        if is_stray && row.status != Status::Indexing {
            let except = Some(row.generation).filter(|generation| *generation > 0);
            self.store.delete(space, tenant, row.document, except).await?;
        }
        there.retain(|group, _| group.generation == row.generation);
        if row.generation > 0 && there != row.groups() {
            self.put_version(&core.pool, tenant, row.document, row.generation).await?;
        }
        Ok(())
    }
}

/// Why points were not put.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PointsError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] VectorStoreError),
}
