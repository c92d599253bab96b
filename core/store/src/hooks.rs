//! Hooks: an ability reacts to an event of another ability in the same commit.

use async_trait::async_trait;
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, RunId, TenantId};
use nod_contract::provider::Provider;

/// An account can no longer be used.
#[derive(Debug, Clone, Copy)]
pub struct AccountEnded<'a> {
    pub tenant: TenantId,
    pub person: PersonId,
    pub provider: Provider,
    /// The account that replaces it, if any.
    pub but: Option<&'a str>,
    /// The reason, as the person reads it.
    pub reason: &'a str,
}

/// A step of a workflow was committed, and it goes on or waits, or looks at something.
#[derive(Debug, Clone)]
pub struct StepMoved {
    pub tenant: TenantId,
    /// The run of the workflow.
    pub run: RunId,
    pub step: RunId,
    /// What it waits for, if only a person can let it go on.
    pub waits_for: Option<WaitsFor>,
    /// What it does now, in neutral words without the dots: the kind of activity, never whose or which content.
    pub activity: Vec<&'static str>,
}

/// The run of a workflow was stopped.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowStopped {
    pub tenant: TenantId,
    pub run: RunId,
    /// Whether the message that began it was deleted, so its words are not kept. It might have ended before.
    pub is_deleted: bool,
}

/// What only a person can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    Approval,
    Answer,
    Account,
}

impl WaitsFor {
    /// Returns the name in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Answer => "answer",
            Self::Account => "account",
        }
    }
}

/// What an ability does when something happens to another. Each is called in the transaction of the event.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Called before the account is removed.
    async fn account_ended(
        &self,
        _conn: &mut PgConnection,
        _ended: AccountEnded<'_>,
        _now: Timestamp,
    ) -> sqlx::Result<()> {
        Ok(())
    }

    /// The run of a workflow was stopped, and its steps with it. Called last, as [`step_moved`](Self::step_moved).
    async fn workflow_stopped(
        &self,
        _conn: &mut PgConnection,
        _stopped: WorkflowStopped,
        _now: Timestamp,
    ) -> sqlx::Result<()> {
        Ok(())
    }

    /// Called after all else of the commit is written, so it may lock only rows of its own, and then
    /// lanes of its own jobs and messages.
    async fn step_moved(
        &self,
        _conn: &mut PgConnection,
        _moved: &StepMoved,
        _now: Timestamp,
    ) -> sqlx::Result<()> {
        Ok(())
    }
}
