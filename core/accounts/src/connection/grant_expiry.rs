//! Grants that expire at the provider. Their owner is warned one day before.

use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};

use super::disconnect::send_to_person;
use super::{card, load_connected_account, sql};
use crate::work::AccountJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_people::people;
use nod_store::context::Base;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_when::when::local_time;

/// How long before the expiry the warning is sent.
const WARN_BEFORE: TimeDelta = TimeDelta::days(1);
/// A provider tells a grant's remaining lifetime, not its end, so two answers differ by their travel time.
const EXPIRY_TOLERANCE: TimeDelta = TimeDelta::hours(1);

/// Schedules the warning for a grant that expires by itself and is about to be stored.
#[expect(clippy::too_many_arguments, reason = "whose, where and when")]
pub(super) async fn schedule_warning(
    core: &Base,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    conversation: ConversationId,
    ends_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = AccountJob::WarnGrantExpiry { person, provider, conversation, grant_expires_at: ends_at };
    jobs::enqueue(conn, tenant, core.id(), &work, ends_at - WARN_BEFORE, now).await
}

/// The job. A person who disconnected or connected again meanwhile is not warned.
pub async fn warn(
    core: &Base,
    claim: &Claim,
    person: PersonId,
    provider: Provider,
    conversation: ConversationId,
    ends_at: Timestamp,
) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let still = |ends: Timestamp| (ends - ends_at).abs() < EXPIRY_TOLERANCE && now < ends;
    let held = load_connected_account(&mut tx, tenant, person, provider).await?;
    let held = held.filter(|held| held.is_working && held.grant_expires_at.is_some_and(still));
    if let (Some(held), Some(person)) = (held, people::sql::load(&mut tx, tenant, person).await?) {
        let when = local_time(ends_at, &person.principal().zone);
        let card = card::grant_expiry_card(provider, &held, person.id, &when);
        send_to_person(core, &mut tx, tenant, person.id, conversation, &card, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Statistics of grants that expire by themselves: only numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GrantExpiryStats {
    /// Connected accounts.
    pub accounts: usize,
    /// Those that the provider ends within a week of their granting.
    pub seven_day_grants: usize,
    /// The first of those expiries.
    pub first_expiry: Option<Timestamp>,
    /// Accounts whose access ended after a week, and that were not connected again.
    pub expired: usize,
}

/// Counts over every account of a provider.
///
/// # Errors
/// If the database does not answer.
pub async fn load_grant_expiry_stats(
    pool: &PgPool,
    tenant: TenantId,
    provider: Provider,
    now: Timestamp,
) -> sqlx::Result<GrantExpiryStats> {
    let mut conn = pool.acquire().await?;
    let mut seen = GrantExpiryStats::default();
    for (held, noticed) in sql::list_by_provider(&mut conn, tenant, provider.as_str()).await? {
        if !held.is_working {
            seen.expired += usize::from(held.is_expired_seven_day_grant(noticed));
            continue;
        }
        seen.accounts += 1;
        match held.grant_expires_at.filter(|_| held.is_seven_day_grant()) {
            // The expiry was not noticed yet.
            Some(ends) if ends <= now => seen.expired += 1,
            Some(ends) => {
                seen.seven_day_grants += 1;
                seen.first_expiry = Some(seen.first_expiry.map_or(ends, |first| first.min(ends)));
            }
            None => {}
        }
    }
    Ok(seen)
}
