//! Services in which people have accounts of their own.

use serde::{Deserialize, Serialize};

/// Where a link leads when a tool does not say it: those of mail do not.
pub const MAIL: &str = "Gmail";

/// A service with accounts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Gmail and Calendar.
    Google,
}

impl Provider {
    /// The one that is meant where nobody says which.
    pub const DEFAULT_SCOPES: Self = Self::Google;

    /// Each of them.
    pub const ALL: [Self; 1] = [Self::Google];

    /// The name in rows, routes and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Google => "google",
        }
    }

    /// The provider of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == name)
    }

    /// As a person calls it.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Google => "Google",
        }
    }
}
