//! The address of a message in its chat.

use crate::context::Chat;
use crate::conversations::ConversationLocation;
use crate::delivery::sql::Delivery;
use nod_contract::chat::{ChannelRef, DeliveryTarget};

/// Returns the permalink of a card for its reader, if it is posted.
#[must_use]
pub fn of_card(core: &Chat, card: &Delivery, venue: &ConversationLocation) -> Option<String> {
    // An ephemeral message disappears on reload.
    if matches!(card.target, Some(DeliveryTarget::Ephemeral { .. })) {
        return None;
    }
    let posted = card.posted_message.as_ref()?;
    // A message is in the conversation's thread only if it is in the conversation's own channel.
    let at_home = posted.channel == venue.channel_ref.channel;
    let place = ChannelRef {
        channel: posted.channel.clone(),
        is_dm: venue.channel_ref.is_dm || !at_home,
        thread: venue.channel_ref.thread.clone().filter(|_| at_home),
    };
    core.adapters.get(&card.platform)?.permalink(&place, &posted.message)
}
