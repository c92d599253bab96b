//! Asking for a nod, and doing what was nodded to.

use std::ops::Deref;

use super::Chat;
use crate::policy::Policy;
use crate::tool::Tools;

/// What approvals and effects need.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) chat: Chat,
    pub(crate) tools: Tools,
    pub(crate) policy: Policy,
}

impl Deref for Requests {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
