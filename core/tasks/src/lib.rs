//! Tasks: work that a person gives to Nod and that goes on by itself. A model makes a plan, each step of it is a turn with the
//! tools of the place, and a model writes the result. A card shows how far it is.

mod ability;
mod about;
mod ask_user;
mod buttons;
mod card;
mod command;
mod context;
mod create_file;
mod create_task;
mod details;
mod done_since;
mod failed_step;
mod finish_step;
mod home;
mod job;
mod list;
mod lookup;
mod menu;
mod notice;
mod plan;
mod progress;
mod queue;
mod sql;
mod worker;
mod workflow;

pub use ability::plug;
pub use context::TaskLimits;
pub use menu::TASK_ENTRY;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::about::About;
use nod_contract::clock::Timestamp;
use nod_contract::ids::RunId;
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};

/// The name of the workflow.
const TASK: &str = "task";
/// Waits until another task of its person has ended.
const QUEUED: &str = "queued";
/// A model makes a plan.
const PLAN: &str = "plan";
/// Waits for the step that is being done.
const STEPS: &str = "steps";
/// A model writes the result.
const FINALISE: &str = "finalise";
/// Replaces the words of a task whose message was deleted.
const DELETED: &str = "(deleted)";
/// The longest title of a task or a step, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// A task to begin.
struct NewTask {
    id: RunId,
    title: String,
    /// The wish, in the person's own words.
    note: String,
    about: Option<About>,
    /// Whether it waits until another task of its person has ended.
    is_queued: bool,
}

/// A task as its workflow and its card need it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Task {
    title: String,
    /// The wish, in the person's own words.
    note: String,
    about: Option<About>,
    card: Uuid,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    steps: Vec<TaskStep>,
}

/// A step of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TaskStep {
    /// From 1.
    number: i16,
    title: String,
    detail: String,
    /// The steps whose output it needs.
    after: Vec<i16>,
    status: StepStatus,
    run: Option<Uuid>,
    waits_for: Option<String>,
    /// The message that asks how to go on, if it failed.
    notice: Option<Uuid>,
    /// What it has looked at so far, in neutral words.
    activity: Vec<String>,
    /// What it asked its person, and what they said.
    answers: Vec<StepAnswer>,
    summary: Option<String>,
    output: Option<String>,
    audience: Audience,
    provenance: Provenance,
}

/// An answer to a question of a step.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StepAnswer {
    question: String,
    answer: String,
    /// Whether its person typed it, and did not press one of the answers that the step proposed.
    is_typed: bool,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StepStatus {
    Planned,
    Running,
    Done,
    /// It ended, and perhaps not all was done of what it was to do outside Nod.
    Incomplete,
    /// It ended, and nothing came of it: what it was to do outside Nod was denied, has expired or failed, or it says so itself.
    NotDone,
    Failed,
    Skipped,
    Stopped,
}

impl StepStatus {
    /// Returns its word in rows.
    fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::NotDone => "not_done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Stopped => "stopped",
        }
    }
}

impl Task {
    /// Returns how many of its steps are done.
    fn count_done(&self) -> usize {
        self.steps.iter().filter(|step| step.status == StepStatus::Done).count()
    }

    /// Returns how many of its steps may not be complete.
    fn count_incomplete(&self) -> usize {
        self.steps.iter().filter(|step| step.status == StepStatus::Incomplete).count()
    }

    /// Returns the step that failed and waits for a decision, if the task is open.
    fn failed_step(&self) -> Option<&TaskStep> {
        self.steps.iter().find(|step| step.status == StepStatus::Failed)
    }

    /// Returns who may read what its steps have brought up.
    fn audience(&self) -> Audience {
        self.steps.iter().fold(Audience::Channel, |audience, step| audience.narrow(step.audience))
    }

    /// Returns whether it began with outside text.
    fn provenance(&self) -> Provenance {
        self.about.as_ref().map_or(Provenance::Trusted, |about| about.provenance.clone())
    }

    /// Returns the message that it is about, for a model.
    fn about_turn(&self, marker: &str) -> Option<Turn> {
        self.about.as_ref().map(|about| about.to_turn(marker))
    }
}
