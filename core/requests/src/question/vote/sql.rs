//! Rows of votes: who can vote, what suits whom, and the deliveries of their cards.

use jiff::Zoned;
use sqlx::PgConnection;

use super::Voter;
use crate::question::sql::Question;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, QuestionId, RunId, TenantId};
use nod_contract::tool::EventDetails;
use nod_people::conversations::ConversationLocation;
use nod_when::when;

/// Returns the asker and the members with these addresses, each human once: of two unlinked people with the same
/// address, the one known on the asker's platform.
pub(super) async fn list_eligible_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    asker: PersonId,
    venue: &ConversationLocation,
    addresses: &[String],
) -> sqlx::Result<Vec<Voter>> {
    let lower: Vec<String> = addresses.iter().map(|address| address.to_lowercase()).collect();
    let rows = sqlx::query!(
        r#"with me as (
             select id, lower(coalesce(email, connected_email)) as address from people where tenant_id = $1 and id = $2)
         select distinct on (lower(coalesce(p.email, p.connected_email)), p.id = $2)
             p.id, coalesce(nullif(p.full_name, ''), p.name) as "name!",
             coalesce(lower(coalesce(p.email, p.connected_email)), '') as "address!"
         from people p, me
         where p.tenant_id = $1 and (p.id = $2 or (
             lower(coalesce(p.email, p.connected_email)) = any ($3) and p.membership = 'member'
             and lower(coalesce(p.email, p.connected_email)) is distinct from me.address))
         order by lower(coalesce(p.email, p.connected_email)), p.id = $2, exists (
             select 1 from identities i where i.tenant_id = $1 and i.person_id = p.id and i.platform = $4
                 and i.workspace = $5) desc, p.id"#,
        tenant.0,
        asker.0,
        &lower,
        venue.platform,
        venue.workspace
    )
    .fetch_all(conn)
    .await?;
    let voter = |row| {
        let (person, name, address) = row;
        Voter { person: PersonId(person), name, email: address, choices: Vec::new() }
    };
    Ok(rows.into_iter().map(|row| voter((row.id, row.name, row.address))).collect())
}

pub(super) async fn insert_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: QuestionId,
    voters: &[Voter],
) -> sqlx::Result<()> {
    let people: Vec<_> = voters.iter().map(|voter| voter.person.0).collect();
    sqlx::query!(
        "insert into voters (tenant_id, question_id, person_id) select $1, $2, unnest($3::uuid[])",
        tenant.0,
        question.0,
        &people
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Loads the voters, the asker first, and what suits them.
pub(super) async fn list_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
) -> sqlx::Result<Vec<Voter>> {
    let rows = sqlx::query!(
        r#"select p.id, coalesce(nullif(p.full_name, ''), p.name) as "name!",
             coalesce(lower(coalesce(p.email, p.connected_email)), '') as "address!",
             array(select choice from votes c where c.tenant_id = $1 and c.question_id = $2
                 and c.person_id = p.id order by choice) as "choices!"
         from voters v join people p on p.tenant_id = v.tenant_id and p.id = v.person_id
         where v.tenant_id = $1 and v.question_id = $2
         order by p.id <> $3, 2, p.id"#,
        tenant.0,
        question.id.0,
        question.person.0
    )
    .fetch_all(conn)
    .await?;
    let voters = rows.into_iter().map(|row| Voter {
        person: PersonId(row.id),
        name: row.name,
        email: row.address,
        choices: row.choices.into_iter().filter_map(|choice| choice.try_into().ok()).collect(),
    });
    Ok(voters.collect())
}

/// Opens the vote; returns true only for the click that did.
pub(super) async fn mark_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let opened = sqlx::query!(
        "update questions set vote_opened_at = $3
         where tenant_id = $1 and id = $2 and status = 'pending' and vote_opened_at is null and expires_at > $3",
        tenant.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(opened.rows_affected() == 1)
}

/// Returns whether the vote is open; if so, locks it until the transaction ends.
pub(super) async fn lock_if_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let open = sqlx::query_scalar!(
        "select id from questions
         where tenant_id = $1 and id = $2 and status = 'pending' and vote_opened_at is not null and expires_at > $3
         for update",
        tenant.0,
        id.0,
        now
    );
    Ok(open.fetch_optional(conn).await?.is_some())
}

