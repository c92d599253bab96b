//! Grants that the provider ends by itself: whoever gave one hears so a day before.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::disconnect::say;
use super::{NewOffer, cards, held, make, scopes};
use crate::clock::Timestamp;
use crate::graph::local_time;
use crate::ids::{ConversationId, OfferId, PersonId, TenantId};
use crate::jobs::{Claim, Work, WorkError, sql as jobs};
use crate::nod::Core;
use crate::people;
use crate::tool::Provider;

/// How long before the end it is said.
const BEFORE: TimeDelta = TimeDelta::days(1);
/// A provider tells how long a grant still lasts, not until when: two answers differ by the way they took.
const SAME: TimeDelta = TimeDelta::hours(1);

/// A grant that is about to be kept ends by itself.
#[expect(clippy::too_many_arguments, reason = "whose, where and when")]
pub(super) async fn remember(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    conversation: ConversationId,
    ends_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = Work::WarnOfEnd { person, provider, conversation, ends_at };
    jobs::enqueue(conn, tenant, core.id(), &work, ends_at - BEFORE, now).await
}

/// The job. Whoever disconnected, or connected again meanwhile, hears nothing.
pub(crate) async fn warn(
    core: &Core,
    claim: &Claim,
    person: PersonId,
    provider: Provider,
    conversation: ConversationId,
    ends_at: Timestamp,
) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.pool.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    let still = |ends: Timestamp| (ends - ends_at).abs() < SAME && now < ends;
    let held = held(&mut tx, tenant, person, provider).await?;
    let held = held.filter(|held| held.works && held.ends_at.is_some_and(still));
    if let (Some(held), Some(person)) = (held, people::sql::load(&mut tx, tenant, person).await?) {
        let offer: OfferId = core.id();
        let when = local_time(ends_at, &person.principal().zone);
        let card = cards::ending(provider, &held, offer, &when);
        let delivery = say(core, &mut tx, tenant, person.id, conversation, &card, now).await?;
        let scopes = scopes::known(&held.scopes);
        let new =
            NewOffer { id: offer, person: person.id, provider, scopes, conversation, run: None, delivery };
        make(core, &mut tx, tenant, &new, now).await?;
    }
    jobs::finish(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
