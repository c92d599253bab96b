//! Connected accounts, and what has to do with them.

use std::ops::Deref;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::connection::{Grantor, Lending};
use nod_people::context::Chat;
use nod_store::hooks::Hook;

/// What connecting and giving back need.
#[derive(Clone)]
pub struct Accounts {
    pub chat: Chat,
    pub lending: Arc<Lending>,
    /// One for each provider that is configured.
    pub grantors: Vec<Arc<dyn Grantor>>,
    /// Who does something in the same commit once an account has ended.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The name of the organisation.
    pub tenant_name: String,
    pub offer_expires_after: TimeDelta,
}

impl Deref for Accounts {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
