//! Every outgoing message is stored as a row first. The deliver job posts it under the row's id, records where it is
//! posted, and looks it up before it posts again. A changed card replaces the posted one.
//!
//! Jobs of one channel run in order, so that messages arrive in the order in which they were sent.

pub mod open;
mod outgoing;
mod pages;
mod post;
pub mod sql;

use sqlx::PgConnection;
use uuid::Uuid;

pub use outgoing::{OutgoingMessage, finish_job};
pub use pages::{split_into_messages, truncate_as_message};
pub use post::{deliver, dm_target, load_for_post};
pub use sql::NewDelivery;

use crate::conversations::ConversationLocation;
use nod_contract::card::{Button, Card, OnClick};
use nod_contract::chat::DeliveryTarget;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId, TenantId, named_lane_id};

/// Sends a message: stores its row and its job in the caller's transaction.
pub async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    new: &NewDelivery<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, lane(venue, new.target), new, now).await
}

/// Replaces the card of a message that is posted or still to be posted.
pub async fn update_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    delivery: DeliveryId,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (target, platform, venue) = sql::load_target(conn, tenant, delivery).await?;
    // A message to a person elsewhere can be on another platform than its conversation.
    let venue = ConversationLocation { platform, ..venue };
    sql::update_and_enqueue(conn, tenant, lane(&venue, target.as_ref()), delivery, card, now).await
}

/// Returns the id of a run's line in the thread: it says what went to one person only. Of several such messages the
/// line says the last.
pub fn line_id(run: RunId) -> DeliveryId {
    DeliveryId(named_lane_id(&["line of a run", &run.to_string()]))
}

/// Changes what a line in a thread says; `false` if there is no such line. Its buttons that show somebody a message whose
/// DM channel was closed stay: nothing else leads to that message.
pub async fn update_line(
    conn: &mut PgConnection,
    tenant: TenantId,
    line: DeliveryId,
    mut card: Card,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let Some((before, _)) = sql::load(conn, tenant, line).await? else { return Ok(false) };
    let shows = |button: &&Button| {
        matches!(&button.on_click, OnClick::Action(action) if action.kind == post::SHOW_PRIVATELY)
            && !card.buttons.contains(button)
    };
    let kept: Vec<Button> = before.card.buttons.iter().filter(shows).cloned().collect();
    card.buttons.extend(kept);
    update_card(conn, tenant, line, &card, now).await?;
    Ok(true)
}

/// Returns the id of the line that earlier versions posted for each such message.
pub fn earlier_line_id(delivery: DeliveryId) -> DeliveryId {
    DeliveryId(named_lane_id(&["line", &delivery.to_string()]))
}

/// Returns the id of a further message of a text that takes several, by the id of the first.
pub fn page_id(first: DeliveryId, page: usize) -> DeliveryId {
    if page == 0 {
        first
    } else {
        DeliveryId(named_lane_id(&["page", &page.to_string(), &first.to_string()]))
    }
}

/// Returns the id of the message by which one that went to only one person was shared with the others.
pub fn shared_copy_id(delivery: DeliveryId) -> DeliveryId {
    DeliveryId(named_lane_id(&["shared", &delivery.to_string()]))
}

/// Returns the lane for messages to a target, or to the conversation's own channel if there is none.
pub fn lane(venue: &ConversationLocation, target: Option<&DeliveryTarget>) -> Uuid {
    let person = |workspace, user| named_lane_id(&["person", &venue.platform, workspace, user]);
    let (workspace, channel) = match target {
        Some(
            DeliveryTarget::DirectMessage { workspace, user }
            | DeliveryTarget::Ephemeral { workspace, user, .. },
        ) => {
            return person(workspace, user);
        }
        Some(DeliveryTarget::Channel { workspace, place }) => (workspace, &place.channel),
        None => (&venue.workspace, &venue.channel_ref.channel),
    };
    match &venue.dm_user_id {
        Some(user) if *channel == venue.channel_ref.channel && venue.private_with.is_none() => {
            person(workspace, user)
        }
        _ => named_lane_id(&["channel", &venue.platform, workspace, channel]),
    }
}
