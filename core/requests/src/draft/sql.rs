//! Rows of drafts.

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::OpenDraft;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, DraftId, PersonId, RunId, TenantId};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::draft::{CloseReason, Draft};
use nod_store::jobs::sql::{from_json, to_json};
use nod_store::steps;

/// A draft as loaded.
pub struct StoredDraft {
    pub id: DraftId,
    pub conversation: ConversationId,
    pub person: PersonId,
    pub run: RunId,
    pub draft: Draft,
    pub status: String,
    pub delivery: DeliveryId,
    /// Whether it contains text from outside.
    pub outside: bool,
}

/// The current state of a draft, to be stored.
pub struct NewDraft<'a> {
    pub id: DraftId,
    pub conversation: ConversationId,
    pub person: PersonId,
    pub run: RunId,
    pub open_draft: &'a OpenDraft,
    pub audience: Audience,
    pub delivery: DeliveryId,
}

/// Stores the current state of a draft: open, in the conversation where it was last written.
pub async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    keep: &NewDraft<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let draft = &keep.open_draft.draft;
    let outside = keep.open_draft.provenance.sources();
    sqlx::query!(
        "insert into drafts (tenant_id, id, conversation_id, person_id, run_id, draft_ref, draft, only_for, untrusted_sources,
             status, delivery_id, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $11, $11)
         on conflict (tenant_id, person_id, draft_ref) do update set conversation_id = excluded.conversation_id,
             run_id = excluded.run_id, draft = excluded.draft, only_for = excluded.only_for,
             untrusted_sources = excluded.untrusted_sources, status = 'open', delivery_id = excluded.delivery_id,
             updated_at = excluded.updated_at, closed_at = null",
        tenant.0,
        keep.id.0,
        keep.conversation.0,
        keep.person.0,
        keep.run.0,
        draft.id,
        to_json(draft)? as _,
        steps::audience_person_id(keep.audience),
        &outside,
        keep.delivery.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

struct DraftRow {
    id: Uuid,
    conversation_id: Uuid,
    person_id: Uuid,
    run_id: Uuid,
    draft: Value,
    status: String,
    delivery_id: Uuid,
    untrusted_sources: Vec<String>,
}

impl DraftRow {
    fn into_stored_draft(self) -> sqlx::Result<StoredDraft> {
        Ok(StoredDraft {
            id: DraftId(self.id),
            conversation: ConversationId(self.conversation_id),
            person: PersonId(self.person_id),
            run: RunId(self.run_id),
            draft: from_json(self.draft)?,
            status: self.status,
            delivery: DeliveryId(self.delivery_id),
            outside: !self.untrusted_sources.is_empty(),
        })
    }
}

pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DraftId,
) -> sqlx::Result<Option<StoredDraft>> {
    let raw = sqlx::query_as!(
        DraftRow,
        "select id, conversation_id, person_id, run_id, draft, status, delivery_id, untrusted_sources
         from drafts where tenant_id = $1 and id = $2",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    raw.map(DraftRow::into_stored_draft).transpose()
}

/// Loads a person's draft by the provider's id.
pub async fn find_by_provider_id(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    draft: &str,
) -> sqlx::Result<Option<StoredDraft>> {
    let raw = sqlx::query_as!(
        DraftRow,
        "select id, conversation_id, person_id, run_id, draft, status, delivery_id, untrusted_sources
         from drafts where tenant_id = $1 and person_id = $2 and draft_ref = $3",
        tenant.0,
        person.0,
        draft
    )
    .fetch_optional(conn)
    .await?;
    raw.map(DraftRow::into_stored_draft).transpose()
}

/// Where a person's drafts are searched.
pub struct DraftScope {
    pub conversation: ConversationId,
    pub person: PersonId,
    pub run: RunId,
    /// Whether other people read this conversation. If not, drafts shown only to the person also count, from any
    /// conversation, because their cards are posted here.
    pub is_shared: bool,
}

/// Loads what the person's last run here left: the open drafts, the newest first, and the mail thread it had in view. A
/// draft counts as Nod's own work if an effect created it in the conversation of its row.
pub async fn load_open_drafts(
    conn: &mut PgConnection,
    tenant: TenantId,
    here: &DraftScope,
) -> sqlx::Result<(Vec<OpenDraft>, Option<String>)> {
    let rows = sqlx::query!(
        r#"with last as (
             select r.id, r.state->>'thread' as thread from runs r
             where r.tenant_id = $1 and r.conversation_id = $2 and r.person_id = $3 and r.id <> $4
               and r.workflow = 'chat'
             order by r.created_at desc limit 1)
         select (select thread from last) as thread, d.draft as "draft?", d.only_for as "only_for?",
             d.untrusted_sources as "untrusted_sources?", coalesce(d.run_id = (select id from last), false) as "latest!",
             exists (
                 select 1 from effects e
                 where e.tenant_id = $1 and e.person_id = $3 and e.conversation_id = d.conversation_id and e.status = 'done'
                   and e.draft is null and e.outcome#>>'{Ok,leaves,what,id}' = d.draft_ref) as "made!"
         from (select) one left join drafts d on d.tenant_id = $1 and d.person_id = $3 and d.status = 'open'
           and (d.conversation_id = $2 or (not $5 and d.only_for = $3))
         order by d.updated_at desc limit 10"#,
        tenant.0,
        here.conversation.0,
        here.person.0,
        here.run.0,
        here.is_shared
    )
    .fetch_all(conn)
    .await?;
    let thread = rows.first().and_then(|row| row.thread.clone());
    let mut open = Vec::new();
    for row in rows {
        let Some(draft) = row.draft else { continue };
        let outside = row.untrusted_sources.unwrap_or_default();
        open.push(OpenDraft {
            draft: from_json(draft)?,
            audience: row.only_for.map_or(Audience::Channel, |person| Audience::Person(PersonId(person))),
            provenance: Provenance::from_sources(outside),
            is_text_in_view: false,
            is_most_recent: row.latest,
            made_by_nod: row.made,
        });
    }
    Ok((open, thread))
}

/// A draft in a list.
pub(crate) struct ListedDraft {
    pub(crate) draft: Draft,
    pub(crate) untrusted_sources: Vec<String>,
    pub(crate) updated_at: Timestamp,
}

/// Returns a person's open drafts, the newest first.
pub(crate) async fn list_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<ListedDraft>> {
    let rows = sqlx::query!(
        "select draft, untrusted_sources, updated_at from drafts
         where tenant_id = $1 and person_id = $2 and status = 'open' order by updated_at desc",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    let listed = rows.into_iter().map(|row| {
        let draft = from_json(row.draft)?;
        Ok(ListedDraft { draft, untrusted_sources: row.untrusted_sources, updated_at: row.updated_at })
    });
    listed.collect()
}

/// open → discarding; returns false if it is not open.
pub(super) async fn mark_discarding(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DraftId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update drafts set status = 'discarding', updated_at = $3
         where tenant_id = $1 and id = $2 and status = 'open'",
        tenant.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// discarding → open, in the state in which it was found.
pub(super) async fn mark_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DraftId,
    draft: &Draft,
    only_for: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update drafts set status = 'open', draft = $3, only_for = coalesce($4, only_for), updated_at = $5
         where tenant_id = $1 and id = $2 and status = 'discarding'",
        tenant.0,
        id.0,
        to_json(draft)? as _,
        only_for.map(|person| person.0),
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// open or discarding → its end; returns false if it had ended already.
pub(super) async fn mark_closed(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DraftId,
    how: CloseReason,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update drafts set status = $3, updated_at = $4, closed_at = $4
         where tenant_id = $1 and id = $2 and status in ('open', 'discarding')",
        tenant.0,
        id.0,
        how.as_str(),
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
