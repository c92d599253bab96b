//! Handles an edit or deletion of the message that started a run. If nothing was done yet, the run restarts with the
//! new text, or stops, and its requests are withdrawn. What was done remains, and the person is told so.

use serde_json::json;
use sqlx::PgConnection;

use crate::context::Agent;
use crate::forget;
use crate::rows::{self as sql, Run, Transition};
use crate::state::{AgentState, Node, WaitReason};
use nod_contract::card::Card;
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_contract::model::Turn;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::{self, NewDelivery};
use nod_people::open_pages;
use nod_requests::approval::{self, Status};
use nod_requests::question;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs::{RunEvent, RunJob};

/// The text that replaces a deleted message.
const DELETED: &str = "(this message was deleted)";

/// Applies the change in its own commit; returns `None` if the run is finished with it.
pub(super) async fn apply_message_change(
    core: &Agent,
    claim: &Claim,
    run: Run,
    venue: &ConversationLocation,
    event: Option<&RunEvent>,
) -> Result<Option<Run>, WorkError> {
    match event {
        Some(RunEvent::MessageEdited { text }) => {
            restart_with_edited_message(core, claim, run, venue, text).await.map(Some)
        }
        Some(RunEvent::MessageDeleted) => stop_after_deletion(core, claim, run).await,
        _ => Ok(Some(run)),
    }
}

async fn restart_with_edited_message(
    core: &Agent,
    claim: &Claim,
    mut run: Run,
    venue: &ConversationLocation,
    text: &str,
) -> Result<Run, WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if withdraw_pending(&mut tx, tenant, &mut run, now).await? {
        let card = too_late_card();
        let new = NewDelivery {
            id: core.id(),
            conversation: run.conversation,
            run: Some(run.id),
            platform: &venue.platform,
            target: None,
            opens_thread: false,
            card: &card,
            only_for: None,
        };
        delivery::enqueue(&mut tx, tenant, venue, &new, now).await?;
    } else {
        let joins = run.state.joined_thread_at.take();
        let principal = run.state.principal.clone();
        // The run's record still contains what was read before the edit.
        let overheard = run.state.has_channel_history;
        // The rows of the first attempt stay, with their numbers.
        let first_turn = run.state.first_turn + i32::try_from(run.persisted_turns).unwrap_or(i32::MAX);
        run.state = AgentState {
            joined_thread_at: joins,
            has_channel_history: overheard,
            first_turn,
            ..AgentState::new(principal, run.state.is_shared, text)
        };
        run.node = Node::Recall;
        (run.persisted_turns, run.is_recalled_persisted) = (1, false);
        let words = Turn::Human { text: text.to_owned() };
        sql::update_first_message(&mut tx, tenant, run.id, &words, first_turn).await?;
    }
    "running".clone_into(&mut run.status);
    sql::write(&mut tx, claim, &state_only_transition(&run), now).await?;
    jobs::update_payload(&mut tx, claim, &RunJob::AdvanceRun { run: run.id, event: None }).await?;
    tx.commit().await?;
    core.jobs.wake();
    run.version += 1;
    Ok(run)
}

async fn stop_after_deletion(core: &Agent, claim: &Claim, mut run: Run) -> Result<Option<Run>, WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let goes_on = withdraw_pending(&mut tx, tenant, &mut run, now).await?;
    let words = Turn::Human { text: DELETED.to_owned() };
    sql::update_first_message(&mut tx, tenant, run.id, &words, run.state.first_turn).await?;
    if let Some(first) = run.state.turns.first_mut() {
        *first = words;
    }
    if !goes_on {
        run.state.pending_calls.clear();
        run.state.routed_via = Some("rule:deleted".to_owned());
        "done".clone_into(&mut run.status);
    }
    sql::write(&mut tx, claim, &state_only_transition(&run), now).await?;
    if !goes_on && run.state.has_channel_history {
        forget::schedule_purge(core, &mut tx, tenant, run.id, now).await?;
    }
    open_pages::enqueue_refresh(&mut tx, tenant, run.person, now).await?;
    if goes_on {
        jobs::update_payload(&mut tx, claim, &RunJob::AdvanceRun { run: run.id, event: None }).await?;
    } else {
        jobs::complete(&mut tx, claim).await?;
    }
    tx.commit().await?;
    core.jobs.wake();
    run.version += 1;
    Ok(goes_on.then_some(run))
}

/// Withdraws what waits for an answer. Returns true if something was done or has started, so the run must continue to
/// its end.
async fn withdraw_pending(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &mut Run,
    now: Timestamp,
) -> sqlx::Result<bool> {
    question::withdraw_for_run(conn, tenant, run.id, now).await?;
    for id in approval::withdraw(conn, tenant, run.id, None, now).await? {
        if let Some(call) = run.state.find_call_waiting_for(id.0) {
            let detail = "the person changed or deleted the message that asked for it; nothing was done";
            run.state.answer(&call, json!({ "status": "withdrawn", "detail": detail }));
        }
    }
    let approved = approval::sql::list_by_run(conn, tenant, run.id, Status::Approved).await?;
    let under_way = run.state.pending_calls.iter().any(|pending| match pending.waiting_for {
        Some(WaitReason::Approval(id)) => approved.contains(&id),
        Some(WaitReason::Effect(_)) => true,
        _ => false,
    });
    Ok(under_way || run.state.changes_made > 0 || run.state.unknown_outcomes > 0)
}

/// Returns a transition that writes only the state.
fn state_only_transition(run: &Run) -> Transition<'_> {
    Transition { run, error: None, messages: &[], steps: &[], is_answer: false }
}

fn too_late_card() -> Card {
    Card::from_markdown(
        "You edited your message after I'd started. The receipt shows what was done. For anything else, send \
         a new message.",
    )
}
