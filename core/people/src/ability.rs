//! How an ability gets what it needs.

use sqlx::PgConnection;

use crate::context::Chat;
use crate::delivery;
use nod_contract::ids::ConversationId;
use nod_store::ability::{Ability, Asker};

/// Makes an ability, once there is a database and somebody to talk to.
pub type Plug = Box<dyn FnOnce(&Chat) -> Ability + Send>;

/// The conversation in which somebody asks, begun if new: in that thread of the place, or in one that is still to be
/// opened. Where it is another person's alone, the asker gets one of their own.
///
/// # Errors
/// When the database does not answer.
pub async fn conversation(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    thread: Option<&str>,
) -> sqlx::Result<ConversationId> {
    let Asker { tenant, platform, workspace, place, person, user, now } = *asker;
    let fresh = core.ids.next();
    let channel = delivery::sql::channel(conn, tenant, platform, workspace, place, user, fresh, now).await?;
    let found = delivery::sql::conversation(conn, tenant, channel, thread, core.id(), now).await?;
    let venue = delivery::sql::venue(conn, tenant, found).await?;
    let anothers =
        venue.alone_with.is_some_and(|with| with != person) || venue.user.is_some_and(|of| of != user);
    if !anothers {
        return Ok(found);
    }
    let own = delivery::sql::conversation(conn, tenant, channel, None, core.id(), now).await?;
    delivery::sql::alone_with(conn, tenant, own, person).await?;
    Ok(own)
}
