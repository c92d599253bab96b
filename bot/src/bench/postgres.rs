//! A Postgres of the measurement's own, which counts statements.

use std::path::Path;

use anyhow::Context;
use secrecy::ExposeSecret;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use super::counters::length;
use crate::database::Embedded;

/// Room for the connections of one Nod and those of the measurement.
const CONNECTIONS: u32 = 60;

pub(super) struct Server {
    embedded: Embedded,
    /// For what is asked of the server itself.
    pool: PgPool,
    /// Whether statements are counted.
    pub counts_statements: bool,
}

impl Server {
    /// Starts it in this folder. Every commit is flushed, as it is for everybody. Checkpoints are rare, and nothing is
    /// vacuumed while something is measured: the images of whole pages and the statistics that these write would be
    /// counted with it.
    pub(super) async fn start(folder: &Path) -> anyhow::Result<Self> {
        let data = folder.join("postgres");
        std::fs::create_dir_all(&data)?;
        let first = Embedded::start(&data, CONNECTIONS).await?;
        let mut conn = PgConnection::connect(first.url().expose_secret()).await?;
        let installed =
            "select exists (select from pg_available_extensions where name = 'pg_stat_statements')";
        let counts_statements: bool = sqlx::query_scalar(installed).fetch_one(&mut conn).await?;
        if counts_statements {
            sqlx::query("alter system set shared_preload_libraries = 'pg_stat_statements'")
                .execute(&mut conn)
                .await?;
        }
        sqlx::query("alter system set max_wal_size = '4GB'").execute(&mut conn).await?;
        sqlx::query("alter system set checkpoint_timeout = '1h'").execute(&mut conn).await?;
        sqlx::query("alter system set autovacuum = off").execute(&mut conn).await?;
        conn.close().await?;
        first.stop().await;
        let embedded = Embedded::start(&data, CONNECTIONS).await?;
        let options: PgConnectOptions = embedded.url().expose_secret().parse()?;
        let pool = PgPoolOptions::new().max_connections(2).connect_with(options).await?;
        if counts_statements {
            sqlx::query("create extension pg_stat_statements").execute(&pool).await?;
        }
        Ok(Self { embedded, pool, counts_statements })
    }

    /// Creates a database and returns its URL.
    pub(super) async fn create_database(&self, name: &str) -> anyhow::Result<String> {
        // Only our own names.
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("create database {name}"))).execute(&self.pool).await?;
        let url = self.embedded.url();
        let (before, after) = url.expose_secret().split_once("/nod?").context("the server's address")?;
        Ok(format!("{before}/{name}?{after}"))
    }

    pub(super) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Counts statements from here on.
    pub(super) async fn forget_statements(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.counts_statements, "pg_stat_statements is not installed");
        sqlx::query("select pg_stat_statements_reset()").execute(&self.pool).await?;
        Ok(())
    }

    /// Lists what was counted in a database, the dearest statement first, for each of so many turns.
    pub(super) async fn list_statements(&self, database: &str, turns: usize) -> anyhow::Result<Vec<String>> {
        let lines = sqlx::query_scalar(
            "select format('%s  %s  %s  %s', to_char(s.calls / $2, '990.00'),
                 to_char(s.total_exec_time * 1000 / $2, '99990'), to_char(s.wal_bytes / $2, '99990'),
                 left(regexp_replace(s.query, '\\s+', ' ', 'g'), 160))
             from pg_stat_statements s join pg_database d on d.oid = s.dbid
             where d.datname = $1 and s.calls >= $2 / 10 order by s.total_exec_time desc",
        );
        Ok(lines.bind(database).bind(length(turns)).fetch_all(&self.pool).await?)
    }

    pub(super) async fn stop(self) {
        self.pool.close().await;
        self.embedded.stop().await;
    }
}
