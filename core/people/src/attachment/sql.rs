//! Rows of files.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{AttachmentText, StoredAttachment};
use nod_contract::chat::Attachment;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, RunId, TenantId};

pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    conversation: ConversationId,
    run: RunId,
    file: &Attachment,
    now: Timestamp,
) -> sqlx::Result<()> {
    let shown = |text: &str| text.replace('\0', "\u{FFFD}");
    sqlx::query!(
        "insert into attachments (tenant_id, id, conversation_id, run_id, name, media_type, size, url, status, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9)",
        tenant.0,
        id,
        conversation.0,
        run.0,
        shown(&file.name),
        shown(&file.media_type),
        file.size,
        file.url.as_deref().map(shown),
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns those files of a run that are not read yet.
pub(super) async fn list_unread(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Vec<(Uuid, Attachment)>> {
    let rows = sqlx::query!(
        "select f.id, f.name, f.media_type, f.size, f.url from attachments f
         join runs r on r.tenant_id = f.tenant_id and r.id = f.run_id
         where f.tenant_id = $1 and f.run_id = $2 and f.conversation_id = r.conversation_id
             and f.status = 'pending' order by f.created_at, f.id",
        tenant.0,
        run.0
    )
    .fetch_all(conn)
    .await?;
    let file = |name, media_type, size, url| Attachment { name, media_type, size, url };
    Ok(rows.into_iter().map(|r| (r.id, file(r.name, r.media_type, r.size, r.url))).collect())
}

pub(super) async fn set_text(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    read: &Result<String, String>,
) -> sqlx::Result<()> {
    let (status, content) = match read {
        Ok(words) => ("extracted", words),
        Err(why) => ("failed", why),
    };
    sqlx::query!(
        "update attachments set status = $3, content = $4 where tenant_id = $1 and id = $2",
        tenant.0,
        id,
        status,
        content
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the latest files of a conversation, oldest first.
pub async fn list_by_conversation(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    run: RunId,
) -> sqlx::Result<Vec<AttachmentText>> {
    let rows = sqlx::query!(
        r#"select name, run_id, status, coalesce(content, '') as "content!" from attachments
         where tenant_id = $1 and conversation_id = $2 and status <> 'pending'
         order by created_at desc, id desc limit 10"#,
        tenant.0,
        conversation.0
    )
    .fetch_all(conn)
    .await?;
    let file = |name, of: Uuid, status: String, content| AttachmentText {
        name,
        is_from_this_run: of == run.0,
        text: if status == "extracted" { Ok(content) } else { Err(content) },
    };
    Ok(rows.into_iter().rev().map(|r| file(r.name, r.run_id, r.status, r.content)).collect())
}

/// Returns the newest file of a conversation with that name.
pub(super) async fn find_by_name(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    name: &str,
) -> sqlx::Result<Option<StoredAttachment>> {
    sqlx::query_as!(
        StoredAttachment,
        "select id, name, media_type from attachments where tenant_id = $1 and conversation_id = $2 and lower(trim(name)) = lower($3)
         order by created_at desc, id desc limit 1",
        tenant.0,
        conversation.0,
        name
    )
    .fetch_optional(conn)
    .await
}

/// Returns the platform on which a file of a conversation is stored, and its address and kind there.
pub(super) async fn find_source(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    id: Uuid,
) -> sqlx::Result<Option<(String, String, String)>> {
    let row = sqlx::query!(
        r#"select ch.platform, f.url as "url!", f.media_type from attachments f
         join conversations c on c.tenant_id = f.tenant_id and c.id = f.conversation_id
         join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
         where f.tenant_id = $1 and f.conversation_id = $2 and f.id = $3 and f.url is not null"#,
        tenant.0,
        conversation.0,
        id
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.platform, row.url, row.media_type)))
}

/// Returns the files of the newest message of a conversation that has any.
pub async fn list_newest(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
) -> sqlx::Result<Vec<Attachment>> {
    sqlx::query_as!(
        Attachment,
        "select name, media_type, size, url from attachments
         where tenant_id = $1 and conversation_id = $2 and run_id = (
             select run_id from attachments where tenant_id = $1 and conversation_id = $2
             order by created_at desc, id desc limit 1)
         order by created_at, id",
        tenant.0,
        conversation.0
    )
    .fetch_all(conn)
    .await
}
