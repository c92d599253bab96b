//! The context that approvals and effects share.

use std::ops::Deref;

use crate::policy::Policy;
use nod_contract::tool::Tools;
use nod_people::context::Chat;

/// What approvals and effects need.
#[derive(Clone)]
pub struct Requests {
    pub chat: Chat,
    pub tools: Tools,
    pub policy: Policy,
}

impl Deref for Requests {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
