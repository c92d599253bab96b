//! The database: its schema.

use sqlx::migrate::Migrator;

/// The schema, one topic a file.
pub static MIGRATOR: Migrator = sqlx::migrate!("../migrations");
