//! Stopping a turn: running work is no longer committed, pending approvals are withdrawn, and effects that have already
//! started are reported truthfully.

use serde_json::json;
use sqlx::PgConnection;

use crate::context::Agent;
use crate::forget;
use crate::rows::{self as sql, LoadedRun, LoadedWorkflowRun, Run};
use nod_contract::card::{Block, Card};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, RunId, TenantId};
use nod_contract::scope::CHAT;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::delivery::{self, NewDelivery};
use nod_people::open_pages;
use nod_requests::{approval, effect, perform, question};
use nod_store::audit;
use nod_store::hooks::WorkflowStopped;
use nod_store::runs;
use nod_store::workflow::{self, WorkflowRun};

/// The result of a request to stop a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopResult {
    /// The turn is stopped.
    Stopped,
    /// It had ended before, or does not exist.
    AlreadyEnded,
    /// It belongs to another person.
    NotOwner,
}

/// Stops every open turn of a person in a conversation, or if there is none, the work that goes on by itself there; returns
/// false if there is nothing.
pub async fn all(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let mut any = false;
    let mut shown = Vec::new();
    for run in sql::open_of(conn, tenant, conversation, by).await? {
        any |= stop_and_show(core, conn, tenant, run, by, now, &mut shown).await? == StopResult::Stopped;
    }
    if !any {
        let open = sql::list_open_workflow_runs(conn, tenant, conversation, by).await?;
        for run in &open {
            lock_workflow(conn, tenant, *run).await?;
        }
        for run in open {
            any |= stop_run(core, conn, tenant, run, by, now).await? == StopResult::Stopped;
        }
    }
    Ok(any)
}

