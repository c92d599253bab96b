//! Rows of people, their identities and the directories they were read from.

use std::collections::BTreeMap;

use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::{Member, Person};
use nod_contract::chat::{Membership, Profile};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

/// A row of `people`.
#[derive(Debug, Deserialize)]
pub struct PersonRow {
    id: Uuid,
    name: String,
    full_name: String,
    title: Option<String>,
    email: Option<String>,
    connected_email: Option<String>,
    zone: Option<String>,
    membership: String,
    profile_synced_at: Option<Timestamp>,
}

impl From<PersonRow> for Person {
    fn from(row: PersonRow) -> Self {
        Self {
            id: PersonId(row.id),
            name: row.name,
            full_name: row.full_name,
            title: row.title,
            email: row.email.or(row.connected_email),
            zone: row.zone,
            membership: Membership::from_name(&row.membership),
            has_profile: row.profile_synced_at.is_some(),
        }
    }
}

/// Returns the person behind a platform's user, and what the platform has reported that they are there. They are locked, so
/// that they cannot be merged into another before this transaction ends.
pub async fn lock_user(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    user: &str,
) -> sqlx::Result<Option<(PersonId, Membership)>> {
    let known = sqlx::query!(
        "select i.person_id, i.membership
         from identities i join people p on p.tenant_id = i.tenant_id and p.id = i.person_id
         where i.tenant_id = $1 and i.platform = $2 and i.workspace = $3 and i.user_ref = $4 for key share of p",
        tenant.0,
        platform,
        workspace,
        user
    )
    .fetch_optional(conn)
    .await?;
    Ok(known.map(|known| (PersonId(known.person_id), Membership::from_name(&known.membership))))
}

/// Returns the person behind a platform's user, created if new, and locked as by [`lock_user`].
pub async fn find_or_create(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    user: &str,
    fresh: PersonId,
    now: Timestamp,
) -> sqlx::Result<PersonId> {
    if let Some((known, _)) = lock_user(conn, tenant, platform, workspace, user).await? {
        return Ok(known);
    }
    // Two first events of one person can race: the identity row decides, and the loser's person row is deleted.
    sqlx::query!(
        "insert into people (tenant_id, id, name, full_name, membership, created_at)
         values ($1, $2, $3, '', 'unknown', $4)",
        tenant.0,
        fresh.0,
        user,
        now
    )
    .execute(&mut *conn)
    .await?;
    let person = sqlx::query_scalar!(
        "insert into identities (tenant_id, platform, workspace, user_ref, person_id) values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, platform, workspace, user_ref) do update set user_ref = excluded.user_ref
         returning person_id",
        tenant.0,
        platform,
        workspace,
        user,
        fresh.0
    )
    .fetch_one(&mut *conn)
    .await?;
    if person != fresh.0 {
        sqlx::query!("delete from people where tenant_id = $1 and id = $2", tenant.0, fresh.0)
            .execute(conn)
            .await?;
    }
    Ok(PersonId(person))
}

pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<Person>> {
    let row = sqlx::query_as!(
        PersonRow,
        "select p.id, p.name, p.full_name, p.title, p.email, p.connected_email,
             coalesce(h.zone, p.zone) as zone, p.membership, p.profile_synced_at
         from people p
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         where p.tenant_id = $1 and p.id = $2",
        tenant.0,
        person.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Person::from))
}

/// The same with their membership in that place, which is unknown if its platform has not been asked.
pub async fn load_with_membership(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Option<Person>> {
    let row = sqlx::query_as!(
        PersonRow,
        r#"select p.id, p.name, p.full_name, p.title, p.email, p.connected_email,
             coalesce(h.zone, p.zone) as zone, coalesce(i.membership, 'unknown') as "membership!", p.profile_synced_at
         from people p
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         left join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id and i.platform = $3
             and i.workspace = $4
         where p.tenant_id = $1 and p.id = $2"#,
        tenant.0,
        person.0,
        platform,
        workspace
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Person::from))
}