/// Toggles a choice. "None of these" replaces all times, and a time replaces "none of these".
pub(super) async fn toggle_vote(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    person: PersonId,
    choice: usize,
) -> sqlx::Result<()> {
    let small = |n: usize| i16::try_from(n).unwrap_or(i16::MAX);
    let (choice, none) = (small(choice), small(question.choices.len()));
    let taken_back = sqlx::query!(
        "delete from votes where tenant_id = $1 and question_id = $2 and person_id = $3 and choice = $4",
        tenant.0,
        question.id.0,
        person.0,
        choice
    )
    .execute(&mut *conn)
    .await?;
    if taken_back.rows_affected() > 0 {
        return Ok(());
    }
    sqlx::query!(
        "with instead as (
             delete from votes where tenant_id = $1 and question_id = $2 and person_id = $3
                 and ($4::smallint = $5::smallint or choice = $5))
         insert into votes (tenant_id, question_id, person_id, choice) values ($1, $2, $3, $4)
         on conflict do nothing",
        tenant.0,
        question.id.0,
        person.0,
        choice,
        none
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the deliveries of the voting cards, each with its only reader if it is for one person.
pub(super) async fn list_cards(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
) -> sqlx::Result<Vec<(DeliveryId, Option<PersonId>)>> {
    let rows = sqlx::query!(
        "select c.delivery_id, d.only_for from vote_cards c
         join deliveries d on d.tenant_id = c.tenant_id and d.id = c.delivery_id
         where c.tenant_id = $1 and c.question_id = $2 order by 1",
        tenant.0,
        id.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (DeliveryId(row.delivery_id), row.only_for.map(PersonId))).collect())
}

/// Returns the user ids of the voters to mention in the thread: all except the asker and those with a card in a DM.
pub(super) async fn list_users_to_mention(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    venue: &ConversationLocation,
    apart: &[PersonId],
) -> sqlx::Result<Vec<String>> {
    let apart: Vec<_> = apart.iter().chain([&question.person]).map(|person| person.0).collect();
    sqlx::query_scalar!(
        "select i.user_ref from voters v
         join identities i on i.tenant_id = v.tenant_id and i.person_id = v.person_id
         where v.tenant_id = $1 and v.question_id = $2 and i.platform = $3 and i.workspace = $4
           and v.person_id <> all ($5) order by 1",
        tenant.0,
        question.id.0,
        venue.platform,
        venue.workspace,
        &apart
    )
    .fetch_all(conn)
    .await
}

/// Returns the run's votes after which a time was picked.
pub(super) async fn list_decided_votes(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Vec<QuestionId>> {
    let ids = sqlx::query_scalar!(
        "select id from questions
         where tenant_id = $1 and run_id = $2 and vote_opened_at is not null and status = 'answered'",
        tenant.0,
        run.0
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(QuestionId).collect())
}

pub(super) async fn insert_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    delivery: DeliveryId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into vote_cards (tenant_id, question_id, delivery_id) values ($1, $2, $3)",
        tenant.0,
        id.0,
        delivery.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns where else a person is known: platform, workspace, user.
pub(super) async fn find_other_identity(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<(String, String, String)>> {
    let row = sqlx::query!(
        "select platform, workspace, user_ref from identities
         where tenant_id = $1 and person_id = $2 and membership = 'member' order by 1, 2, 3 limit 1",
        tenant.0,
        person.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.platform, row.workspace, row.user_ref)))
}

/// The outcome of the time that was picked.
pub(super) struct BookingState {
    pub(super) booked: bool,
    /// The asker can still approve it, or has just done so.
    pub(super) waits: bool,
    /// The event details of the last request for it; the asker might have edited them before the approval.
    gathering: Option<serde_json::Value>,
}

impl BookingState {
    /// Returns when the event takes place if that is not the time that was picked.
    pub(super) fn rescheduled_to(&self, chosen: &(Zoned, Zoned)) -> Option<(Zoned, Zoned)> {
        let asked =
            self.gathering.clone().and_then(|kept| serde_json::from_value::<EventDetails>(kept).ok())?;
        let by = |at, like: &Zoned| when::to_jiff(at).to_zoned(like.time_zone().clone());
        let asked = (by(asked.from, &chosen.0), by(asked.to, &chosen.1));
        (asked != *chosen).then_some(asked)
    }
}

/// Loads the outcome from the last request for the time; before there is one, from the run's status.
pub(super) async fn load_booking_state(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
) -> sqlx::Result<BookingState> {
    sqlx::query_as!(
        BookingState,
        r#"select exists (select 1 from effects where tenant_id = $1 and run_id = $2 and call_id = $3
                 and status = 'done') as "booked!",
             coalesce(
                 (select a.status = 'pending' or a.status = 'approved' and exists (select 1 from effects e
                      where e.tenant_id = $1 and e.approval_id = a.id and e.status in ('planned', 'started', 'unknown'))
                  from approvals a where a.tenant_id = $1 and a.run_id = $2 and a.call_id = $3
                  order by a.created_at desc, a.id desc limit 1),
                 exists (select 1 from runs r where r.tenant_id = $1 and r.id = $2
                     and r.status in ('queued', 'running', 'waiting'))) as "waits!",
             (select a.preview->'gathering' from approvals a
              where a.tenant_id = $1 and a.run_id = $2 and a.call_id = $3
              order by a.created_at desc, a.id desc limit 1) as gathering"#,
        tenant.0,
        question.run.0,
        question.call_id
    )
    .fetch_one(conn)
    .await
}
