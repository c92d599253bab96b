//! The database: its schema, how a transaction begins, and what errors mean.

use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, PgTransaction, Postgres, Transaction};

/// The schema, one topic a file.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// Begins a transaction. Use it in the place of sqlx's `begin`, which must not be given up half-way.
///
/// # Errors
/// When no connection is to be had, or the database does not answer.
pub async fn begin(pool: &PgPool) -> sqlx::Result<PgTransaction<'static>> {
    begin_on(pool.acquire().await?).await
}

/// Begins a transaction on a connection that was used for something before.
///
/// In a task of its own: where whoever waits goes away between the order to begin and its answer (a caller hung up, a
/// lease passed on), sqlx 0.9.0 gives the connection back with the transaction open. Whoever has it next would write into
/// that one, and nobody would ever commit it. (sqlx's issue 4393; mended after 0.9.0.)
pub async fn begin_on(connection: PoolConnection<Postgres>) -> sqlx::Result<PgTransaction<'static>> {
    match tokio::spawn(Transaction::begin(connection, None)).await {
        Ok(begun) => begun,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        // The runtime ends.
        Err(_) => Err(sqlx::Error::PoolClosed),
    }
}

/// Postgres ended one of two transactions that waited for each other.
pub fn is_deadlock(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|e| e.code().as_deref() == Some("40P01"))
}