/// Returns whether the person still exists, and prevents their deletion until the transaction ends.
pub async fn lock_existing(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "select id from people where tenant_id = $1 and id = $2 for key share",
        tenant.0,
        person.0
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// Returns the platform's user of a person, in a workspace.
pub async fn find_user_id(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select user_ref from identities
         where tenant_id = $1 and person_id = $2 and platform = $3 and workspace = $4",
        tenant.0,
        person.0,
        platform,
        workspace
    )
    .fetch_optional(conn)
    .await
}

/// Returns the person behind a platform's user, if known.
pub async fn find_by_user(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    user: &str,
) -> sqlx::Result<Option<Person>> {
    let row = sqlx::query_as!(
        PersonRow,
        "select p.id, p.name, p.full_name, p.title, p.email, p.connected_email,
             coalesce(h.zone, p.zone) as zone, i.membership, p.profile_synced_at
         from identities i join people p on p.tenant_id = i.tenant_id and p.id = i.person_id
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         where i.tenant_id = $1 and i.platform = $2 and i.workspace = $3 and i.user_ref = $4",
        tenant.0,
        platform,
        workspace,
        user
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Person::from))
}

/// Returns the membership that a platform reported for a user, if any, and locks it against changes.
pub(crate) async fn lock_reported_membership(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    user: &str,
) -> sqlx::Result<Option<Membership>> {
    let told = sqlx::query_scalar!(
        "select membership from identities
         where tenant_id = $1 and platform = $2 and workspace = $3 and user_ref = $4 and profile_synced_at is not null
         for no key update",
        tenant.0,
        platform,
        workspace,
        user
    )
    .fetch_optional(conn)
    .await?;
    Ok(told.map(|standing| Membership::from_name(&standing)))
}

