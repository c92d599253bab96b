//! The people with whom a person exchanges mail.

use async_trait::async_trait;

use crate::tool::{ToolContext, ToolError};

/// A sender or recipient in a person's own mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The name in the mail; empty if it has none.
    pub name: String,
    /// The bare address.
    pub email: String,
}

/// Searches the mail of the person on whose behalf `cx` runs. The result is for that person only.
#[async_trait]
pub trait ContactSource: Send + Sync {
    /// Returns the contacts of some messages in which each of these words (letters and digits, in lower case) occurs in
    /// a sender or recipient. Those the person wrote to come first, and within each group the newest. Other people of
    /// the same messages can be among them.
    ///
    /// # Errors
    /// [`ToolError::NeedsConnect`] if there is no mail account to search; any other error if the search failed.
    async fn find_by_name(&self, cx: &ToolContext, words: &[String]) -> Result<Vec<Contact>, ToolError>;
}
