//! Rows of link codes, and the move of one person's rows to another.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, TenantId};
use nod_store::blobs::{self, BlobOwner};

/// A code that is shown.
pub(super) struct NewLinkCode<'a> {
    pub(super) id: Uuid,
    pub(super) person: PersonId,
    pub(super) conversation: ConversationId,
    pub(super) code_mac: &'a str,
    pub(super) expires_at: Timestamp,
}

/// Replaces the code that this person was shown before, and deletes expired ones.
pub(super) async fn upsert_code(
    conn: &mut PgConnection,
    tenant: TenantId,
    shown: &NewLinkCode<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from link_codes where tenant_id = $1 and (person_id = $2 or expires_at <= $3)",
        tenant.0,
        shown.person.0,
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into link_codes (tenant_id, id, person_id, conversation_id, code_mac, expires_at)
         values ($1, $2, $3, $4, $5, $6)",
        tenant.0,
        shown.id,
        shown.person.0,
        shown.conversation.0,
        shown.code_mac,
        shown.expires_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the person who shows a code.
pub(super) async fn find_code_owner(
    conn: &mut PgConnection,
    tenant: TenantId,
    mac: &str,
    now: Timestamp,
) -> sqlx::Result<Option<PersonId>> {
    let person = sqlx::query_scalar!(
        "select person_id from link_codes where tenant_id = $1 and code_mac = $2 and expires_at > $3",
        tenant.0,
        mac,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(person.map(PersonId))
}

/// Marks a code as entered. Returns `None` if another person entered it before, or it no longer exists.
pub(super) async fn mark_entered(
    conn: &mut PgConnection,
    tenant: TenantId,
    mac: &str,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!(
        "update link_codes set entered_by = $3
         where tenant_id = $1 and code_mac = $2 and expires_at > $4 and person_id <> $3
           and (entered_by is null or entered_by = $3)
         returning id",
        tenant.0,
        mac,
        by.0,
        now
    )
    .fetch_optional(conn)
    .await
}

/// Locks a code that this person entered and returns who shows it, and in which conversation.
pub(super) async fn load_entered(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Option<(PersonId, ConversationId)>> {
    let row = sqlx::query!(
        "select person_id, conversation_id from link_codes
         where tenant_id = $1 and id = $2 and entered_by = $3 and expires_at > $4 for update",
        tenant.0,
        id,
        by.0,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (PersonId(row.person_id), ConversationId(row.conversation_id))))
}

/// The facts that decide which of two people survives.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) id: Uuid,
    /// A platform verified their address.
    pub(super) told: bool,
    /// They have an unfinished run or effect.
    pub(super) busy: bool,
}

/// Locks and loads both, so that nothing begins for either meanwhile.
pub(super) async fn lock_both(
    conn: &mut PgConnection,
    tenant: TenantId,
    one: PersonId,
    other: PersonId,
) -> sqlx::Result<Vec<Candidate>> {
    // The locks are separate statements: after a wait for a lock, only the next statement sees what was committed
    // meanwhile. Identities are locked before people, as when a profile is stored.
    sqlx::query!(
        "select user_ref from identities where tenant_id = $1 and person_id in ($2, $3)
         order by platform, workspace, user_ref for update",
        tenant.0,
        one.0,
        other.0
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query!(
        "select id from people where tenant_id = $1 and id in ($2, $3) order by id for update",
        tenant.0,
        one.0,
        other.0
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query_as!(
        Candidate,
        r#"select p.id, p.email is not null as "told!",
             exists (select 1 from runs r where r.tenant_id = $1 and r.person_id = p.id
                 and r.status in ('queued', 'running', 'waiting'))
             or exists (select 1 from effects e where e.tenant_id = $1 and e.person_id = p.id
                 and e.status in ('planned', 'started')) as "busy!"
         from people p where p.tenant_id = $1 and p.id in ($2, $3)"#,
        tenant.0,
        one.0,
        other.0
    )
    .fetch_all(conn)
    .await
}

/// Returns whether both have an identity in the same workspace.
pub(super) async fn is_sharing_workspace(
    conn: &mut PgConnection,
    tenant: TenantId,
    one: PersonId,
    other: PersonId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from identities a
             join identities b on b.tenant_id = a.tenant_id and b.platform = a.platform and b.workspace = a.workspace
             where a.tenant_id = $1 and a.person_id = $2 and b.person_id = $3) as "neighbours!""#,
        tenant.0,
        one.0,
        other.0
    )
    .fetch_one(conn)
    .await
}

/// Deletes what both have and only one can: the older of two facts with the same name; of two such documents the one that
/// cannot be found, else the older; a duplicate account review (allowed for one becomes allowed for both), the same draft, a
/// second vote, the older of two ratings of an answer. Closes drafts of an account that is not kept.
pub(super) async fn delete_duplicates(
    conn: &mut PgConnection,
    tenant: TenantId,
    gone: PersonId,
    stays: PersonId,
    closes_drafts: bool,
    now: Timestamp,
) -> sqlx::Result<()> {
    let documents = sqlx::query_scalar!(
        "delete from documents d where d.tenant_id = $1 and d.only_for in ($2, $3) and exists (
             select 1 from documents o where o.tenant_id = $1 and o.only_for in ($2, $3)
                 and lower(o.title) = lower(d.title)
                 and (o.generation > 0, o.updated_at, o.id) > (d.generation > 0, d.updated_at, d.id))
         returning d.id",
        tenant.0,
        gone.0,
        stays.0
    )
    .fetch_all(&mut *conn)
    .await?;
    for document in documents {
        blobs::release_except(conn, tenant, BlobOwner::document(document), &[]).await?;
    }
    sqlx::query!(
        "with theirs as (
             select id, kind, lower(name) as name, recorded_at,
                 case owner when $2 then $3 else owner end as owner,
                 case person_id when $2 then $3 else person_id end as person
             from facts
             where tenant_id = $1 and (owner in ($2, $3) or person_id in ($2, $3))),
         older as (
             select a.id from theirs a join theirs b
                 on b.owner = a.owner and coalesce(b.person, b.owner) = coalesce(a.person, a.owner)
                 and b.kind = a.kind and b.name = a.name and (b.recorded_at, b.id) > (a.recorded_at, a.id)),
         facts_gone as (delete from facts where tenant_id = $1 and id in (select id from older)),
         allowed as (
             update account_reviews s set status = o.status, decided_by = o.decided_by, decided_at = o.decided_at
             from account_reviews o
             where s.tenant_id = $1 and s.person_id = $3 and s.status <> 'allowed' and o.tenant_id = $1
                 and o.person_id = $2 and o.provider = s.provider and o.email = s.email
                 and o.status = 'allowed'),
         accounts_gone as (
             delete from account_reviews o where o.tenant_id = $1 and o.person_id = $2 and exists (
                 select 1 from account_reviews s where s.tenant_id = $1 and s.person_id = $3
                     and s.provider = o.provider and s.email = o.email)),
         hours_gone as (
             delete from working_hours o where o.tenant_id = $1 and o.person_id = $2 and exists (
                 select 1 from working_hours s where s.tenant_id = $1 and s.person_id = $3)),
         -- Who turns out to be the owner, or to stand there already, is no co-approver.
         approvers_gone as (
             delete from co_approvers v where v.tenant_id = $1 and v.person_id in ($2, $3) and (exists (
                 select 1 from approvals a where a.tenant_id = $1 and a.id = v.approval_id and a.status = 'pending'
                   and a.decider_id in ($2, $3))
               or v.person_id = $2 and exists (
                 select 1 from co_approvers s where s.tenant_id = $1 and s.approval_id = v.approval_id
                   and s.person_id = $3))),
         voters_gone as (
             delete from voters o where o.tenant_id = $1 and o.person_id = $2 and exists (
                 select 1 from voters s where s.tenant_id = $1 and s.person_id = $3
                     and s.question_id = o.question_id)),
         ratings_gone as (
             delete from feedback o where o.tenant_id = $1 and o.person_id in ($2, $3) and exists (
                 select 1 from feedback s where s.tenant_id = $1 and s.person_id in ($2, $3)
                     and s.run_id = o.run_id and (s.rated_at, s.person_id) > (o.rated_at, o.person_id))),
         codes_gone as (
             delete from link_codes where tenant_id = $1 and (person_id in ($2, $3) or entered_by in ($2, $3))),
         drafts_gone as (
             delete from drafts d where d.tenant_id = $1 and d.person_id = $2 and exists (
                 select 1 from drafts s where s.tenant_id = $1 and s.person_id = $3 and s.draft_ref = d.draft_ref))
         update drafts d set status = 'deleted_externally', closed_at = $5, updated_at = $5
         where $4 and d.tenant_id = $1 and d.person_id = $2 and d.status = 'open' and not exists (
             select 1 from drafts s where s.tenant_id = $1 and s.person_id = $3 and s.draft_ref = d.draft_ref)",
        tenant.0,
        gone.0,
        stays.0,
        closes_drafts,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Moves every row of one person to the other. Audit rows and states of finished runs stay unchanged: the states are
/// not read again and are large. A failed run may be retried, so its state is rewritten; the new version makes a worker
/// that holds the run lose it.
pub(super) async fn move_rows(
    conn: &mut PgConnection,
    tenant: TenantId,
    gone: PersonId,
    stays: PersonId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with theirs as (select id from runs where tenant_id = $1 and person_id = $2),
         a as (update identities set person_id = $3 where tenant_id = $1 and person_id = $2),
         b as (update conversations set private_with = $3 where tenant_id = $1 and private_with = $2),
         c as (
             update runs set person_id = $3,
                 state = case status
                     when 'failed' then replace(state::text, $2::uuid::text, $3::uuid::text)::jsonb
                     else state end,
                 version = version + 1
             where tenant_id = $1 and person_id = $2),
         d as (
             update messages set person_id = case person_id when $2 then $3 else person_id end,
                 only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and run_id in (select id from theirs)),
         e as (
             update step_records set only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and run_id in (select id from theirs)),
         recalled as (
             update recalled_contexts set only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and run_id in (select id from theirs)),
         old as (
             update old_run_steps set only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and run_id in (select id from theirs)),
         f as (update deliveries set only_for = $3 where tenant_id = $1 and only_for = $2),
         g as (
             update approvals set decider_id = case decider_id when $2 then $3 else decider_id end,
                 decided_by = case decided_by when $2 then $3 else decided_by end
             where tenant_id = $1 and (decider_id = $2 or decided_by = $2)),
         p as (update co_approvers set person_id = $3 where tenant_id = $1 and person_id = $2),
         h as (update effects set person_id = $3 where tenant_id = $1 and person_id = $2),
         i as (update questions set person_id = $3 where tenant_id = $1 and person_id = $2),
         j as (update connect_requests set person_id = $3 where tenant_id = $1 and person_id = $2),
         k as (
             update account_reviews set person_id = case person_id when $2 then $3 else person_id end,
                 decided_by = case decided_by when $2 then $3 else decided_by end
             where tenant_id = $1 and (person_id = $2 or decided_by = $2)),
         l as (
             update drafts set person_id = $3, only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and person_id = $2),
         m as (update summaries set only_for = $3 where tenant_id = $1 and only_for = $2),
         n as (
             update facts set owner = case owner when $2 then $3 else owner end,
                 person_id = case person_id when $2 then $3 else person_id end
             where tenant_id = $1 and (owner = $2 or person_id = $2)),
         q as (update working_hours set person_id = $3 where tenant_id = $1 and person_id = $2),
         r as (update voters set person_id = $3 where tenant_id = $1 and person_id = $2),
         s as (
             update documents set only_for = case only_for when $2 then $3 else only_for end,
                 added_by = case added_by when $2 then $3 else added_by end
             where tenant_id = $1 and (only_for = $2 or added_by = $2)),
         t as (update document_chunks set only_for = $3 where tenant_id = $1 and only_for = $2),
         u as (update rag_context set only_for = $3 where tenant_id = $1 and only_for = $2),
         w as (
             update tasks set person_id = case person_id when $2 then $3 else person_id end,
                 only_for = case only_for when $2 then $3 else only_for end
             where tenant_id = $1 and (person_id = $2 or only_for = $2)),
         x as (update task_steps set only_for = $3 where tenant_id = $1 and only_for = $2),
         v as (update feedback set person_id = $3 where tenant_id = $1 and person_id = $2),
         o as (update homes set person_id = $3 where tenant_id = $1 and person_id = $2)
         update assistant_threads set person_id = $3 where tenant_id = $1 and person_id = $2",
        tenant.0,
        gone.0,
        stays.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Has indexes read once more whose documents are a person's, if they have any. It comes after the documents, because
/// whoever publishes one locks it before the revision.
pub(super) async fn increment_knowledge_revision(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into knowledge_revisions (tenant_id, revision)
         select $1, 1 where exists (select 1 from documents where tenant_id = $1 and only_for = $2)
         on conflict (tenant_id) do update set revision = knowledge_revisions.revision + 1",
        tenant.0,
        person.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the merged person. Verified fields are copied if the survivor has no verified ones, other fields if they are
/// empty.
pub(super) async fn delete_person(
    conn: &mut PgConnection,
    tenant: TenantId,
    gone: PersonId,
    stays: PersonId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with l as (delete from people where tenant_id = $1 and id = $2
             returning name, full_name, title, email, connected_email, zone, membership, profile_synced_at,
                 email is not null as told)
         update people p set
             name = case when l.told and p.email is null then l.name else p.name end,
             full_name = case when l.told and p.email is null then l.full_name else p.full_name end,
             title = case when l.told and p.email is null then l.title else coalesce(p.title, l.title) end,
             zone = case when l.told and p.email is null then l.zone else coalesce(p.zone, l.zone) end,
             profile_synced_at = case when l.told and p.email is null then l.profile_synced_at else p.profile_synced_at end,
             email = coalesce(p.email, l.email),
             connected_email = coalesce(p.connected_email, l.connected_email),
             membership = case when l.membership = 'member' then l.membership else p.membership end
         from l where p.tenant_id = $1 and p.id = $3",
        tenant.0,
        gone.0,
        stays.0
    )
    .execute(conn)
    .await?;
    Ok(())
}
