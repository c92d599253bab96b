//! Whom somebody's own mail knows.

use async_trait::async_trait;

use crate::tool::{ToolContext, ToolError};

/// Somebody in a person's own mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// As the mail calls them; empty where it does not.
    pub name: String,
    /// The bare address.
    pub email: String,
}

/// Looks into the mail of the person on whose behalf `cx` is, for them alone.
#[async_trait]
pub trait ContactSource: Send + Sync {
    /// Those of some messages in which all of these words (letters and digits, in small letters) stand beside a
    /// sender or recipient; first those whom the person wrote to, and of each the newest first. Others of the same
    /// messages may be among them.
    ///
    /// # Errors
    /// [`Fault::NeedsConnect`] where there is no mail to look at; any other where it could not be looked at.
    async fn find_by_name(&self, cx: &ToolContext, words: &[String]) -> Result<Vec<Contact>, ToolError>;
}
