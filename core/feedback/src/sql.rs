//! Statements on ratings.

use sqlx::PgConnection;

use super::Rating;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, RunId, TenantId};

/// A rating as it is given.
pub(crate) struct NewRating<'a> {
    pub(crate) run: RunId,
    pub(crate) person: PersonId,
    pub(crate) is_up: bool,
    /// What was wrong; `None` keeps what the person said of it before.
    pub(crate) why: Option<&'a str>,
}

/// Stores a person's rating of an answer in place of their earlier one, and returns what was wrong with it. Returns `None`
/// if there is no such answer, or not for this person.
pub(crate) async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    rating: &NewRating<'_>,
    now: Timestamp,
) -> sqlx::Result<Option<Option<String>>> {
    sqlx::query_scalar!(
        "insert into feedback (tenant_id, run_id, person_id, is_up, why, rated_at)
         select r.tenant_id, r.id, $3, $4, nullif($5::text, ''), $6
         from runs r
         where r.tenant_id = $1 and r.id = $2 and exists (
             select 1 from deliveries d
             where d.tenant_id = $1 and d.conversation_id = r.conversation_id and d.run_id = r.id
                 and d.card->>'feedback' is not null and (d.only_for is null or d.only_for = $3))
         on conflict (tenant_id, run_id, person_id) do update set is_up = excluded.is_up, rated_at = excluded.rated_at,
             why = case when excluded.is_up then null when $5::text is null then feedback.why else excluded.why end
         returning why",
        tenant.0,
        rating.run.0,
        rating.person.0,
        rating.is_up,
        rating.why,
        now
    )
    .fetch_optional(conn)
    .await
}

/// Returns the newest ratings of everybody, at most `limit`.
pub(crate) async fn list(conn: &mut PgConnection, tenant: TenantId, limit: i64) -> sqlx::Result<Vec<Rating>> {
    sqlx::query_as!(
        Rating,
        r#"select f.run_id as run, coalesce(nullif(p.full_name, ''), p.name) as "person!", f.is_up, f.why, f.rated_at as at
         from feedback f
         join people p on p.tenant_id = f.tenant_id and p.id = f.person_id
         where f.tenant_id = $1
         order by f.rated_at desc, f.run_id, f.person_id limit $2"#,
        tenant.0,
        limit
    )
    .fetch_all(conn)
    .await
}

/// Returns a person's own ratings, the newest first, at most `limit`.
pub(crate) async fn list_of_person(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    limit: i64,
) -> sqlx::Result<Vec<Rating>> {
    sqlx::query_as!(
        Rating,
        r#"select run_id as run, '' as "person!", is_up, why, rated_at as at
         from feedback where tenant_id = $1 and person_id = $2
         order by rated_at desc, run_id limit $3"#,
        tenant.0,
        person.0,
        limit
    )
    .fetch_all(conn)
    .await
}
