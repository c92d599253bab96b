//! A database per test, copied from a migrated template.

use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use nod_bot::database::Embedded;
use nod_store::store::MIGRATOR;
use secrecy::ExposeSecret;
use sqlx::migrate::Migrate;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};
use tokio::sync::OnceCell;

static EMBEDDED_URL: OnceCell<String> = OnceCell::const_new();
static TEMPLATE_NAME: OnceCell<String> = OnceCell::const_new();
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// A database of one test; dropped by [`TestDatabase::drop_database`].
pub struct TestDatabase {
    /// Its URL, with the server's password if it has one.
    pub url: String,
    name: String,
}

/// Connects to the given server, or to the embedded default. Both pass the same tests.
async fn connect_options() -> PgConnectOptions {
    let url = match std::env::var("NOD_TEST_DATABASE_URL") {
        Ok(url) if !url.is_empty() => url,
        _ => EMBEDDED_URL.get_or_init(start_embedded).await.clone(),
    };
    PgConnectOptions::from_str(&url).unwrap_or_else(|e| panic!("the test server's address: {e}"))
}

/// Starts the server on a thread that outlives every test, because each test has its own runtime. It ends with this
/// process.
async fn start_embedded() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/embedded-test-database");
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.unwrap_or_else(|e| panic!("{e}")).block_on(async {
            let server = Embedded::start(&folder, 250).await.unwrap_or_else(|e| panic!("{e}"));
            let _ = tell.send(server.url().expose_secret().to_owned());
            std::future::pending::<()>().await;
        });
    });
    told.await.unwrap_or_else(|_| panic!("the embedded database did not start"))
}

async fn connect_admin() -> PgConnection {
    connect_options().await.connect().await.unwrap_or_else(|e| panic!("the test server does not answer: {e}"))
}

async fn execute(conn: &mut PgConnection, statement: String) {
    conn.execute(AssertSqlSafe(statement.clone())).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
}

async fn ensure_template() -> String {
    let name = format!("nod_template_{}", std::process::id());
    let mut conn = connect_admin().await;
    execute(&mut conn, format!("drop database if exists {name}")).await;
    execute(&mut conn, format!("create database {name}")).await;
    let mut into = connect_options().await.database(&name).connect().await.unwrap_or_else(|e| panic!("{e}"));
    MIGRATOR.run(&mut into).await.unwrap_or_else(|e| panic!("migrations: {e}"));
    into.close().await.unwrap_or_else(|e| panic!("{e}"));
    name
}

impl TestDatabase {
    /// Creates an empty database with the newest schema.
    pub async fn new() -> Self {
        let template = TEMPLATE_NAME.get_or_init(ensure_template).await;
        let name = format!("nod_test_{}_{}", std::process::id(), NEXT_NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut conn = connect_admin().await;
        execute(&mut conn, format!("drop database if exists {name} with (force)")).await;
        execute(&mut conn, format!("create database {name} template {template}")).await;
        let url = connect_options().await.database(&name).to_url_lossy().to_string();
        Self { url, name }
    }

    /// Creates a database without any schema.
    pub async fn without_schema() -> Self {
        let name = format!("nod_test_{}_{}", std::process::id(), NEXT_NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut conn = connect_admin().await;
        execute(&mut conn, format!("drop database if exists {name} with (force)")).await;
        execute(&mut conn, format!("create database {name}")).await;
        let url = connect_options().await.database(&name).to_url_lossy().to_string();
        Self { url, name }
    }

    /// Creates a database with the samples of the migrations (`tests/samples`), each inserted right after its migration, so
    /// that their rows have been through all later ones.
    pub async fn with_samples() -> Self {
        Self::with_samples_until(i64::MAX).await
    }

    /// Creates a database as [`with_samples`](Self::with_samples) does, of an earlier program, whose last migration this was.
    pub async fn with_samples_until(version: i64) -> Self {
        let database = Self::without_schema().await;
        let mut conn = connect_options()
            .await
            .database(&database.name)
            .connect()
            .await
            .unwrap_or_else(|e| panic!("the test database does not answer: {e}"));
        conn.ensure_migrations_table("_sqlx_migrations").await.unwrap_or_else(|e| panic!("{e}"));
        for migration in MIGRATOR.iter().filter(|migration| migration.version <= version) {
            conn.apply("_sqlx_migrations", migration)
                .await
                .unwrap_or_else(|e| panic!("{}: {e}", migration.version));
            let path = format!("{}/samples/{:04}.sql", env!("CARGO_MANIFEST_DIR"), migration.version);
            execute(&mut conn, std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")))
                .await;
        }
        conn.close().await.unwrap_or_else(|e| panic!("{e}"));
        database
    }

    /// Opens a pool on the database.
    pub async fn pool(&self, connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(connect_options().await.database(&self.name))
            .await
            .unwrap_or_else(|e| panic!("the test database does not answer: {e}"))
    }

    /// Drops the database.
    pub async fn drop_database(self) {
        execute(&mut connect_admin().await, format!("drop database {} with (force)", self.name)).await;
    }
}
