//! What a step had asked for and what was done after the step had ended: a mail that was denied, asked for again and sent.

use sqlx::PgConnection;

use crate::card::{self, Phase};
use crate::context::TaskContext;
use crate::{DELETED, StepStatus, Task, TaskStep, progress, sql};
use nod_contract::card::Block;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{RunId, TenantId};
use nod_people::delivery;
use nod_store::workflow::Acted;

const ALL_OF_STEP: &str = "Done after the step had ended.";
const PART_OF_STEP: &str = "Part of it was done after the step had ended.";
/// Of a step that did not do all, and not only because of what it had asked for.
const ACTIONS_OF_STEP: &str = "All that it had asked for was done after it had ended.";
const SINCE: &str = "Since this was written, ";

/// Gives the step its tick, and says above the result that more was done. The result keeps its words.
pub(crate) async fn write(
    core: &TaskContext,
    conn: &mut PgConnection,
    (tenant, task): (TenantId, RunId),
    (step, acted): (RunId, Acted),
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(mut shown) = sql::load_shown(conn, tenant, task).await? else { return Ok(()) };
    // Where the words of a task were deleted, none are added.
    if shown.task.note == DELETED {
        return Ok(());
    }
    let of_run = |one: &&mut TaskStep| one.run == Some(step.0);
    let Some(step) = shown.task.steps.iter_mut().find(of_run) else { return Ok(()) };
    let before = step.summary.take().unwrap_or_default();
    let Some((status, words)) =
        status_since((step.status, &before), acted).filter(|(_, words)| !before.ends_with(words))
    else {
        return Ok(());
    };
    let summary = match status {
        StepStatus::Done => words.to_owned(),
        _ => format!("{before} {words}").trim_start().to_owned(),
    };
    step.status = status;
    let number = step.number;
    sql::update_done_since(conn, (tenant, task), (number, status), (&summary, words)).await?;
    if shown.phase == Phase::Done {
        show_above_result(core, conn, (tenant, task), &shown.task, now).await?;
    }
    progress::show(conn, tenant, task, now).await
}

/// Returns how far a step is that has ended, and how that is said; `None` if nothing changes. One that had done a part of it
/// may have said itself that more than an action was missing, so it gets no tick.
fn status_since((before, summary): (StepStatus, &str), acted: Acted) -> Option<(StepStatus, &'static str)> {
    match (before, acted) {
        (StepStatus::Incomplete, Acted::Fully) if summary.ends_with(PART_OF_STEP) => {
            Some((StepStatus::Done, ALL_OF_STEP))
        }
        (StepStatus::NotDone, Acted::Fully) => Some((StepStatus::Done, ALL_OF_STEP)),
        (StepStatus::Incomplete, Acted::Fully) => Some((StepStatus::Incomplete, ACTIONS_OF_STEP)),
        (StepStatus::NotDone, Acted::Partly) => Some((StepStatus::Incomplete, PART_OF_STEP)),
        _ => None,
    }
}

/// Says above the result of a task that more was done, if the message has room for it.
async fn show_above_result(
    core: &TaskContext,
    conn: &mut PgConnection,
    (tenant, id): (TenantId, RunId),
    task: &Task,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some((mut result, _)) = delivery::sql::load(conn, tenant, card::end_id(id)).await? else {
        return Ok(());
    };
    let body = &mut result.card.body;
    if matches!(body.first(), Some(Block::Note(line)) if line.starts_with(SINCE)) {
        body.remove(0);
    }
    body.insert(0, Block::Note(format!("{SINCE}{}", how_much(task))));
    let adapter = core.adapters.get(&result.platform);
    if !adapter.is_some_and(|adapter| adapter.fits_in_one_message(&result.card)) {
        return Ok(());
    }
    delivery::update_card(conn, tenant, result.id, &result.card, now).await
}

fn how_much(task: &Task) -> &'static str {
    match task.count_done() == task.steps.len() {
        true => "the rest was done.",
        false => "more of it was done. The card of the task says how much.",
    }
}
