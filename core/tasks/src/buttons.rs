//! The buttons of tasks.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::card::{AS_FILE, RUN_AGAIN, SHOW_DETAILS, SHOW_RAW, SKIP_STEP, TRY_STEP_AGAIN};
use crate::context::TaskContext;
use crate::failed_step::{self, Decided, Decision};
use crate::{DELETED, command, details, sql};
use nod_contract::card::Action;
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::{DeliveryId, RunId};
use nod_store::ability::{Asker, Buttons};

pub(crate) struct TaskButtons(pub(crate) TaskContext);

#[async_trait]
impl Buttons for TaskButtons {
    fn action_kinds(&self) -> &'static [&'static str] {
        &[RUN_AGAIN, TRY_STEP_AGAIN, SKIP_STEP, SHOW_DETAILS, SHOW_RAW, AS_FILE]
    }

    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse> {
        let decision = match verb.kind.as_str() {
            TRY_STEP_AGAIN => Decision::TryAgain,
            SKIP_STEP => Decision::Skip,
            RUN_AGAIN => return self.run_again(conn, asker, RunId(verb.subject)).await,
            _ => return show(conn, asker, RunId(verb.subject), &verb.kind).await,
        };
        let notice = DeliveryId(verb.subject);
        let by = Some(asker.person);
        Ok(match failed_step::decide(conn, asker.tenant, notice, (decision, by), asker.now).await? {
            Decided::Accepted => InteractionResponse::Ack,
            Decided::TooLate => {
                InteractionResponse::ephemeral("That has been decided already, or the task has ended.")
            }
            Decided::NotOwner => {
                InteractionResponse::ephemeral("Only the person whose task it is can decide this.")
            }
        })
    }
}

/// Shows its owner what a task did, or its result in another form.
async fn show(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    run: RunId,
    kind: &str,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |text: &str| Ok(InteractionResponse::ephemeral(text));
    let owner = sql::find_owner(conn, asker.tenant, run).await?;
    let Some(owner) = owner else { return whisper("I can't find that any more.") };
    if owner.person != asker.person {
        return whisper("Only the person whose task it is can see that.");
    }
    if kind == SHOW_DETAILS {
        let task = sql::load(conn, asker.tenant, run).await?;
        return match task.note == DELETED {
            true => whisper("I can't find that any more."),
            false => Ok(details::steps(run, &task)),
        };
    }
    match owner.result {
        Some(result) if kind == SHOW_RAW => Ok(details::raw(run, &result)),
        Some(result) => details::post_file(conn, asker, run, result).await,
        None => whisper("I can't find that any more."),
    }
}

impl TaskButtons {
    /// Begins the same task anew, once for each card.
    async fn run_again(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        ended: RunId,
    ) -> sqlx::Result<InteractionResponse> {
        let whisper = |text: &str| Ok(InteractionResponse::ephemeral(text));
        match sql::find_owner(conn, asker.tenant, ended).await? {
            None => whisper("I can't find that any more."),
            Some(task) if task.person != asker.person => {
                whisper("Only the person whose task it is can run it again.")
            }
            Some(task) if !task.has_ended => whisper("This task has not ended yet."),
            Some(task) => command::begin_again(&self.0, conn, asker, (ended, task.conversation)).await,
        }
    }
}
