//! Services in which people have accounts of their own.

use serde::{Deserialize, Serialize};

/// A service with accounts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Gmail and Calendar.
    Google,
}

impl Provider {
    /// The one that is meant where nobody says which.
    pub const USUAL: Self = Self::Google;

    /// The name in rows, routes and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Google => "google",
        }
    }

    /// The provider of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Google].into_iter().find(|p| p.as_str() == name)
    }

    /// As a person calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Google => "Google",
        }
    }
}
