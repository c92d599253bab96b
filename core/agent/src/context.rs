//! The dependencies of a turn, the work on one message from its arrival to its answer.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::Notify;

use nod_accounts::connection::Accounts;
use nod_contract::chat::CommandSyntax;
use nod_contract::contacts::ContactSource;
use nod_memory::context::Memory;
use nod_requests::context::Requests;
use nod_store::ability::AnswerCheck;

/// What a turn needs.
#[derive(Clone)]
pub struct Agent {
    pub requests: Requests,
    pub accounts: Accounts,
    pub memory: Memory,
    pub contacts: Vec<Arc<dyn ContactSource>>,
    /// The abilities' checks of answers.
    pub checks: Vec<Arc<dyn AnswerCheck>>,
    /// Returns the answer to "help", for the way in which commands are typed there.
    pub help: Arc<dyn Fn(CommandSyntax<'_>) -> String + Send + Sync>,
    /// Notified when a turn is stopped; each run in progress then checks whether it was the one.
    pub stops: Arc<Notify>,
    pub step_budget: u32,
    pub longest_message: usize,
    pub stream_after: Duration,
    pub keeps_talk_for: TimeDelta,
}

impl Deref for Agent {
    type Target = Requests;

    fn deref(&self) -> &Requests {
        &self.requests
    }
}
