//! Everything, as the facade and the door hold it.

use std::ops::Deref;

use chrono::TimeDelta;

use crate::abilities::Abilities;
use nod_agent::context::Agent;

/// The parts, shared: a turn's, and those of the door.
pub(crate) struct App {
    pub(crate) agent: Agent,
    pub(crate) abilities: Abilities,
    /// What was said longer ago is not acted upon any more.
    pub(crate) answers_within: TimeDelta,
}

impl Deref for App {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}
