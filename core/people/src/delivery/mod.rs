//! Everything that leaves is a row first. The deliver job posts it under the row's id, records where it
//! stands, and looks before it posts again. A card that changes is replaced where it stands.
//!
//! Jobs of one channel run in order, so that messages arrive as they were said.

pub mod open;
mod pages;
mod post;
pub mod sql;

use sqlx::PgConnection;
use uuid::Uuid;

pub use pages::{beginning, pages};
pub use post::{deliver, direct};
pub use sql::{NewDelivery, Venue};

use crate::work::PeopleJob;
use nod_contract::card::Card;
use nod_contract::chat::DeliveryTarget;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, TenantId, named_lane_id};
use nod_store::jobs::sql as jobs;

/// Sends a message: its row and its job, in the caller's transaction.
pub async fn send(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &Venue,
    new: &NewDelivery<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, lane(venue, new.target), new, now).await
}

/// Shows another card where a message stands or is to stand.
pub async fn show(
    conn: &mut PgConnection,
    tenant: TenantId,
    delivery: DeliveryId,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (conversation, target, platform) = sql::aim(conn, tenant, delivery).await?;
    // What is asked of somebody elsewhere is no part of the conversation's platform.
    let venue = Venue { platform, ..sql::venue(conn, tenant, conversation).await? };
    let work = PeopleJob::Deliver { delivery };
    // The lane before the row, as the deliver job does: the other order could lock both for ever.
    jobs::enqueue(conn, tenant, lane(&venue, target.as_ref()), &work, now, now).await?;
    sql::change(conn, tenant, delivery, card).await
}

/// The id of the line that stands in the thread for a message that went to one person. It follows from the
/// message's, so that the line can be found when the message could not be shown.
pub fn line_of(delivery: DeliveryId) -> DeliveryId {
    DeliveryId(named_lane_id(&["line", &delivery.to_string()]))
}

/// The id of a further message of what takes several, by the id of the first.
pub fn page_of(first: DeliveryId, page: usize) -> DeliveryId {
    if page == 0 {
        first
    } else {
        DeliveryId(named_lane_id(&["page", &page.to_string(), &first.to_string()]))
    }
}

/// The id of the message by which one that went to one person alone was shared with the others.
pub fn shared(delivery: DeliveryId) -> DeliveryId {
    DeliveryId(named_lane_id(&["shared", &delivery.to_string()]))
}

/// The lane in which the messages to a target are posted, or to the conversation's own place where there is none.
pub fn lane(venue: &Venue, target: Option<&DeliveryTarget>) -> Uuid {
    let person = |workspace, user| named_lane_id(&["person", &venue.platform, workspace, user]);
    let (workspace, channel) = match target {
        Some(
            DeliveryTarget::DirectMessage { workspace, user }
            | DeliveryTarget::Ephemeral { workspace, user, .. },
        ) => {
            return person(workspace, user);
        }
        Some(DeliveryTarget::Channel { workspace, place }) => (workspace, &place.channel),
        None => (&venue.workspace, &venue.place.channel),
    };
    match &venue.user {
        Some(user) if *channel == venue.place.channel && venue.alone_with.is_none() => {
            person(workspace, user)
        }
        _ => named_lane_id(&["channel", &venue.platform, workspace, channel]),
    }
}
