//! How an ability gets what it needs.

use sqlx::PgConnection;

use crate::context::Chat;
use crate::{conversations, people};
use nod_contract::ids::ConversationId;
use nod_store::ability::{Ability, Asker, PickedMessage};

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
    let channel = conversations::insert_conversation(conn, asker, thread, (core.id(), inserted)).await?;
    let is_anothers_dm = channel.dm_user.is_some_and(|of| of != user);
    let (channel, is_new) = (channel.id, channel.has_new_conversation);
    if !is_anothers_dm {
        if is_new {
            return Ok(inserted);
        }
        let found =
            conversations::find_or_create_conversation(conn, tenant, channel, thread, core.id(), now).await?;
        let venue = conversations::load_location(conn, tenant, found).await?;
        if venue.private_with.is_none_or(|with| with == person) {
            return Ok(found);
        }
    }
    let own = conversations::find_or_create_conversation(conn, tenant, channel, None, core.id(), now).await?;
    conversations::set_private_with(conn, tenant, own, person).await?;
    Ok(own)
}

/// Returns a conversation that only the asker reads: the top level of their DM channel, so that a later "make it shorter"
/// there is understood. If Nod does not know that channel yet, it is a separate conversation, whose messages go to them.
///
/// # Errors
/// If the database does not answer.
pub async fn find_or_create_private_conversation(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
) -> sqlx::Result<ConversationId> {
    let Asker { tenant, platform, workspace, person, user, now, .. } = *asker;
    if let Some(line) = conversations::find_dm_channel(conn, tenant, platform, workspace, user).await? {
        return conversations::find_or_create_conversation(conn, tenant, line, Some(""), core.id(), now)
            .await;
    }
    let conversation = find_or_create_conversation(core, conn, asker, None).await?;
    conversations::set_private_with(conn, tenant, conversation, person).await?;
    Ok(conversation)
}

/// Returns the name of a picked message's author.
///
/// # Errors
/// If the database does not answer.
pub async fn load_author_name(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    picked: &PickedMessage<'_>,
) -> sqlx::Result<String> {
    let Asker { tenant, platform, workspace, .. } = *asker;
    let author = match picked.author {
        Some(user) => people::sql::find_by_user(conn, tenant, platform, workspace, user).await?,
        None => None,
    };
    Ok(author.as_ref().map_or("somebody", |author| author.display_name()).to_owned())
}

/// Returns how a picked message is named as a source of outside text.
#[must_use]
pub fn source_of_message(author: &str) -> String {
    format!("a chat message from {author}")
}