/// Stops a turn or the run of a workflow, if it belongs to this person. A step is stopped with its workflow.
pub async fn stop_run(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<StopResult> {
    let loaded = sql::load_workflow_run(conn, tenant, id).await?;
    let workflow = match loaded.as_ref().and_then(|loaded| loaded.parent) {
        Some(parent) => sql::load_workflow_run(conn, tenant, parent).await?,
        None => loaded,
    };
    match workflow {
        Some(loaded) if loaded.workflow != CHAT => match loaded.run.principal.person == by {
            true => stop_workflow(core, conn, tenant, &loaded, Some(by), now).await,
            false => Ok(StopResult::NotOwner),
        },
        _ => stop_and_show(core, conn, tenant, id, by, now, &mut Vec::new()).await,
    }
}

/// Stops the run of a workflow because the message that began it was deleted, by whomever, and those that did the same
/// work again. The abilities remove its words from their rows, also if it has ended.
pub async fn stop_deleted(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    mut id: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let mut all = Vec::new();
    while let Some(loaded) = sql::load_workflow_run(conn, tenant, id).await? {
        lock_workflow(conn, tenant, id).await?;
        all.push(loaded);
        id = workflow::run_after(id);
    }
    for loaded in all {
        if stop_workflow(core, conn, tenant, &loaded, None, now).await? == StopResult::AlreadyEnded {
            let stopped = WorkflowStopped { tenant, run: loaded.run.id, is_deleted: true };
            call_hooks(core, conn, stopped, now).await?;
        }
    }
    Ok(())
}

/// Locks the lanes of a workflow's open steps and then its own, in the same order as a step that ends. Of several workflows
/// that are stopped together all are locked before the first is: each one's card is in a lane that comes after these.
async fn lock_workflow(conn: &mut PgConnection, tenant: TenantId, id: RunId) -> sqlx::Result<()> {
    for step in sql::list_open_steps(conn, tenant, id).await? {
        runs::lock(conn, tenant, step).await?;
    }
    runs::lock(conn, tenant, id).await
}

async fn call_hooks(
    core: &Agent,
    conn: &mut PgConnection,
    stopped: WorkflowStopped,
    now: Timestamp,
) -> sqlx::Result<()> {
    for hook in &core.accounts.hooks {
        hook.workflow_stopped(conn, stopped, now).await?;
    }
    Ok(())
}

/// Stops the run of a workflow and its steps in one transaction, so whoever decides one of their requests in the same moment
/// was before it or is too late.
async fn stop_workflow(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    loaded: &LoadedWorkflowRun,
    by: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<StopResult> {
    let LoadedWorkflowRun { run, workflow, .. } = loaded;
    let WorkflowRun { id, conversation, principal, .. } = run;
    let id = *id;
    let owner = principal.person;
    // A step that begins in between has only begun, so it ends nothing.
    lock_workflow(conn, tenant, id).await?;
    if !sql::stop(conn, tenant, id, now).await? {
        return Ok(StopResult::AlreadyEnded);
    }
    let steps = sql::list_open_steps(conn, tenant, id).await?;
    for step in &steps {
        runs::lock(conn, tenant, *step).await?;
    }
    for step in steps {
        if sql::stop(conn, tenant, step, now).await? {
            schedule_purge(core, conn, tenant, step, now).await?;
        }
        // Also what a step asked for that failed.
        withdraw_requests(conn, tenant, step, by, now).await?;
    }
    audit::insert_entry(conn, tenant, by, "run.stopped", id.0, None, &json!({}), now).await?;
    let begun = effect::sql::list_states_of_run(conn, tenant, id).await?;
    let venue = conversations::load_location(conn, tenant, *conversation).await?;
    let card = match core.workflows.get(workflow) {
        Some(registered) if by.is_some() => {
            let title = registered.workflow.title(conn, run).await?;
            card(&format!("Stopped by {}: “{title}”.", principal.name), &begun)
        }
        _ => card("I stopped the task whose message was deleted.", &begun),
    };
    post(core, conn, tenant, (id, *conversation), &venue, &card, now).await?;
    call_hooks(core, conn, WorkflowStopped { tenant, run: id, is_deleted: by.is_none() }, now).await?;
    open_pages::enqueue_refresh(conn, tenant, owner, now).await?;
    Ok(StopResult::Stopped)
}

/// Withdraws what a run has asked for and what was approved and has not begun, because this person stopped it or, without
/// one, because its message was deleted.
pub(super) async fn withdraw_requests(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    by: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<()> {
    approval::withdraw(conn, tenant, run, by, now).await?;
    question::withdraw_for_run(conn, tenant, run, now).await?;
    perform::fail_unstarted_effects(conn, tenant, run, now).await?;
    question::vote::notify_voters(conn, tenant, run, now).await
}

/// Stops a turn. Of several that are stopped at once, what is said in `shown` already is not said again.
async fn stop_and_show(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    by: PersonId,
    now: Timestamp,
    shown: &mut Vec<Card>,
) -> sqlx::Result<StopResult> {
    let Some(LoadedRun { run, venue, person, .. }) = sql::load(conn, tenant, id).await? else {
        return Ok(StopResult::AlreadyEnded);
    };
    if run.person != by {
        return Ok(StopResult::NotOwner);
    }
    // The lane is locked before the rows, as everywhere. The replica that works on the run cannot commit, because its
    // version has changed.
    runs::lock(conn, tenant, id).await?;
    if !sql::stop(conn, tenant, id, now).await? {
        return Ok(StopResult::AlreadyEnded);
    }
    withdraw_requests(conn, tenant, id, Some(by), now).await?;
    audit::insert_entry(conn, tenant, Some(by), "run.stopped", id.0, None, &json!({}), now).await?;
    let begun = effect::sql::list_states_of_run(conn, tenant, id).await?;
    let card = card(&format!("Stopped by {}.", person.display_name()), &begun);
    if !update_progress_line(conn, tenant, &run, &card, now).await? && !shown.contains(&card) {
        post(core, conn, tenant, (id, run.conversation), &venue, &card, now).await?;
        shown.push(card);
    }
    schedule_purge(core, conn, tenant, id, now).await?;
    open_pages::enqueue_refresh(conn, tenant, by, now).await?;
    Ok(StopResult::Stopped)
}

/// Has what a stopped run read of other people's messages deleted in time.
async fn schedule_purge(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    // The last committed state, which can be newer than one that was loaded before.
    let stopped = sql::load(conn, tenant, run).await?;
    match stopped.is_some_and(|stopped| stopped.run.state.has_channel_history) {
        true => forget::schedule_purge(core, conn, tenant, run, now).await,
        false => Ok(()),
    }
}

/// Replaces the progress line by the card; returns false if there is none.
async fn update_progress_line(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &Run,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let line = nod_people::progress::id(run.id);
    if delivery::sql::load(conn, tenant, line).await?.is_none() {
        return Ok(false);
    }
    delivery::update_card(conn, tenant, line, card, now).await?;
    Ok(true)
}

async fn post(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    (run, conversation): (RunId, ConversationId),
    venue: &ConversationLocation,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    let new = NewDelivery {
        id: core.id(),
        conversation,
        run: Some(run),
        platform: &venue.platform,
        target: None,
        opens_thread: false,
        card,
        only_for: None,
    };
    delivery::enqueue(conn, tenant, venue, &new, now).await
}

/// Creates the card. `begun` has the states of the run's earlier effects.
fn card(stopped: &str, begun: &[String]) -> Card {
    let has = |status: &str| begun.iter().any(|one| one == status);
    let truth = if has("started") {
        "What was already approved is on its way and can't be stopped. Its card will show how it ends."
    } else if has("unknown") {
        "I can't tell whether anything went through before that. Please check its card above."
    } else if has("done") {
        "What was done before that is done. Its receipt is above."
    } else {
        "Nothing was sent."
    };
    Card { body: vec![Block::Note(format!("{stopped} {truth}"))], ..Card::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_card_reports_effects_that_happened() {
        let said = |begun: &[&str]| {
            let begun: Vec<String> = begun.iter().map(|one| (*one).to_owned()).collect();
            format!("{:?}", card("Stopped by Ana.", &begun).body)
        };
        assert!(said(&[]).contains("Stopped by Ana. Nothing was sent."));
        assert!(said(&["failed"]).contains("Nothing was sent."));
        for begun in [&["done"][..], &["started"], &["unknown"], &["failed", "done"]] {
            assert!(!said(begun).contains("Nothing was sent"), "{begun:?}");
        }
    }
}
