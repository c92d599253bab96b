//! What all parts of tasks use, and what an organisation can set.

use std::ops::Deref;

use chrono::TimeDelta;

use nod_people::context::Chat;

/// What an organisation sets for tasks.
#[derive(Debug, Clone, Copy)]
pub struct TaskLimits {
    /// How many tasks of a person are worked on at once, up to five; more are queued.
    pub open: u32,
    /// The most questions of a task.
    pub questions: u32,
    /// How long a question waits for its answer, and a step that failed for a decision.
    pub answer_within: TimeDelta,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { open: 3, questions: 5, answer_within: TimeDelta::hours(72) }
    }
}

/// What becomes of a further task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It begins.
    Now,
    /// It is queued.
    Later,
    /// It is refused.
    Never,
}

#[derive(Clone)]
pub(crate) struct TaskContext {
    pub(crate) chat: Chat,
    pub(crate) limits: TaskLimits,
}

impl Deref for TaskContext {
    type Target = Chat;

    fn deref(&self) -> &Chat {
        &self.chat
    }
}
