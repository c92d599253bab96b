//! Grants that expire at the provider. Their owner is warned one day before.

use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};

use super::disconnect::say;
use super::{cards, held, sql};
use crate::work::AccountJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_people::people;
use nod_store::context::Base;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_when::when::local_time;

/// How long before the expiry the warning is sent.
const BEFORE: TimeDelta = TimeDelta::days(1);
/// A provider tells a grant's remaining lifetime, not its end, so two answers differ by their travel time.
const SAME: TimeDelta = TimeDelta::hours(1);

/// Schedules the warning for a grant that expires by itself and is about to be stored.
#[expect(clippy::too_many_arguments, reason = "whose, where and when")]
pub(super) async fn remember(
    core: &Base,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    conversation: ConversationId,
    ends_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = AccountJob::WarnOfEnd { person, provider, conversation, ends_at };
    jobs::enqueue(conn, tenant, core.id(), &work, ends_at - BEFORE, now).await
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
    let still = |ends: Timestamp| (ends - ends_at).abs() < SAME && now < ends;
    let held = held(&mut tx, tenant, person, provider).await?;
    let held = held.filter(|held| held.works && held.ends_at.is_some_and(still));
    if let (Some(held), Some(person)) = (held, people::sql::load(&mut tx, tenant, person).await?) {
        let when = local_time(ends_at, &person.principal().zone);
        let card = cards::ending(provider, &held, person.id, &when);
        say(core, &mut tx, tenant, person.id, conversation, &card, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Statistics of grants that expire by themselves: only numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endings {
    /// Connected accounts.
    pub accounts: usize,
    /// Those that the provider ends within a week of their granting.
    pub for_a_week: usize,
    /// The first of those expiries.
    pub first: Option<Timestamp>,
    /// Accounts whose access ended after a week, and that were not connected again.
    pub ended: usize,
}

/// Counts over every account of a provider.
///
/// # Errors
/// If the database does not answer.
pub async fn endings(
    pool: &PgPool,
    tenant: TenantId,
    provider: Provider,
    now: Timestamp,
) -> sqlx::Result<Endings> {
    let mut conn = pool.acquire().await?;
    let mut seen = Endings::default();
    for (held, noticed) in sql::all_held(&mut conn, tenant, provider.as_str()).await? {
        if !held.works {
            seen.ended += usize::from(held.ended_after_a_week(noticed));
            continue;
        }
        seen.accounts += 1;
        match held.ends_at.filter(|_| held.is_for_a_week()) {
            // The expiry was not noticed yet.
            Some(ends) if ends <= now => seen.ended += 1,
            Some(ends) => {
                seen.for_a_week += 1;
                seen.first = Some(seen.first.map_or(ends, |first| first.min(ends)));
            }
            None => {}
        }
    }
    Ok(seen)
}
