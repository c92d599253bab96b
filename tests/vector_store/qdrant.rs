//! Qdrant under test: on the fake, or on a live server.

use std::time::Duration;

use async_trait::async_trait;
use nod_contract::ids::TenantId;
use nod_contract::vector_store::{Point, Space, VectorStore, VectorStoreError};
use nod_qdrant::QdrantStore;
use nod_sandbox::qdrant::{Qdrant, QdrantConfig};
use secrecy::SecretString;
use uuid::Uuid;

use crate::contract::StoreUnderTest;

pub const KEY: &str = "qd-Zm9vYmFy";
const TIMEOUT: Duration = Duration::from_secs(20);

pub struct FakeQdrant {
    pub fake: Qdrant,
    pub store: QdrantStore,
}

impl FakeQdrant {
    pub async fn start() -> Self {
        let fake = Qdrant::start(QdrantConfig { api_key: Some(KEY.to_owned()) }).await.unwrap();
        let store = open(&fake.url(), Some(KEY), TIMEOUT);
        Self { fake, store }
    }

    /// Asserts that nothing was asked of the fake that no story may ask for, and that all faults happened.
    pub fn finish(&self) {
        assert_eq!(self.fake.violations(), Vec::<String>::new());
        assert_eq!(self.fake.faults().unused(), Vec::<String>::new());
    }
}

pub fn open(url: &str, key: Option<&str>, timeout: Duration) -> QdrantStore {
    QdrantStore::new(&url.parse().unwrap(), key.map(SecretString::from), timeout).unwrap()
}

/// Connects to the live server, if one is named.
pub fn open_live() -> Option<QdrantStore> {
    let Ok(url) = std::env::var("NOD_QDRANT__URL") else {
        println!("skipped: live Qdrant (NOD_QDRANT__URL is not set)");
        return None;
    };
    let key = std::env::var("NOD_QDRANT__API_KEY").ok();
    Some(open(&url, key.as_deref(), TIMEOUT))
}

#[async_trait]
impl StoreUnderTest for QdrantStore {
    fn store(&self) -> &dyn VectorStore {
        self
    }

    async fn publish(
        &self,
        space: &Space,
        tenant: TenantId,
        points: &[Point],
    ) -> Result<(), VectorStoreError> {
        self.upsert(space, tenant, points).await
    }

    async fn withdraw(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError> {
        self.delete(space, tenant, document, except).await
    }
}

#[async_trait]
impl StoreUnderTest for FakeQdrant {
    fn store(&self) -> &dyn VectorStore {
        &self.store
    }

    async fn publish(
        &self,
        space: &Space,
        tenant: TenantId,
        points: &[Point],
    ) -> Result<(), VectorStoreError> {
        self.store.publish(space, tenant, points).await
    }

    async fn withdraw(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError> {
        self.store.withdraw(space, tenant, document, except).await
    }
}
