//! Channels, and the conversations in them: where each takes place and who reads it there.

use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use nod_contract::chat::{ChannelRef, Inbound};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, ConversationId, PersonId, RunId, TenantId};
use nod_store::ability::Asker;

/// Where a conversation takes place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ConversationLocationRow")]
pub struct ConversationLocation {
    pub conversation: ConversationId,
    pub channel: ChannelId,
    pub platform: String,
    pub workspace: String,
    pub channel_ref: ChannelRef,
    /// The user whose DM channel it is, by the platform's id.
    pub dm_user_id: Option<String>,
    /// The thread is not open yet.
    pub is_thread_pending: bool,
    pub private_with: Option<PersonId>,
}

impl ConversationLocation {
    /// Returns whether only one person reads what is posted there.
    pub fn is_private_location(&self) -> bool {
        self.channel_ref.is_dm || self.private_with.is_some()
    }
}

/// A row of the view `conversation_locations`, as queries select it.
#[derive(Deserialize)]
struct ConversationLocationRow {
    conversation: Uuid,
    channel: Uuid,
    platform: String,
    workspace: String,
    channel_ref: String,
    is_dm: bool,
    dm_user_ref: Option<String>,
    thread_ref: Option<String>,
    private_with: Option<Uuid>,
}

impl From<ConversationLocationRow> for ConversationLocation {
    fn from(row: ConversationLocationRow) -> Self {
        Self {
            conversation: ConversationId(row.conversation),
            channel: ChannelId(row.channel),
            platform: row.platform,
            workspace: row.workspace,
            dm_user_id: row.dm_user_ref,
            is_thread_pending: row.thread_ref.is_none(),
            channel_ref: ChannelRef {
                channel: row.channel_ref,
                is_dm: row.is_dm,
                thread: row.thread_ref.filter(|t| !t.is_empty()),
            },
            private_with: row.private_with.map(PersonId),
        }
    }
}

/// Returns the id of a platform's channel, created if new; `user` is there.
#[expect(clippy::too_many_arguments, reason = "a channel is known by all of these")]
pub async fn find_or_create_channel(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    place: &ChannelRef,
    user: &str,
    fresh: Uuid,
    now: Timestamp,
) -> sqlx::Result<ChannelId> {
    let id = sqlx::query_scalar!(
        "insert into channels (tenant_id, id, platform, workspace, channel_ref, is_dm, dm_user_ref, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (tenant_id, platform, workspace, channel_ref)
             do update set is_dm = excluded.is_dm, dm_user_ref = coalesce(channels.dm_user_ref, excluded.dm_user_ref)
         returning id",
        tenant.0,
        fresh,
        platform,
        workspace,
        place.channel,
        place.is_dm,
        place.is_dm.then_some(user),
        now
    )
    .fetch_one(conn)
    .await?;
    Ok(ChannelId(id))
}

/// The channel of a message.
pub(crate) struct MessageChannel {
    pub(crate) id: ChannelId,
    /// The user whose DM channel it is.
    pub(crate) dm_user: Option<String>,
    /// False if the thread had a conversation already.
    pub(crate) has_new_conversation: bool,
}

/// Returns the channel of a message, created if new, and inserts a conversation for its thread if there is none. A known
/// channel is not written to.
pub(crate) async fn insert_conversation(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    thread: Option<&str>,
    fresh: (ChannelId, ConversationId),
) -> sqlx::Result<MessageChannel> {
    let Asker { tenant, platform, workspace, place, user, now, .. } = *asker;
    let row = sqlx::query!(
        r#"with known as (
             select id, dm_user_ref from channels
             where tenant_id = $1 and platform = $2 and workspace = $3 and channel_ref = $4 and is_dm = $5
               and (dm_user_ref is not null or $6::text is null)),
         made as (
             insert into channels (tenant_id, id, platform, workspace, channel_ref, is_dm, dm_user_ref, created_at)
             select $1, $7, $2, $3, $4, $5, $6, $10 where not exists (select 1 from known)
             on conflict (tenant_id, platform, workspace, channel_ref)
                 do update set is_dm = excluded.is_dm, dm_user_ref = coalesce(channels.dm_user_ref, excluded.dm_user_ref)
             returning id, dm_user_ref),
         channel as (select * from known union all select * from made),
         fresh as (
             insert into conversations (tenant_id, id, channel_id, thread_ref, created_at)
             select $1, $8, channel.id, $9, $10 from channel
             on conflict (tenant_id, channel_id, thread_ref) do nothing returning id)
         select id as "id!", dm_user_ref, exists (select 1 from fresh) as "has_new_conversation!" from channel"#,
        tenant.0,
        platform,
        workspace,
        place.channel,
        place.is_dm,
        place.is_dm.then_some(user),
        fresh.0.0,
        fresh.1.0,
        thread,
        now
    )
    .fetch_one(conn)
    .await?;
    Ok(MessageChannel {
        id: ChannelId(row.id),
        dm_user: row.dm_user_ref,
        has_new_conversation: row.has_new_conversation,
    })
}

