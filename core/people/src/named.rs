//! A person whom the configuration names.

use serde::{Deserialize, Serialize};

/// A person whom a rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// By the address that a platform reports for them.
    #[serde(rename = "address")]
    Email(String),
    /// By their id on a platform.
    User {
        /// The platform.
        platform: String,
        /// The platform's id.
        user: String,
    },
}
