//! The deliver job: posts once, or replaces the posted message.

use chrono::TimeDelta;

use super::sql::{self, Delivery, NewDelivery, PostSlot};
use crate::context::Chat;
use crate::conversations::{self, ConversationLocation};
use crate::people;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{ChatAdapter, ChatError, DeliveryTarget, MessageLookup, PostedMessage, Shown};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_store::jobs::{Claim, Loaded, WorkError, sql as jobs};
use sqlx::PgConnection;

/// After this many attempts without an answer from the platform, a message is given up; its row says so.
const MAX_ATTEMPTS: i32 = 20;
/// The action of the button that shows a message whose reader's DM channel is closed.
pub(super) const SHOW_PRIVATELY: &str = "show_privately";

/// A message with where it goes, and its place under the rate limit.
pub(super) struct LoadedDelivery {
    pub(super) delivery: Delivery,
    pub(super) venue: ConversationLocation,
    /// Where it goes, if there is anybody to write to.
    pub(super) target: Option<DeliveryTarget>,
    /// It has no place yet, and the job that posts it was put off until then.
    pub(super) is_put_off: bool,
}

async fn load(
    core: &Chat,
    conn: &mut PgConnection,
    claim: &Claim,
    id: DeliveryId,
) -> sqlx::Result<Option<LoadedDelivery>> {
    let intervals = core.adapters.post_intervals();
    let Some((delivery, venue, slot)) = sql::acquire_for_post(conn, claim, id, intervals, core.now()).await?
    else {
        return Ok(None);
    };
    let target = target(conn, claim.tenant, &delivery, &venue).await?;
    // What cannot be posted at all is no matter of time.
    let can_be_posted = target.is_some() && core.adapters.get(&delivery.platform).is_some();
    let mut is_put_off = false;
    if let PostSlot::At(free) = slot
        && can_be_posted
    {
        jobs::put_off(conn, claim, free).await?;
        is_put_off = true;
    }
    Ok(Some(LoadedDelivery { delivery, venue, target, is_put_off }))
}

/// Loads a message when the job that posts it is claimed.
pub async fn load_for_post(
    core: &Chat,
    conn: &mut PgConnection,
    claim: &Claim,
    id: DeliveryId,
) -> sqlx::Result<Option<Loaded>> {
    Ok(load(core, conn, claim, id).await?.map(|loaded| -> Loaded { Box::new(loaded) }))
}

/// Posts or replaces a message.
pub async fn deliver(core: &Chat, claim: &Claim, id: DeliveryId) -> Result<(), WorkError> {
    let loaded = match claim.take_loaded::<LoadedDelivery>() {
        Some(loaded) => loaded,
        None => {
            let mut conn = core.pool.acquire().await?;
            load(core, &mut conn, claim, id).await?.ok_or("no such delivery")?
        }
    };
    let LoadedDelivery { delivery, venue, target, is_put_off } = loaded;
    if is_put_off {
        return Ok(());
    }
    let target = target.ok_or("nobody to write to")?;
    if delivery.posted_version == Some(delivery.version) {
        return complete_job(core, claim).await;
    }
    let adapter = core.adapters.get(&delivery.platform).ok_or("no such platform here")?;
    let card = core.links.resolve_links(delivery.card.clone());
    // A DM notifies its user without a mention.
    let card = if matches!(target, DeliveryTarget::Channel { .. }) { card } else { card.without_mention() };
    // A message to delete that was never posted needs no call.
    if delivery.posted_message.is_none() && card.is_empty() && claim.attempt == 1 && !delivery.was_streamed {
        return complete_job(core, claim).await;
    }
    let outcome = match &delivery.posted_message {
        Some(at) if card.is_empty() => {
            adapter.delete_message(at).await.map(|()| Shown { at: at.clone(), since: None })
        }
        Some(at) => adapter.update_message(at, &card, id).await.map(|since| Shown { at: at.clone(), since }),
        None => {
            post(adapter.as_ref(), &target, &card, &delivery, claim.attempt > 1 || delivery.was_streamed)
                .await
        }
    };
    match outcome {
        Ok(shown) => record_posted(core, claim, &delivery, &shown).await,
        Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
            let wait = TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
            let mut conn = core.pool.acquire().await?;
            Ok(jobs::put_off(&mut conn, claim, core.now() + wait).await?)
        }
        Err(ChatError::Gone) => handle_deleted_message(core, claim, delivery.id).await,
        Err(ChatError::UnknownOutcome(reason)) if claim.attempt < MAX_ATTEMPTS => Err(reason.into()),
        Err(ChatError::UnknownOutcome(reason)) => {
            handle_rejection(core, claim, &delivery, &venue, &target, &reason, false).await
        }
        Err(ChatError::Rejected { code }) => {
            handle_rejection(core, claim, &delivery, &venue, &target, &code, false).await
        }
        Err(ChatError::ChannelClosed { code }) => {
            handle_rejection(core, claim, &delivery, &venue, &target, &code, true).await
        }
    }
}

