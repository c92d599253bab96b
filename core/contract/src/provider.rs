//! Services in which people have their own accounts.

use serde::{Deserialize, Serialize};

/// The name of the place that a link opens, if the tool's output has none: links to mail have none.
pub const MAIL: &str = "Gmail";

/// A service in which people have their own accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Gmail and Calendar.
    Google,
}

impl Provider {
    /// The provider that is meant if the person names none.
    pub const DEFAULT_SCOPES: Self = Self::Google;

    /// All providers.
    pub const ALL: [Self; 1] = [Self::Google];

    /// Returns the name in rows, routes and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Google => "google",
        }
    }

    /// Returns the provider with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == name)
    }

    /// Returns the name that people use.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Google => "Google",
        }
    }
}