/// Stores what a platform reports about a person. If a person is known in several places, their name, zone and address
/// are those of the place that reports an address; the others only say whether they are a member there. A profile that
/// was requested, at `at`, before a later report changes nothing.
pub async fn update_profile(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    platform: &str,
    workspace: &str,
    profile: &Profile,
    at: Timestamp,
) -> sqlx::Result<()> {
    // The identity is locked before the person, as in `meet` if two first events of a person race.
    sqlx::query!(
        "with here as (
             update identities set membership = $8, profile_synced_at = $9
             where tenant_id = $1 and person_id = $2 and platform = $10 and workspace = $11
               and coalesce(profile_synced_at <= $9, true) returning 1),
         first as (select count(*) from here),
         elsewhere as (
             select coalesce(bool_or(membership = 'member'), false) as belongs, count(*) > 0 as known
             from identities
             where tenant_id = $1 and person_id = $2 and (platform, workspace) <> ($10, $11)),
         told as (
             select p.id, e.belongs, e.known and p.email is not null and $6::text is null as better
             from people p, elsewhere e, first where p.tenant_id = $1 and p.id = $2 and first.count > 0)
         update people p set
             name = case when better then p.name else $3 end,
             full_name = case when better then p.full_name else $4 end,
             title = case when better then p.title else $5 end,
             email = case when better then p.email else $6 end,
             zone = case when better then p.zone else $7 end,
             membership = case when belongs then 'member' else $8 end,
             profile_synced_at = $9
         from told where p.tenant_id = $1 and p.id = told.id",
        tenant.0,
        person.0,
        profile.name,
        profile.full_name,
        profile.title,
        profile.email,
        profile.zone,
        profile.membership.as_str(),
        at,
        platform,
        workspace
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records a person's own account: mail goes to it if no platform reports another address.
pub async fn set_connected_email(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    account: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update people set connected_email = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        person.0,
        account
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns a person who is a member everywhere they are known; `None` for a person who is a guest or has left anywhere.
pub async fn load_member(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<Member>> {
    let row = sqlx::query!(
        r#"select p.email, array_agg(i.platform order by i.platform, i.user_ref) as "platforms!",
             array_agg(i.user_ref order by i.platform, i.user_ref) as "users!"
         from people p join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id
         where p.tenant_id = $1 and p.id = $2
         group by p.email having bool_and(i.membership = 'member')"#,
        tenant.0,
        person.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Member { email: row.email, users: row.platforms.into_iter().zip(row.users).collect() }))
}

/// Returns the address of any member at one of these domains, in lower case.
pub async fn find_member_email_at(
    conn: &mut PgConnection,
    tenant: TenantId,
    domains: &[String],
) -> sqlx::Result<Option<String>> {
    let found = sqlx::query_scalar!(
        r#"select email as "address!" from people
         where tenant_id = $1 and membership = 'member' and lower(split_part(email, '@', 2)) = any($2)
         order by email limit 1"#,
        tenant.0,
        domains
    );
    found.fetch_optional(conn).await
}

/// Returns the platforms on which a person is known.
pub async fn list_platforms_of_person(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select distinct platform from identities where tenant_id = $1 and person_id = $2 order by 1",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await
}

/// Returns the platforms whose people are known.
pub async fn list_platforms(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select distinct platform from directories where tenant_id = $1 order by 1", tenant.0)
        .fetch_all(conn)
        .await
}

/// Links the user of this address to the member who has it, if exactly one has.
pub async fn link_user_by_email(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    address: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with known as (
             select id from people where tenant_id = $1 and lower(email) = lower($4) and membership = 'member')
         insert into identities (tenant_id, platform, workspace, user_ref, person_id, membership)
         select $1, $2, $3, $4, id, 'member' from known where (select count(*) from known) = 1
         on conflict (tenant_id, platform, workspace, user_ref) do update set person_id = excluded.person_id,
             membership = excluded.membership",
        tenant.0,
        platform,
        workspace,
        address
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns members of workspaces whose people are known, with all of these words in their name. If one of this
/// workspace has an address, only those of this workspace are returned: a person known in two places and not linked is
/// two here. With them it returns how old the lists of people of `platforms` are.
pub(super) async fn find_by_name(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    words: &[String],
    platforms: &[String],
) -> sqlx::Result<(Vec<Person>, Vec<Reading>)> {
    let row = sqlx::query!(
        r#"with fits as (
             select p.*, i.here from people p
             join lateral (
                 select bool_or(i.platform = $3 and i.workspace = $4) as here from identities i
                 join directories d on d.tenant_id = i.tenant_id and d.platform = i.platform
                     and d.workspace = i.workspace
                 where i.tenant_id = $1 and i.person_id = p.id having count(*) > 0) i on true
             where p.tenant_id = $1 and p.membership = 'member'
               and string_to_array(lower(p.full_name || ' ' || p.name), ' ') @> $2),
         found as (
             select * from fits
             where here or not exists (select 1 from fits where here and coalesce(email, connected_email) is not null)
             order by full_name, id limit 50)
         select (select coalesce(jsonb_agg(to_jsonb(f) order by f.full_name, f.id), '[]') from found f)
                 as "people!: Json<Vec<PersonRow>>",
             (select coalesce(jsonb_agg(to_jsonb(d) order by d.platform, d.workspace), '[]') from directories d
              where d.tenant_id = $1 and d.platform = any($5)) as "lists!: Json<Vec<Reading>>""#,
        tenant.0,
        words,
        platform,
        workspace,
        platforms
    )
    .fetch_one(conn)
    .await?;
    Ok((row.people.0.into_iter().map(Person::from).collect(), row.lists.0))
}

/// Returns the users of a workspace who have not left, as far as is known, and were not reported since.
pub(crate) async fn list_stale_members(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    since: Timestamp,
) -> sqlx::Result<Vec<(PersonId, String)>> {
    let rows = sqlx::query!(
        "select p.id, i.user_ref from identities i
         join people p on p.tenant_id = i.tenant_id and p.id = i.person_id
         where i.tenant_id = $1 and i.platform = $2 and i.workspace = $3
           and i.membership in ('member', 'guest', 'unknown') and i.profile_synced_at < $4
         order by p.id",
        tenant.0,
        platform,
        workspace,
        since
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (PersonId(row.id), row.user_ref)).collect())
}

/// A workspace as it was recorded last.
pub struct Opened {
    /// When its people were read.
    pub read_at: Option<Timestamp>,
    /// Whether other parts of it were served before.
    pub served_others: bool,
}

/// Records a workspace, and which parts of it are served.
pub async fn upsert_directory(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    name: &str,
    served: &[String],
) -> sqlx::Result<Opened> {
    sqlx::query_as!(
        Opened,
        r#"with before as (
             select served from directories where tenant_id = $1 and platform = $2 and workspace = $3)
         insert into directories (tenant_id, platform, workspace, name, served) values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, platform, workspace) do update set name = excluded.name, served = excluded.served
         returning synced_at as read_at, directories.served <> coalesce((select served from before), '{}')
             as "served_others!""#,
        tenant.0,
        platform,
        workspace,
        name,
        served
    )
    .fetch_one(conn)
    .await
}

