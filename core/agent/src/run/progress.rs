//! While a turn takes long: a line with [Stop] that goes when the answer comes, and a status line beside the
//! messages. Both are decoration: they say in neutral words what is being done, and no turn waits for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::context::Agent;
use crate::rows::Run;
use crate::state::Node;
use nod_contract::chat::{AssistantThreadUpdate, ChannelRef, ChatAdapter};
use nod_contract::ids::RunId;
use nod_people::delivery::Venue;
use nod_people::progress::stands;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How long a turn may take before it says so.
pub(super) const LONG: Duration = Duration::from_secs(4);
/// How long until the status line says what it does. Up to a second nobody's thought is interrupted (Nielsen,
/// Usability Engineering, 1993, chapter 5), and a turn that is over by then costs the platform no call.
const QUICK: Duration = Duration::from_secs(1);

/// Says that it takes long.
pub(super) async fn show(core: &Agent, claim: &Claim, venue: &Venue, run: &Run) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let words = "Working on it…".to_owned();
    stands(core, &mut tx, claim.tenant, venue, (run.conversation, run.id), words).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// The status line of a run, on its way.
#[derive(Default)]
pub(super) struct Status {
    shown: Option<(watch::Sender<String>, JoinHandle<()>)>,
}

impl Drop for Status {
    fn drop(&mut self) {
        // What is late comes no more: it would stay after the answer.
        if let Some((_, showing)) = self.shown.take() {
            showing.abort();
        }
    }
}

impl Status {
    /// Says what the run does next. Nothing waits for it, and nothing fails with it.
    pub(super) fn say(&mut self, core: &Agent, venue: &Venue, run: &Run) {
        let (Some(words), true) =
            (words(core, run), venue.place.thread.is_some() && venue.alone_with.is_none())
        else {
            return;
        };
        if let Some((latest, _)) = &self.shown {
            latest.send_if_modified(|latest| std::mem::replace(latest, words.clone()) != words);
            return;
        }
        let Some(adapter) = core.adapters.get(&venue.platform).cloned() else { return };
        let (latest, heard) = watch::channel(words);
        let showing = tokio::spawn(keep_shown(adapter, venue.place.clone(), run.id, heard));
        self.shown = Some((latest, showing));
    }
}

/// Shows the latest words, one after another, so that an earlier one does not overtake.
async fn keep_shown(
    adapter: Arc<dyn ChatAdapter>,
    place: ChannelRef,
    run: RunId,
    mut heard: watch::Receiver<String>,
) {
    tokio::time::sleep(QUICK).await;
    loop {
        let words = heard.borrow_and_update().clone();
        if let Err(error) =
            adapter.update_assistant_thread(&place, &AssistantThreadUpdate::Status(words)).await
        {
            tracing::debug!(%run, %error, "a status line was not shown");
        }
        if heard.changed().await.is_err() {
            return;
        }
    }
}

/// Neutral words for what a node does: the kind of thing, never whose or what.
fn words(core: &Agent, run: &Run) -> Option<String> {
    match run.node {
        Node::Route | Node::Think | Node::Converse => Some("is thinking…".to_owned()),
        Node::Act => {
            let next = run.state.pending.iter().find(|call| call.parked.is_none())?;
            let doing = core.tools.get(&next.call.name)?.spec().status_text;
            let mut letters = doing.chars();
            let first = letters.next()?.to_lowercase();
            Some(format!("is {first}{}…", letters.as_str()))
        }
        _ => None,
    }
}
