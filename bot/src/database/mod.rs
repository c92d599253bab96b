//! The database: an operator's own Postgres, or one that Nod runs by itself. Owns the pool and its settings, and
//! applies the migrations. Knows no table.

mod clock;
mod embedded;

use std::time::Duration;

use nod_store::store::MIGRATOR;
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use crate::config::Config;

pub use clock::DatabaseClock;
pub(crate) use clock::{Offset, offset};
pub use embedded::{Embedded, EmbeddedError};

/// The oldest Postgres that the migrations are tested on.
pub const MIN_MAJOR_VERSION: u32 = 14;

/// No statement of Nod takes long; one that does waits for a lock or lacks an index.
const STATEMENT_TIMEOUT: &str = "30s";
/// A transaction holds nothing but SQL between begin and commit.
const IDLE_TRANSACTION_TIMEOUT: &str = "60s";
/// How long a connection can be idle before it is tested.
const PING_AFTER_IDLE: Duration = Duration::from_secs(3);

/// An open database.
#[derive(Debug)]
pub struct Database {
    /// Connections for everything except LISTEN.
    pub pool: PgPool,
    /// For a listener's own connection. It contains the password.
    pub url: SecretString,
    server: Option<Embedded>,
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The embedded one did not start.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// The configured one does not answer. sqlx's errors name hosts and users, never passwords.
    #[error("the database at database.url doesn't answer: {0}")]
    Server(sqlx::Error),
    /// The embedded one started but does not answer.
    #[error("the embedded database doesn't answer: {0}")]
    Lost(sqlx::Error),
}

impl Database {
    /// Connects to `database.url`; if it is not set, starts the embedded server.
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        let max = config.database.max_connections;
        if let Some(url) = &config.database.url {
            let pool = connect(url, max).await.map_err(OpenError::Server)?;
            return Ok(Self { pool, url: url.clone(), server: None });
        }
        let server = Embedded::start(&config.data.dir, max).await?;
        let url = server.url();
        match connect(&url, max).await {
            Ok(pool) => Ok(Self { pool, url, server: Some(server) }),
            Err(error) => {
                server.stop().await;
                Err(OpenError::Lost(error))
            }
        }
    }

    /// Like [`Database::open`], but if another `nod` runs the embedded server, connects to it: for commands that read
    /// or migrate while `nod run` is up.
    ///
    /// # Errors
    /// If there is nothing to start or to connect to, or it does not answer.
    pub async fn open_or_join(config: &Config) -> Result<Self, OpenError> {
        match Self::open(config).await {
            Err(OpenError::Embedded(EmbeddedError::InUse { .. })) => {
                let url = embedded::running_url(&config.data.dir)?;
                let pool = connect(&url, 2).await.map_err(OpenError::Lost)?;
                Ok(Self { pool, url, server: None })
            }
            opened => opened,
        }
    }

    /// Closes the pool, then stops the embedded server if this process started it.
    pub async fn close(self) {
        self.pool.close().await;
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

async fn connect(url: &SecretString, max_connections: u32) -> Result<PgPool, sqlx::Error> {
    let options: PgConnectOptions = url.expose_secret().parse()?;
    let options = options.application_name("nod").options([
        // Planning most statements costs more than running them, and their plans do not depend on the values.
        ("plan_cache_mode", "force_generic_plan"),
        // For disks without a seek.
        ("random_page_cost", "1.1"),
        // A table of jobs is mostly dead rows: it looks small enough to be read whole, and is not. A plan that does so stays.
        ("enable_seqscan", "off"),
        // What this makes dear on paper is not worth a compilation.
        ("jit", "off"),
        ("statement_timeout", STATEMENT_TIMEOUT),
        ("idle_in_transaction_session_timeout", IDLE_TRANSACTION_TIMEOUT),
    ]);
    pool_options(max_connections).connect_with(options).await
}

/// Creates a pool of two connections in addition to `pool`, for work that must not wait for it.
#[must_use]
pub fn ingest_pool(pool: &PgPool) -> PgPool {
    pool_options(2).connect_lazy_with(PgConnectOptions::clone(&pool.connect_options()))
}

fn pool_options(max_connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(Duration::from_secs(10))
        // A round trip before every use is too expensive; one after an idle time detects the connections that a
        // restarted server left behind.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > PING_AFTER_IDLE {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

/// Brings the schema up to date. Safe to run from several processes at once: the migrator locks.
///
/// # Errors
/// If a migration fails or the database does not answer.
pub async fn migrate(pool: &PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    // A separate connection, because a long migration must outlast the statement timeout.
    let mut connection: PgConnection = pool.acquire().await?.detach();
    sqlx::query("SET statement_timeout = 0").execute(&mut connection).await?;
    let done = MIGRATOR.run_direct(None, &mut connection, false).await;
    connection.close().await?;
    done
}

/// What `nod doctor` reports about the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseInfo {
    /// The server's major version.
    pub major: u32,
    /// The newest migration that was applied, if any was.
    pub newest: Option<i64>,
    /// Migrations that this program has and the database lacks.
    pub pending: Vec<i64>,
}

/// Reads the server's version and schema; changes nothing.
///
/// # Errors
/// If the database does not answer.
pub async fn load_info(pool: &PgPool) -> Result<DatabaseInfo, sqlx::Error> {
    let number: i32 =
        sqlx::query_scalar("SELECT current_setting('server_version_num')::int").fetch_one(pool).await?;
    let table: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(pool).await?;
    let applied: Vec<i64> = if table {
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(pool).await?
    } else {
        Vec::new()
    };
    let ours = MIGRATOR.iter().filter(|m| !m.migration_type.is_down_migration());
    let pending = ours.map(|m| m.version).filter(|v| !applied.contains(v)).collect();
    let major = u32::try_from(number / 10_000).unwrap_or_default();
    Ok(DatabaseInfo { major, newest: applied.into_iter().max(), pending })
}
