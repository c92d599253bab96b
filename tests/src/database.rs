//! A database per test, copied from a migrated template.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use nod_core::store::MIGRATOR;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};
use tokio::sync::OnceCell;

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A database of one test; dropped by [`TestDatabase::drop_it`].
pub struct TestDatabase {
    /// Its address, with whatever password the server's has.
    pub url: String,
    name: String,
}

fn server() -> PgConnectOptions {
    let url = std::env::var("NOD_TEST_DATABASE_URL").unwrap_or_else(|_| {
        panic!("NOD_TEST_DATABASE_URL is not set; ./scripts/test starts a Postgres and sets it")
    });
    PgConnectOptions::from_str(&url).unwrap_or_else(|e| panic!("NOD_TEST_DATABASE_URL: {e}"))
}

async fn admin() -> PgConnection {
    server().connect().await.unwrap_or_else(|e| panic!("the test server does not answer: {e}"))
}

async fn run(conn: &mut PgConnection, statement: String) {
    conn.execute(AssertSqlSafe(statement.clone())).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
}

async fn template() -> String {
    let name = format!("nod_template_{}", std::process::id());
    let mut conn = admin().await;
    run(&mut conn, format!("drop database if exists {name}")).await;
    run(&mut conn, format!("create database {name}")).await;
    let mut into = server().database(&name).connect().await.unwrap_or_else(|e| panic!("{e}"));
    MIGRATOR.run(&mut into).await.unwrap_or_else(|e| panic!("migrations: {e}"));
    into.close().await.unwrap_or_else(|e| panic!("{e}"));
    name
}

impl TestDatabase {
    /// An empty one with the newest schema.
    pub async fn new() -> Self {
        let template = TEMPLATE.get_or_init(template).await;
        let name = format!("nod_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut conn = admin().await;
        run(&mut conn, format!("drop database if exists {name} with (force)")).await;
        run(&mut conn, format!("create database {name} template {template}")).await;
        let url = server().database(&name).to_url_lossy().to_string();
        Self { url, name }
    }

    /// One without any schema.
    pub async fn bare() -> Self {
        let name = format!("nod_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut conn = admin().await;
        run(&mut conn, format!("drop database if exists {name} with (force)")).await;
        run(&mut conn, format!("create database {name}")).await;
        let url = server().database(&name).to_url_lossy().to_string();
        Self { url, name }
    }

    /// A pool on it.
    pub async fn pool(&self, connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(server().database(&self.name))
            .await
            .unwrap_or_else(|e| panic!("the test database does not answer: {e}"))
    }

    /// Away with it.
    pub async fn drop_it(self) {
        run(&mut admin().await, format!("drop database {} with (force)", self.name)).await;
    }
}