/// Returns the DM channel of a user, if Nod and they have talked there.
pub async fn find_dm_channel(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    user: &str,
) -> sqlx::Result<Option<ChannelId>> {
    let id = sqlx::query_scalar!(
        "select id from channels where tenant_id = $1 and platform = $2 and workspace = $3 and is_dm and dm_user_ref = $4
         order by created_at limit 1",
        tenant.0,
        platform,
        workspace,
        user
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ChannelId))
}

/// Returns the channel, if it is known.
pub async fn find_channel(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    channel: &str,
) -> sqlx::Result<Option<ChannelId>> {
    let id = sqlx::query_scalar!(
        "select id from channels where tenant_id = $1 and platform = $2 and workspace = $3 and channel_ref = $4",
        tenant.0,
        platform,
        workspace,
        channel
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ChannelId))
}

/// Returns the channels that have this id on a platform, in any of its workspaces.
pub async fn list_channels_by_ref(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    channel: &str,
) -> sqlx::Result<Vec<ChannelId>> {
    let ids = sqlx::query_scalar!(
        "select id from channels where tenant_id = $1 and platform = $2 and channel_ref = $3 and not is_dm",
        tenant.0,
        platform,
        channel
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(ChannelId).collect())
}

/// The stored value for a channel that wants only those follow-ups handled that mention Nod.
pub const FOLLOW_MENTIONS_ONLY: &str = "mentions";

/// Returns the platform's id of a channel, and whether only those follow-ups are handled that mention Nod.
pub async fn load_channel_settings(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
) -> sqlx::Result<Option<(String, bool)>> {
    let row = sqlx::query!(
        "select channel_ref, follow_mode from channels where tenant_id = $1 and id = $2",
        tenant.0,
        channel.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.channel_ref, row.follow_mode == FOLLOW_MENTIONS_ONLY)))
}

pub async fn set_follow_mode(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
    mention_only: bool,
) -> sqlx::Result<()> {
    let follow = if mention_only { FOLLOW_MENTIONS_ONLY } else { "all" };
    sqlx::query!(
        "update channels set follow_mode = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        channel.0,
        follow
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the conversation of a thread, created if new.
pub async fn find_or_create_conversation(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
    thread: Option<&str>,
    fresh: ConversationId,
    now: Timestamp,
) -> sqlx::Result<ConversationId> {
    // Updating a key would lock the row against writers of its messages, so a conflict only reads.
    let made = sqlx::query_scalar!(
        "insert into conversations (tenant_id, id, channel_id, thread_ref, created_at) values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, channel_id, thread_ref) do nothing returning id",
        tenant.0,
        fresh.0,
        channel.0,
        thread,
        now
    )
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(id) = made {
        return Ok(ConversationId(id));
    }
    let id = sqlx::query_scalar!(
        "select id from conversations where tenant_id = $1 and channel_id = $2 and thread_ref = $3",
        tenant.0,
        channel.0,
        thread
    )
    .fetch_one(conn)
    .await?;
    Ok(ConversationId(id))
}

pub async fn load_location(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
) -> sqlx::Result<ConversationLocation> {
    let venue = sqlx::query_scalar!(
        r#"select to_jsonb(v) as "location!: Json<ConversationLocation>" from conversation_locations v where v.tenant_id = $1 and v.conversation = $2"#,
        tenant.0,
        conversation.0
    )
    .fetch_one(conn)
    .await?;
    Ok(venue.0)
}

/// Sets the thread that a message opened for a conversation. A user can write into the thread before we know that it is
/// posted, and so begin another conversation there. Then that one has the thread, and this one finds it by its opening
/// message.
pub async fn set_thread_ref(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    thread: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update conversations c set thread_ref = $3
         where c.tenant_id = $1 and c.id = $2 and c.thread_ref is null and not exists (
             select 1 from conversations o
             where o.tenant_id = $1 and o.channel_id = c.channel_id and o.thread_ref = $3)",
        tenant.0,
        conversation.0,
        thread
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records when a user whom Nod does not listen to last wrote in a conversation that Nod follows; nothing else of it.
pub async fn mark_overheard(
    conn: &mut PgConnection,
    tenant: TenantId,
    inbound: &Inbound,
    place: &ChannelRef,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update conversations c set strangers_at = greatest(c.strangers_at, $6) from channels ch
         where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and ch.channel_ref = $4
           and c.tenant_id = ch.tenant_id and c.channel_id = ch.id and c.thread_ref = $5",
        tenant.0,
        inbound.platform,
        inbound.workspace,
        place.channel,
        place.thread.as_deref().unwrap_or_default(),
        inbound.at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes a conversation that began in a channel continue with only one person.
pub async fn set_private_with(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    person: PersonId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update conversations set private_with = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        conversation.0,
        person.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Nod cannot post in the channel: the conversation continues with the person whom it answered.
pub async fn set_private_with_requester(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    run: Option<RunId>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update conversations c set private_with = r.person_id from runs r
         where c.tenant_id = $1 and c.id = $2 and r.tenant_id = $1 and r.id = $3",
        tenant.0,
        conversation.0,
        run.map(|r| r.0)
    )
    .execute(conn)
    .await?;
    Ok(())
}