/// Resets every membership in a workspace to unknown. A person who is a member elsewhere remains one.
pub async fn mark_memberships_unknown(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with here as (
             update identities set membership = 'unknown', profile_synced_at = $4
             where tenant_id = $1 and platform = $2 and workspace = $3 and profile_synced_at is not null returning person_id)
         update people p set membership = 'unknown' from here
         where p.tenant_id = $1 and p.id = here.person_id and not exists (
             select 1 from identities i where i.tenant_id = $1 and i.person_id = p.id and i.membership = 'member'
               and (i.platform, i.workspace) <> ($2, $3))",
        tenant.0,
        platform,
        workspace,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// When a workspace's people were last read, and last requested before the daily read.
#[derive(Debug, Deserialize)]
pub(super) struct Reading {
    pub(super) platform: String,
    pub(super) workspace: String,
    pub(super) asked_at: Option<Timestamp>,
    pub(super) synced_at: Option<Timestamp>,
}

/// Returns those of the workspaces of these platforms.
pub(super) async fn readings(
    conn: &mut PgConnection,
    tenant: TenantId,
    platforms: &[String],
) -> sqlx::Result<Vec<Reading>> {
    sqlx::query_as!(
        Reading,
        "select platform, workspace, asked_at, synced_at from directories
         where tenant_id = $1 and platform = any($2) order by platform, workspace",
        tenant.0,
        platforms
    )
    .fetch_all(conn)
    .await
}

/// Records that a workspace's people are requested; false if they were read or requested since `stale`.
pub(super) async fn mark_directory_requested(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    stale: Timestamp,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let asked = sqlx::query!(
        "update directories set asked_at = $5
         where tenant_id = $1 and platform = $2 and workspace = $3
           and coalesce(greatest(asked_at, synced_at) < $4, true)",
        tenant.0,
        platform,
        workspace,
        stale,
        now
    );
    Ok(asked.execute(conn).await?.rows_affected() == 1)
}

pub(crate) async fn mark_directory_synced(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update directories set synced_at = $4 where tenant_id = $1 and platform = $2 and workspace = $3",
        tenant.0,
        platform,
        workspace,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns members by their addresses, in lower case, with the names that others see.
pub async fn find_by_emails(
    conn: &mut PgConnection,
    tenant: TenantId,
    addresses: &[String],
) -> sqlx::Result<Vec<(String, PersonId, String)>> {
    let lower: Vec<String> = addresses.iter().map(|address| address.to_lowercase()).collect();
    let rows = sqlx::query!(
        r#"select id, lower(coalesce(email, connected_email)) as "address!",
             coalesce(nullif(full_name, ''), name) as "name!"
         from people
         where tenant_id = $1 and lower(coalesce(email, connected_email)) = any ($2) and membership = 'member'"#,
        tenant.0,
        &lower
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.address, PersonId(row.id), row.name)).collect())
}

/// Returns the names of the people here who have one of these addresses, by the address in lower case.
pub async fn find_names_by_email(
    conn: &mut PgConnection,
    tenant: TenantId,
    addresses: &[String],
) -> sqlx::Result<BTreeMap<String, String>> {
    let lower: Vec<String> = addresses.iter().map(|address| address.to_lowercase()).collect();
    let rows = sqlx::query!(
        r#"select lower(coalesce(email, connected_email)) as "address!",
             coalesce(nullif(full_name, ''), name) as "name!" from people
         where tenant_id = $1 and lower(coalesce(email, connected_email)) = any($2)"#,
        tenant.0,
        &lower
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.address, row.name)).collect())
}
