//! Connected accounts, and the parts that work with them.

use std::ops::Deref;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::connection::{DelegatedAccess, Grantor};
use nod_people::context::Chat;
use nod_store::hooks::Hook;

/// What connecting and giving back accounts needs.
#[derive(Clone)]
pub struct Accounts {
    pub chat: Chat,
    pub lending: Arc<DelegatedAccess>,
    /// One per configured provider.
    pub grantors: Vec<Arc<dyn Grantor>>,
    /// Hooks that run in the transaction that ends an account.
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
