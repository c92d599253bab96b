//! The context of the facade and the inbox.

use std::ops::Deref;

use chrono::TimeDelta;

use crate::abilities::Abilities;
use crate::recent_keys::RecentKeys;
use nod_agent::context::Agent;

/// The shared parts: those of a run, and those of the inbox.
pub(crate) struct App {
    pub(crate) agent: Agent,
    pub(crate) abilities: Abilities,
    /// Older messages are not acted upon.
    pub(crate) answers_within: TimeDelta,
    pub(crate) recent_keys: RecentKeys,
}

impl Deref for App {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}
