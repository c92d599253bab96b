//! The dependencies of memory.

use std::ops::Deref;
use std::sync::Arc;

use nod_contract::model::Model;
use nod_people::context::Chat;

/// What summaries and facts need.
#[derive(Clone)]
pub struct Memory {
    pub chat: Chat,
    pub model: Arc<dyn Model>,
}

impl Deref for Memory {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
