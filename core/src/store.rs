//! The database: its schema, and what its errors mean.

use sqlx::migrate::Migrator;

/// The schema, one topic a file.
pub static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// Postgres ended one of two transactions that waited for each other.
pub(crate) fn deadlocked(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|e| e.code().as_deref() == Some("40P01"))
}
