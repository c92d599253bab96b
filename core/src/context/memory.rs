//! What is remembered.

use std::ops::Deref;
use std::sync::Arc;

use super::Chat;
use crate::model::Model;

/// What summaries and facts need.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) chat: Chat,
    pub(crate) model: Arc<dyn Model>,
}

impl Deref for Memory {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
