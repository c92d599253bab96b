//! Progress of a long turn: a line with [Stop] that is removed when the answer arrives, and an assistant-thread status.
//! Both are best effort: they say in neutral words what is being done, and no turn waits for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::context::Agent;
use crate::rows::Run;
use crate::state::Node;
use nod_contract::chat::{AssistantThreadUpdate, ChannelRef, ChatAdapter};
use nod_contract::ids::RunId;
use nod_people::conversations::ConversationLocation;
use nod_people::progress::upsert_progress_line;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How long a turn can take before it posts a progress line.
pub(super) const SLOW_RUN_AFTER: Duration = Duration::from_secs(4);
/// How long until the status is set. A delay of up to a second does not interrupt a user's thought (Nielsen, Usability
/// Engineering, 1993, chapter 5), and a turn that ends before then costs no API call.
const STATUS_AFTER: Duration = Duration::from_secs(1);

/// Posts the progress line.
pub(super) async fn show(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let words = "Working on it…".to_owned();
    upsert_progress_line(core, &mut tx, claim.tenant, venue, (run.conversation, run.id), words).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// The task that sets the status of a run.
#[derive(Default)]
pub(super) struct StatusLine {
    task: Option<(watch::Sender<String>, JoinHandle<()>)>,
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        // A late update is dropped, because it would remain after the answer.
        if let Some((_, showing)) = self.task.take() {
            showing.abort();
        }
    }
}

impl StatusLine {
    /// Sets the status to the run's next step. Nothing waits for it, and its errors are ignored.
    pub(super) fn set(&mut self, core: &Agent, venue: &ConversationLocation, run: &Run) {
        let (Some(words), true) =
            (status_text(core, run), venue.channel_ref.thread.is_some() && venue.private_with.is_none())
        else {
            return;
        };
        if let Some((latest, _)) = &self.task {
            latest.send_if_modified(|latest| std::mem::replace(latest, words.clone()) != words);
            return;
        }
        let Some(adapter) = core.adapters.get(&venue.platform).cloned() else { return };
        let (latest, heard) = watch::channel(words);
        let showing = tokio::spawn(forward_status(adapter, venue.channel_ref.clone(), run.id, heard));
        self.task = Some((latest, showing));
    }
}

/// Sets the latest status, one call after another, so that an earlier one cannot overtake.
async fn forward_status(
    adapter: Arc<dyn ChatAdapter>,
    place: ChannelRef,
    run: RunId,
    mut heard: watch::Receiver<String>,
) {
    tokio::time::sleep(STATUS_AFTER).await;
    loop {
        let words = heard.borrow_and_update().clone();
        if let Err(error) =
            adapter.update_assistant_thread(&place, &AssistantThreadUpdate::Status(words)).await
        {
            tracing::debug!(%run, %error, "could not show a status line");
        }
        if heard.changed().await.is_err() {
            return;
        }
    }
}

/// Lists what the calls that run next do, in neutral words.
pub(super) fn list_activity(core: &Agent, run: &Run) -> impl Iterator<Item = &'static str> {
    let calls = run.state.pending_calls.iter();
    let next = calls.filter(|call| run.node == Node::Act && call.waiting_for.is_none());
    let goal = run.state.goal.as_ref().and_then(|goal| core.workflows.get(&goal.workflow));
    let tools = goal.map_or(&core.tools, |registered| &registered.tools);
    let words = next.filter_map(|call| Some(tools.get(&call.call.name)?.spec().status_text));
    words.filter(|words| !words.is_empty())
}

/// Returns neutral words for what a node does: the kind of activity, never whose or which content.
fn status_text(core: &Agent, run: &Run) -> Option<String> {
    match run.node {
        Node::Route | Node::Think | Node::Converse => Some("is thinking…".to_owned()),
        Node::Act => {
            let mut letters = list_activity(core, run).next()?.chars();
            let first = letters.next()?.to_lowercase();
            Some(format!("is {first}{}…", letters.as_str()))
        }
        _ => None,
    }
}
