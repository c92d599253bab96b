//! How an ability gets what it needs.

use sqlx::PgConnection;

use crate::context::Chat;
use crate::delivery;
use nod_contract::ids::ConversationId;
use nod_store::ability::{Ability, Asker};

/// Creates an ability, once there are a database and chat platforms.
pub type Plug = Box<dyn FnOnce(&Chat) -> Ability + Send>;

/// Returns the conversation in which a person asks, created if new: in that thread of the channel, or in a thread that
/// is still to be opened. If the conversation found is private to another person, the asker gets one of their own.
///
/// # Errors
/// If the database does not answer.
pub async fn find_or_create_conversation(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    thread: Option<&str>,
) -> sqlx::Result<ConversationId> {
    let Asker { tenant, person, user, now, .. } = *asker;
    let inserted: ConversationId = core.id();
    let channel = delivery::sql::insert_conversation(conn, asker, thread, (core.id(), inserted)).await?;
    let is_anothers_dm = channel.dm_user.is_some_and(|of| of != user);
    let (channel, is_new) = (channel.id, channel.has_new_conversation);
    if !is_anothers_dm {
        if is_new {
            return Ok(inserted);
        }
        let found =
            delivery::sql::find_or_create_conversation(conn, tenant, channel, thread, core.id(), now).await?;
        let venue = delivery::sql::load_location(conn, tenant, found).await?;
        if venue.private_with.is_none_or(|with| with == person) {
            return Ok(found);
        }
    }
    let own = delivery::sql::find_or_create_conversation(conn, tenant, channel, None, core.id(), now).await?;
    delivery::sql::set_private_with(conn, tenant, own, person).await?;
    Ok(own)
}
