//! The store in memory under test. Its points are rows, written as the product writes them, in a database for each story.

use std::collections::BTreeMap;

use async_trait::async_trait;
use nod_contract::ids::TenantId;
use nod_contract::vector_store::{Point, Reader, Space, VectorStore, VectorStoreError};
use nod_knowledge::memory_store::MemoryStore;
use nod_tests::TestDatabase;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::contract::StoreUnderTest;

pub struct Memory {
    database: TestDatabase,
    pool: PgPool,
    store: MemoryStore,
}

impl Memory {
    pub async fn start() -> Self {
        let database = TestDatabase::new().await;
        let pool = database.pool(3).await;
        let store = MemoryStore::new(pool.clone());
        Self { database, pool, store }
    }

    pub async fn finish(self) {
        self.pool.close().await;
        self.database.drop_database().await;
    }
}

#[async_trait]
impl StoreUnderTest for Memory {
    fn store(&self) -> &dyn VectorStore {
        &self.store
    }

    /// A byte for each number of a vector, a thousandth for each weight.
    fn tolerance(&self) -> f32 {
        0.03
    }

    async fn publish(
        &self,
        space: &Space,
        tenant: TenantId,
        points: &[Point],
    ) -> Result<(), VectorStoreError> {
        self.store.upsert(space, tenant, points).await?;
        let mut tx = nod_store::store::begin(&self.pool).await.unwrap();
        let mut documents: BTreeMap<Uuid, Vec<&Point>> = BTreeMap::new();
        points.iter().for_each(|point| documents.entry(point.document).or_default().push(point));
        for points in documents.values() {
            upsert_document(&mut tx, tenant, points[0]).await;
            for point in points {
                upsert_chunk(&mut tx, space, tenant, point).await;
            }
        }
        increment_revision(&mut tx, tenant).await;
        tx.commit().await.unwrap();
        Ok(())
    }

    async fn withdraw(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError> {
        let mut tx = nod_store::store::begin(&self.pool).await.unwrap();
        sqlx::query(
            "delete from documents where tenant_id = $1 and id = $2 and generation is distinct from $3",
        )
        .bind(tenant.0)
        .bind(document)
        .bind(except)
        .execute(&mut *tx)
        .await
        .unwrap();
        increment_revision(&mut tx, tenant).await;
        tx.commit().await.unwrap();
        self.store.delete(space, tenant, document, except).await
    }
}

async fn upsert_document(conn: &mut PgConnection, tenant: TenantId, point: &Point) {
    let tenant_row = "insert into tenants values ($1, 'acme', now()) on conflict do nothing";
    sqlx::query(tenant_row).bind(tenant.0).execute(&mut *conn).await.unwrap();
    let (channel, person) = match point.reader {
        Reader::Everyone => (None, None),
        Reader::Channel(channel) => (Some(channel.0), None),
        Reader::Person(person) => (None, Some(person.0)),
    };
    for statement in [
        "insert into channels (tenant_id, id, platform, workspace, channel_ref, is_dm, created_at)
         select $1, $2, 'slack', 'T0ACME', $2::text, false, now() where $2 is not null on conflict do nothing",
        "insert into people (tenant_id, id, name, full_name, membership, created_at)
         select $1, $3, 'Ana', 'Ana Silva', 'member', now() where $2::uuid is null and $3 is not null
         on conflict do nothing",
        "insert into documents (tenant_id, id, title, channel_id, only_for, platform, url, media_type, generation,
             wanted_generation, status, created_at, updated_at, published_at)
         values ($1, $4, 'handbook.md', $2, $3, 'slack', '', 'text/markdown', $5, $5, 'indexed', now(), now(), now())
         on conflict (tenant_id, id) do update set generation = $5, wanted_generation = $5,
             channel_id = $2, only_for = $3",
        "delete from document_chunks where tenant_id = $1 and document_id = $4 and generation <> $5",
    ] {
        // Each has its own of these parameters, so they are written out.
        let statement = statement
            .replace("$1", &literal(Some(tenant.0)))
            .replace("$2", &literal(channel))
            .replace("$3", &literal(person))
            .replace("$4", &literal(Some(point.document)))
            .replace("$5", &point.generation.to_string());
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut *conn).await.unwrap();
    }
}

fn literal(id: Option<Uuid>) -> String {
    id.map_or_else(|| "null::uuid".to_owned(), |id| format!("'{id}'::uuid"))
}

async fn upsert_chunk(conn: &mut PgConnection, space: &Space, tenant: TenantId, point: &Point) {
    let (terms, weights): (Vec<i32>, Vec<i16>) =
        point.terms.iter().map(|(term, weight)| (term.cast_signed(), (weight * 1_000.0) as i16)).unzip();
    sqlx::query(
        "insert into document_chunks (tenant_id, id, document_id, generation, position, heading, text, terms, weights)
         select $1, $2, $3, $4, count(*), '', '', $5, $6 from document_chunks
         where tenant_id = $1 and document_id = $3
         on conflict (tenant_id, id) do update set generation = $4, terms = $5, weights = $6",
    )
    .bind(tenant.0)
    .bind(point.id)
    .bind(point.document)
    .bind(point.generation)
    .bind(terms)
    .bind(weights)
    .execute(&mut *conn)
    .await
    .unwrap();
    let Some(model) = space.model.as_ref().filter(|_| !point.windows.is_empty()) else { return };
    let scale = |window: &Vec<f32>| window.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
    let scales: Vec<f32> = point.windows.iter().map(scale).collect();
    let code = |(window, scale): (&Vec<f32>, &f32)| {
        window.iter().map(|x| ((x / scale).round() as i8).cast_unsigned()).collect::<Vec<u8>>()
    };
    let codes: Vec<u8> = point.windows.iter().zip(&scales).flat_map(code).collect();
    sqlx::query("insert into chunk_vectors values ($1, $2, $3, $4, $5) on conflict do nothing")
        .bind(tenant.0)
        .bind(point.id)
        .bind(model)
        .bind(codes)
        .bind(scales)
        .execute(conn)
        .await
        .unwrap();
}

async fn increment_revision(conn: &mut PgConnection, tenant: TenantId) {
    let statement = "insert into knowledge_revisions select id, 1 from tenants where id = $1
         on conflict (tenant_id) do update set revision = knowledge_revisions.revision + 1";
    sqlx::query(statement).bind(tenant.0).execute(conn).await.unwrap();
}
