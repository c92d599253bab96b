//! Messages that go out with the end of the job that caused them. The statement that ends the job stores them, and leases
//! their lanes where it can, so that their posts begin without a claim and with what is known of them here.

mod sql;

use std::collections::BTreeMap;

use sqlx::PgConnection;
use uuid::Uuid;

use super::post::{LoadedDelivery, channel_target};
use super::sql::Delivery;
use super::{NewDelivery, lane};
use crate::context::Chat;
use crate::conversations::ConversationLocation;
use crate::open_pages;
use crate::work::PeopleJob;
use nod_contract::card::Card;
use nod_contract::chat::DeliveryTarget;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_store::jobs::{Claim, Loaded, sql::Completion};

/// A message that is not stored yet.
#[derive(Debug)]
pub struct OutgoingMessage {
    delivery: Delivery,
    venue: ConversationLocation,
    lane: Uuid,
    /// Where it goes, if nothing that the database knows better can change it.
    target: Option<DeliveryTarget>,
}

impl OutgoingMessage {
    /// Creates a message from what [`enqueue`](super::enqueue) would store.
    #[must_use]
    pub fn new(venue: &ConversationLocation, new: &NewDelivery<'_>, now: Timestamp) -> Self {
        let delivery = Delivery {
            id: new.id,
            conversation: new.conversation,
            platform: new.platform.to_owned(),
            target: new.target.cloned(),
            opens_thread: new.opens_thread,
            card: new.card.clone(),
            file: None,
            version: 1,
            posted_version: None,
            posted_message: None,
            run: new.run,
            only_for: new.only_for,
            was_streamed: false,
            created_at: now,
        };
        // A thread that was still to be opened may be open by now.
        let here = || channel_target(venue).filter(|_| !venue.is_thread_pending);
        let target = delivery.target.clone().or_else(here);
        Self { delivery, venue: venue.clone(), lane: lane(venue, new.target), target }
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> DeliveryId {
        self.delivery.id
    }

    /// Replaces what it says.
    pub fn set_card(&mut self, card: Card) {
        self.delivery.card = card;
    }

    /// Stores it as [`enqueue`](super::enqueue) does, because something else in the commit refers to it or has to come after it.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn enqueue(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let delivery = &self.delivery;
        let new = NewDelivery {
            id: delivery.id,
            conversation: delivery.conversation,
            run: delivery.run,
            platform: &delivery.platform,
            target: delivery.target.as_ref(),
            opens_thread: delivery.opens_thread,
            card: &delivery.card,
            only_for: delivery.only_for,
        };
        super::sql::insert(conn, tenant, self.lane, &new, now).await
    }

    /// Returns the seconds to the lane's next post, if its job can begin with what is known here.
    fn pause(&self, intervals: &BTreeMap<String, f64>) -> Option<f64> {
        let needs_place = !self.delivery.card.is_empty()
            && matches!(
                self.target,
                Some(DeliveryTarget::Channel { .. } | DeliveryTarget::DirectMessage { .. })
            );
        intervals.get(&self.delivery.platform).copied().filter(|_| needs_place)
    }

    fn into_loaded(self) -> Loaded {
        let Self { delivery, venue, target, .. } = self;
        Box::new(LoadedDelivery { delivery, venue, target, is_put_off: false })
    }
}

/// Ends a job, sends these messages, and has the open home pages of a person updated. It is the last statement of its
/// commit. `enqueues` says that the commit has enqueued other jobs that are due: they are claimed.
///
/// # Errors
/// If the database does not answer, or if the lease was lost.
pub async fn finish_job(
    core: &Chat,
    conn: &mut PgConnection,
    claim: &Claim,
    messages: Vec<OutgoingMessage>,
    person: PersonId,
    enqueues: bool,
) -> sqlx::Result<()> {
    let mut completion = match enqueues {
        true => Completion::new(claim),
        false => Completion::of_lane(claim, messages.len()),
    };
    let now = completion.now;
    let finished = {
        let intervals = core.adapters.post_intervals();
        let pauses = messages.iter().map(|message| message.pause(&intervals));
        let mut sent: Vec<sql::SentMessage<'_>> = messages
            .iter()
            .zip(pauses)
            .map(|(message, pause)| sql::SentMessage::new(message, pause))
            .collect();
        sql::SentMessage::keep_leases(&mut sent, completion.places())?;
        let leased = sent.iter().filter(|message| message.is_leased()).count();
        completion.give_places(leased);
        // Those that nobody begins here are due, too.
        let claims = enqueues || leased < sent.len();
        if claims {
            completion.claim_all();
        }
        sql::finish_job(conn, claim, &completion, &sent, claims, person).await?
    };
    let mut messages: BTreeMap<DeliveryId, OutgoingMessage> =
        messages.into_iter().map(|message| (message.id(), message)).collect();
    completion.finish(finished.rows, |claim| match claim.job() {
        Ok(PeopleJob::DeliverMessage { delivery }) if finished.leased_jobs.contains(&claim.job) => {
            messages.remove(&delivery).map(OutgoingMessage::into_loaded)
        }
        _ => None,
    })?;
    if !finished.homes.is_empty() {
        // Their lanes are locked after all others, so they are not among those that were claimed.
        for home in &finished.homes {
            open_pages::enqueue_publish(conn, claim.tenant, home, now).await?;
        }
        claim.wake_after();
    }
    claim.load_claimed(conn).await
}
