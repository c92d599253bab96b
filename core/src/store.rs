//! The database: its schema and the sentence for when it does not answer.

use sqlx::migrate::Migrator;

/// The schema, one topic a file.
pub static MIGRATOR: Migrator = sqlx::migrate!("../migrations");
