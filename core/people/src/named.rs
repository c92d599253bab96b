//! Somebody whom the configuration names.

use serde::{Deserialize, Serialize};

/// Somebody whom a rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// By the address that a platform tells of them.
    Address(String),
    /// By what a platform calls them.
    User {
        /// The platform.
        platform: String,
        /// The platform's id.
        user: String,
    },
}