/// The message to update was deleted on the platform: posts its current card as a new message.
async fn handle_deleted_message(core: &Chat, claim: &Claim, id: DeliveryId) -> Result<(), WorkError> {
    tracing::info!(delivery = %id, "the message was deleted; posting it again");
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::mark_removed(&mut tx, claim.tenant, id, None).await?;
    jobs::reschedule(&mut tx, claim, core.now(), None, false).await?;
    Ok(tx.commit().await?)
}

/// Posts the message. If there was an earlier attempt, looks for its message first.
async fn post(
    adapter: &dyn ChatAdapter,
    target: &DeliveryTarget,
    card: &Card,
    delivery: &Delivery,
    tried: bool,
) -> Result<Shown, ChatError> {
    // If a platform does not let us look, a duplicate is better than no message.
    if tried
        && let MessageLookup::Found(Shown { at, since }) =
            adapter.find_message(target, delivery.id, delivery.created_at, delivery.was_streamed).await?
    {
        // It was posted as it was then and might have changed since: people click before we know that it is posted.
        let since = if card.is_empty() {
            adapter.delete_message(&at).await?;
            None
        } else if delivery.version > 1 {
            adapter.update_message(&at, card, delivery.id).await?
        } else {
            since
        };
        return Ok(Shown { at, since });
    }
    if card.is_empty() {
        return Ok(Shown {
            at: PostedMessage { channel: String::new(), message: String::new() },
            since: None,
        });
    }
    match &delivery.file {
        Some(file) => adapter.upload_file(target, file, card, delivery.id).await,
        None => adapter.post_message(target, card, delivery.id).await,
    }
}

/// Returns where it goes: to its own target, else to its conversation's channel, or to the person if it is private; `None`
/// if there is nobody to write to.
async fn target(
    conn: &mut PgConnection,
    tenant: TenantId,
    delivery: &Delivery,
    venue: &ConversationLocation,
) -> sqlx::Result<Option<DeliveryTarget>> {
    match (&delivery.target, venue.private_with) {
        (Some(target), _) => Ok(Some(target.clone())),
        (None, Some(with)) => {
            // The person who asked, because the conversation might have gone on with another person since.
            let asker = match delivery.run {
                Some(run) => sql::find_person_id(conn, tenant, run).await?,
                None => None,
            };
            let person = asker.unwrap_or(with);
            dm_target(conn, tenant, venue, person).await
        }
        (None, None) => Ok(channel_target(venue)),
    }
}

/// Returns the channel of a conversation, unless it goes on with one person.
pub(super) fn channel_target(venue: &ConversationLocation) -> Option<DeliveryTarget> {
    venue.private_with.is_none().then(|| DeliveryTarget::Channel {
        workspace: venue.workspace.clone(),
        place: venue.channel_ref.clone(),
    })
}

/// Returns the DM target of a person on the location's platform.
pub async fn dm_target(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    person: PersonId,
) -> sqlx::Result<Option<DeliveryTarget>> {
    let user = people::sql::find_user_id(conn, tenant, person, &venue.platform, &venue.workspace).await?;
    Ok(user.map(|user| DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user }))
}

async fn record_posted(
    core: &Chat,
    claim: &Claim,
    delivery: &Delivery,
    shown: &Shown,
) -> Result<(), WorkError> {
    if !delivery.card.is_empty() && !delivery.opens_thread {
        let mut conn = core.pool.acquire().await?;
        return Ok(sql::record_post(&mut conn, claim, delivery.id, shown, delivery.version).await?);
    }
    let mut tx = core.begin().await?;
    // Before the rows, as everywhere.
    jobs::assert_lease(&mut tx, claim).await?;
    if delivery.opens_thread {
        conversations::set_thread_ref(&mut tx, claim.tenant, delivery.conversation, &shown.at.message)
            .await?;
    }
    if delivery.card.is_empty() {
        // Anything shown there later is a new message.
        sql::mark_removed(&mut tx, claim.tenant, delivery.id, Some(delivery.version)).await?;
        jobs::complete(&mut tx, claim).await?;
    } else {
        sql::record_post(&mut tx, claim, delivery.id, shown, delivery.version).await?;
    }
    Ok(tx.commit().await?)
}

async fn complete_job(core: &Chat, claim: &Claim) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}

