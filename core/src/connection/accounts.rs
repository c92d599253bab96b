//! Connected accounts, and what has to do with them.

use std::ops::Deref;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::connection::{Lending, Revoke};
use crate::context::Chat;
use crate::hooks::Hook;
use crate::secret::Vault;

/// What connecting and giving back need.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) chat: Chat,
    pub(crate) vault: Vault,
    pub(crate) lending: Arc<Lending>,
    pub(crate) revokes: Vec<Arc<dyn Revoke>>,
    /// Who does something in the same commit once an account has ended.
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// The name of the organisation.
    pub(crate) tenant_name: String,
    pub(crate) offer_expires_after: TimeDelta,
}

impl Deref for Accounts {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
