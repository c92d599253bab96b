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
    let Asker { tenant, platform, workspace, place, person, user, now } = *asker;
    let fresh = core.ids.next();
    let channel =
        delivery::sql::find_or_create_channel(conn, tenant, platform, workspace, place, user, fresh, now)
            .await?;
    let found =
        delivery::sql::find_or_create_conversation(conn, tenant, channel, thread, core.id(), now).await?;
    let venue = delivery::sql::load_location(conn, tenant, found).await?;
    let anothers = venue.private_with.is_some_and(|with| with != person)
        || venue.dm_user_id.is_some_and(|of| of != user);
    if !anothers {
        return Ok(found);
    }
    let own = delivery::sql::find_or_create_conversation(conn, tenant, channel, None, core.id(), now).await?;
    delivery::sql::set_private_with(conn, tenant, own, person).await?;
    Ok(own)
}
