//! A turn, from what was said to its answer.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::Notify;

use super::{Memory, Requests};
use crate::chat::Typing;
use crate::connection::Accounts;
use crate::contacts::Contacts;
use crate::model::Model;

/// What a turn needs.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) requests: Requests,
    pub(crate) accounts: Accounts,
    pub(crate) memory: Memory,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) contacts: Vec<Arc<dyn Contacts>>,
    /// What is answered to "help", by how commands are typed there.
    pub(crate) help: fn(Typing<'_>) -> String,
    /// Some turn was stopped: whoever works on one looks whether it was theirs.
    pub(crate) stops: Arc<Notify>,
    pub(crate) step_budget: u32,
    pub(crate) longest_message: usize,
    pub(crate) stream_after: Duration,
    pub(crate) keeps_talk_for: TimeDelta,
}

impl Deref for Agent {
    type Target = Requests;

    fn deref(&self) -> &Requests {
        &self.requests
    }
}
