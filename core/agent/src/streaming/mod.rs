//! Streams an answer while the model still writes it. The message gets its row and is posted before its first word, and
//! only if its audience is decided. The commit of the whole answer closes it.
//!
//! What is shown meanwhile can be lost at any moment, and nothing depends on it: the row holds the final text, and the
//! deliver job posts that. A run that is resumed finds the message that it had opened.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::context::Agent;
use crate::graph::streamable_text;
use crate::rows::Run;
use crate::state::Node;
use nod_contract::card::Card;
use nod_contract::chat::{ChatAdapter, ChatError, DeliveryTarget, MessageLookup, PostedMessage, Shown};
use nod_contract::ids::{DeliveryId, RunId};
use nod_contract::privacy::Audience;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery;
use nod_people::delivery::open::{self, StreamingMessage};
use nod_people::people;
use nod_people::work::PeopleJob;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// In bytes; a longer text is not streamed.
const MAX_STREAMED_BYTES: usize = 40_000;

/// Streams the text from `ear` until `over` is cancelled. Errors are ignored: the finished answer is posted in full.
pub async fn stream_answer(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
    open: &mut Option<StreamingMessage>,
    mut ear: watch::Receiver<String>,
    over: &CancellationToken,
) {
    let speaking = async {
        if !wait_for_first_words(&mut ear, core.stream_after, over).await {
            return Ok(());
        }
        let adapter = core.adapters.get(&venue.platform).ok_or("no such platform here")?;
        match find_or_open_message(core, claim, venue, run, open, adapter).await? {
            Some((at, id)) => Ok(append_until_done(adapter, run, &at, id, ear, over).await?),
            None => Ok(()),
        }
    };
    let spoken: Result<(), WorkError> = speaking.await;
    if let Err(error) = spoken {
        tracing::info!(run = %run.id, %error, "could not stream the answer");
    }
}

/// Whether the words of this step can be streamed. An answer that others must not read is not streamed, because it is
/// sent elsewhere.
pub(crate) fn is_streamable(node: Node, run: &Run, venue: &ConversationLocation) -> bool {
    let to_all_here = run.state.audience == Audience::Channel || !run.state.is_shared;
    matches!(node, Node::Converse | Node::Think)
        // Nobody reads what a step says.
        && run.parent.is_none()
        && to_all_here
        // Nobody reads an answer before it is checked.
        && run.state.check_parts.is_empty()
        // A platform notifies people whom a message mentions when it is posted, not when it is edited.
        && !run.state.mentions_person()
        && !venue.is_thread_pending
        && venue.private_with.is_none()
}

/// Waits for the first word and then `patience` more, so that a short answer is posted in one piece. Returns false if
/// `over` is cancelled first.
async fn wait_for_first_words(
    ear: &mut watch::Receiver<String>,
    patience: Duration,
    over: &CancellationToken,
) -> bool {
    let words = async {
        let heard = ear.wait_for(|words| words.contains(char::is_whitespace)).await.is_ok();
        tokio::time::sleep(patience).await;
        heard
    };
    tokio::select! {
        biased;
        () = over.cancelled() => false,
        heard = words => heard,
    }
}

/// Returns the message to stream into: the one that the run has already open, or a new one. Returns `None` if other
/// messages still wait to be posted before it.
async fn find_or_open_message(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
    open: &mut Option<StreamingMessage>,
    adapter: &Arc<dyn ChatAdapter>,
) -> Result<Option<(PostedMessage, DeliveryId)>, WorkError> {
    if open.is_none() {
        *open = insert_message(core, claim, venue, run, adapter.post_interval()).await?;
    }
    let Some(open) = open else { return Ok(None) };
    if let Some(at) = &open.posted {
        return Ok(Some((at.clone(), open.id)));
    }
    let target =
        DeliveryTarget::Channel { workspace: venue.workspace.clone(), place: venue.channel_ref.clone() };
    let found = match open.is_unconfirmed {
        true => adapter.find_message(&target, open.id, open.since, true).await?,
        false => MessageLookup::NotFound,
    };
    let at = match found {
        MessageLookup::Found(shown) => shown.at,
        MessageLookup::NotFound | MessageLookup::Unknown => {
            let mut conn = core.pool.acquire().await?;
            let reader = people::sql::find_user_id(
                &mut conn,
                claim.tenant,
                run.person,
                &venue.platform,
                &venue.workspace,
            )
            .await?
            .ok_or("nobody to write to")?;
            drop(conn);
            adapter.start_stream(&target, &reader, open.id).await?.at
        }
    };
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    // Version 0, because the final text is not known yet.
    let shown = Shown { at: at.clone(), since: None };
    delivery::sql::mark_posted(&mut tx, claim.tenant, open.id, &shown, 0).await?;
    tx.commit().await?;
    open.posted = Some(at.clone());
    Ok(Some((at, open.id)))
}

/// Inserts the row before anything is posted.
async fn insert_message(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
    pause: TimeDelta,
) -> Result<Option<StreamingMessage>, WorkError> {
    let (id, now) = (core.id(), core.now());
    let lane = delivery::lane(venue, None);
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    // Earlier messages are posted first, and the platform's rate limit applies; otherwise it does not stream.
    let free = jobs::is_lane_idle(&mut tx, claim.tenant, lane).await?
        && delivery::sql::acquire_post_slot(&mut tx, claim.tenant, lane, pause, now).await?.is_none();
    if free {
        open::insert_open(&mut tx, claim.tenant, venue, run.id, id, &Card::default(), now).await?;
    }
    tx.commit().await?;
    Ok(free.then_some(StreamingMessage { id, posted: None, since: now, is_unconfirmed: false }))
}

/// Closes the open message of a stopped run and drops its streamed text; the stop itself is posted elsewhere.
pub(crate) async fn cancel_stream(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: RunId,
) -> sqlx::Result<()> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    let Some(open) = open::open_of(&mut tx, tenant, run).await? else { return Ok(()) };
    jobs::assert_lease(&mut tx, claim).await?;
    let deliver = PeopleJob::DeliverMessage { delivery: open.id };
    jobs::enqueue(&mut tx, tenant, delivery::lane(venue, None), &deliver, now, now).await?;
    open::mark_closed(&mut tx, tenant, open.id, None, None).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Appends the text as it grows, as fast as the platform allows.
async fn append_until_done(
    adapter: &Arc<dyn ChatAdapter>,
    run: &Run,
    at: &PostedMessage,
    id: DeliveryId,
    mut ear: watch::Receiver<String>,
    over: &CancellationToken,
) -> Result<(), ChatError> {
    let mut shown = String::new();
    loop {
        let words = streamable_text(&ear.borrow_and_update(), &run.state);
        let pause = match words {
            // An answer longer than the limit is posted as its beginning and a file.
            Some(words) if words.len() > MAX_STREAMED_BYTES => return Ok(()),
            // The text never shrinks: if a claim is held back, what is shown already stays.
            Some(words) if !shown.starts_with(&words) => {
                let pause = adapter.append_stream(at, &words, id).await?;
                shown = words;
                pause
            }
            _ => Duration::ZERO,
        };
        let more = async {
            tokio::time::sleep(pause).await;
            ear.changed().await.is_ok()
        };
        tokio::select! {
            biased;
            () = over.cancelled() => return Ok(()),
            more = more => if !more { return Ok(()) },
        }
    }
}