/// The platform rejected the message for good. If the channel is closed to us, the message goes where the person can
/// still read it; if the message itself is rejected, a plain line says so instead. A posted message that cannot be updated
/// stays as it is, and its receipt is sent as a copy.
async fn handle_rejection(
    core: &Chat,
    claim: &Claim,
    delivery: &Delivery,
    venue: &ConversationLocation,
    target: &DeliveryTarget,
    code: &str,
    closed: bool,
) -> Result<(), WorkError> {
    tracing::warn!(delivery = %delivery.id, code, "the platform refused a message");
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::mark_rejected(&mut tx, tenant, delivery.id, code).await?;
    let first_refusal = delivery.posted_message.is_none();
    match (target, delivery.only_for) {
        (DeliveryTarget::DirectMessage { .. }, Some(reader))
            if first_refusal && closed && !venue.channel_ref.is_dm =>
        {
            let person = people::sql::load(&mut tx, tenant, reader).await?.ok_or("no such person")?;
            let card = show_me(person.display_name(), delivery.id);
            post_fallback(&mut tx, tenant, venue, delivery, &card, now).await?;
        }
        (DeliveryTarget::Channel { .. }, _) if first_refusal && closed => {
            conversations::set_private_with_requester(&mut tx, tenant, delivery.conversation, delivery.run)
                .await?;
            let person = match delivery.run {
                Some(run) => sql::find_person_id(&mut tx, tenant, run).await?,
                None => None,
            };
            if let Some(person) = person
                && let Some(target) = dm_target(&mut tx, tenant, venue, person).await?
            {
                let note = Block::Note("I can't post where you asked, so here it is.".to_owned());
                // It may have changed since it was loaded.
                match sql::lock_card(&mut tx, tenant, delivery.id).await? {
                    Some(card) if !card.is_empty() => {
                        sql::update_card(&mut tx, tenant, delivery.id, &card.with_block(note)).await?;
                    }
                    _ => {}
                }
                // What goes to its conversation goes to the person by now, in the lane in which it is redrawn.
                if delivery.target.is_some() || venue.channel_ref.is_dm {
                    sql::update_target(&mut tx, tenant, delivery.id, &target).await?;
                }
                // At once, and still before the messages sent after it.
                jobs::reschedule(&mut tx, claim, now, None, false).await?;
                return Ok(tx.commit().await?);
            }
        }
        // Such a line has no run, so if it is rejected too, no other follows it.
        (_, only_for) if first_refusal && !closed && delivery.run.is_some() => {
            let card = undeliverable_card();
            let line = NewDelivery {
                id: core.id(),
                conversation: delivery.conversation,
                run: None,
                platform: &delivery.platform,
                target: delivery.target.as_ref(),
                opens_thread: false,
                card: &card,
                only_for,
            };
            super::enqueue(&mut tx, tenant, venue, &line, now).await?;
        }
        _ if !first_refusal => copy_receipt(core, &mut tx, tenant, delivery, venue).await?,
        _ => {}
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// Sends the person who asked a copy of a card that could not be updated in its channel, if it says what became of acts: it
/// might be all that is said of them, and what stands in the channel still asks for an approval that was given.
async fn copy_receipt(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    delivery: &Delivery,
    venue: &ConversationLocation,
) -> sqlx::Result<()> {
    let (None, false, Some(run)) = (&delivery.target, venue.channel_ref.is_dm, delivery.run) else {
        return Ok(());
    };
    if !sql::is_receipt(conn, tenant, delivery.id).await? {
        return Ok(());
    }
    let Some(person) = sql::find_person_id(conn, tenant, run).await? else { return Ok(()) };
    let Some(target) = dm_target(conn, tenant, venue, person).await? else { return Ok(()) };
    let note = Block::Note("I can't update this where you asked, so here it is.".to_owned());
    let copy = NewDelivery {
        id: core.id(),
        conversation: delivery.conversation,
        // Nothing follows it if it is refused too.
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card: &delivery.card.clone().with_block(note),
        only_for: None,
    };
    super::enqueue(conn, tenant, venue, &copy, core.now()).await
}

/// Replaces a message that the platform does not accept; the log has its code.
fn undeliverable_card() -> Card {
    let words = "I had an answer for you, but it couldn't be posted here. Please ask again.";
    Card { body: vec![Block::Note(words.to_owned())], ..Card::default() }
}

/// Posts a card in the thread for a message that its reader's DM channel does not accept; it replaces the run's line,
/// if there is one. If no thread is open, nothing is posted in the channel.
async fn post_fallback(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    delivery: &Delivery,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    // The line of a run is about its person; what another person cannot be sent has one of its own.
    let of_run = match delivery.run {
        Some(run) if sql::find_person_id(conn, tenant, run).await? == delivery.only_for => Some(run),
        _ => None,
    };
    let id = of_run.map_or_else(|| super::earlier_line_id(delivery.id), super::line_id);
    if super::update_line(conn, tenant, id, card.clone(), now).await? {
        return Ok(());
    }
    if venue.is_thread_pending {
        return Ok(());
    }
    let line = NewDelivery {
        id,
        conversation: delivery.conversation,
        run: delivery.run,
        platform: &venue.platform,
        target: None,
        opens_thread: false,
        card,
        only_for: None,
    };
    super::enqueue(conn, tenant, venue, &line, now).await
}

/// Is posted in the thread if the DM channel is closed.
fn show_me(name: &str, delivery: DeliveryId) -> Card {
    Card {
        body: vec![Block::Note(format!(
            "{name}, I have something just for you, but I can't send you direct messages."
        ))],
        ..Card::default()
    }
    .with_button("Show me", Style::Plain, OnClick::Action(Action::new(SHOW_PRIVATELY, delivery)))
}
