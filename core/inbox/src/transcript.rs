//! The content of a DM channel, read from the rows. It serves a platform that stores no messages itself, such as a
//! terminal: there the row is the message.

use sqlx::PgConnection;

use nod_contract::card::Card;
use nod_contract::chat::ChannelRef;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, TenantId};
use nod_store::jobs::sql::from_json;

/// Limit of entries that are shown.
const MAX_ENTRIES: i64 = 50;

/// The current content.
#[derive(Debug)]
pub struct Transcript {
    /// Oldest first.
    pub lines: Vec<TranscriptEntry>,
    /// A run is queued or running.
    pub is_run_active: bool,
}

/// One entry.
#[derive(Debug)]
pub struct TranscriptEntry {
    /// When it was written.
    pub at: Timestamp,
    /// Its author and content.
    pub body: EntryBody,
}

/// An entry's author and content.
#[derive(Debug)]
pub enum EntryBody {
    /// A person's message.
    Person(String),
    /// A message of Nod with its version, which grows with each change.
    Nod { id: DeliveryId, version: i32, card: Card },
}

/// Loads the newest entries of a DM channel.
pub(crate) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    place: &ChannelRef,
) -> sqlx::Result<Transcript> {
    let rows = sqlx::query!(
        r#"with here as (
             select c.id from conversations c
             join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
             where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and ch.channel_ref = $4)
         select * from (
             (select d.created_at as "at!", d.id as "id?", d.version as "version?", d.card as "card?",
                  null::text as "words?"
              from deliveries d join here on d.conversation_id = here.id
              where d.tenant_id = $1 and d.platform = $2 and d.posted_message is not null order by d.created_at desc limit $5)
             union all
             (select m.at, null, null, null, m.turn->>'text'
              from messages m join here on m.conversation_id = here.id
              where m.tenant_id = $1 and m.role = 'human' and m.message_ref is not null
              order by m.seq desc limit $5)) line
         order by 1 desc limit $5"#,
        tenant.0,
        platform,
        workspace,
        place.channel,
        MAX_ENTRIES
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows.into_iter().rev() {
        let said = match (row.id, row.version, row.card, row.words) {
            (Some(id), Some(version), Some(card), _) => {
                EntryBody::Nod { id: DeliveryId(id), version, card: from_json(card)? }
            }
            (_, _, _, words) => EntryBody::Person(words.unwrap_or_default()),
        };
        lines.push(TranscriptEntry { at: row.at, body: said });
    }
    let busy = sqlx::query_scalar!(
        r#"select exists (
             select 1 from runs r
             join conversations c on c.tenant_id = r.tenant_id and c.id = r.conversation_id
             join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
             where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and ch.channel_ref = $4
               and r.workflow = 'chat' and r.status in ('queued', 'running')) as "busy!""#,
        tenant.0,
        platform,
        workspace,
        place.channel
    )
    .fetch_one(conn)
    .await?;
    Ok(Transcript { lines, is_run_active: busy })
}
