//! The database: its schema, how a transaction begins, and what its errors mean.

use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, PgTransaction, Postgres, Transaction};

/// The schema, one topic per file.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// Begins a transaction. Use it instead of sqlx's `begin`, which is not safe to cancel (see [`begin_on`]).
///
/// # Errors
/// If no connection is available, or the database does not answer.
pub async fn begin(pool: &PgPool) -> sqlx::Result<PgTransaction<'static>> {
    begin_on(pool.acquire().await?).await
}

/// Begins a transaction on a connection that was used before.
///
/// It runs in its own task: if the caller is cancelled between `BEGIN` and its answer (a client hung up, a lease was
/// lost), sqlx 0.9.0 returns the connection to the pool with the transaction open. The next user would write into that
/// transaction, and it would never be committed. (sqlx issue 4393; fixed after 0.9.0.)
pub async fn begin_on(connection: PoolConnection<Postgres>) -> sqlx::Result<PgTransaction<'static>> {
    match tokio::spawn(Transaction::begin(connection, None)).await {
        Ok(begun) => begun,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        // The runtime is shutting down.
        Err(_) => Err(sqlx::Error::PoolClosed),
    }
}

/// Returns whether Postgres aborted the transaction to end a deadlock with another one.
pub fn is_deadlock(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|e| e.code().as_deref() == Some("40P01"))
}
