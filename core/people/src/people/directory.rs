//! Reads the people of a workspace, so that "tell Bo" finds a person who never wrote to Nod, and asks the platform
//! about a person whom it has not reported yet.

use chrono::TimeDelta;
use uuid::Uuid;

use super::{Person, sql};
use crate::context::Chat;
use crate::work::PeopleJob;
use nod_contract::chat::{ChatError, Membership, Profile};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{TenantId, named_lane_id};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::store;

/// People about whom nothing was reported for this long are no longer listed, because the list is read once a day.
const STALE_MEMBER_AGE: TimeDelta = TimeDelta::hours(12);

/// Returns the lane in which a workspace's directory is read.
pub fn lane(platform: &str, workspace: &str) -> Uuid {
    named_lane_id(&["directory", platform, workspace])
}

/// The job: reads every page, then again in a day.
pub async fn sync(core: &Chat, claim: &Claim, platform: &str, workspace: &str) -> Result<(), WorkError> {
    let adapter = core.adapters.get(platform).ok_or("no such platform here")?;
    let mut cursor = None;
    loop {
        let asked = core.now();
        let (page, next) = match adapter.list_members(workspace, cursor).await {
            Ok(read) => read,
            Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
                return reschedule_in(core, claim, after_seconds).await;
            }
            Err(error) => return Err(error.into()),
        };
        write(core, claim.tenant, platform, workspace, &page, asked).await?;
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    // People who are no longer listed might have left. Not every platform lists those, so each is looked up.
    let since = core.now() - STALE_MEMBER_AGE;
    let mut conn = core.pool.acquire().await?;
    let unlisted = sql::list_stale_members(&mut conn, claim.tenant, platform, workspace, since).await?;
    drop(conn);
    for (person, user) in unlisted {
        let asked = core.now();
        match adapter.fetch_profile(workspace, &user).await {
            Ok(profile) => {
                let mut conn = core.pool.acquire().await?;
                sql::update_profile(&mut conn, claim.tenant, person, platform, workspace, &profile, asked)
                    .await?;
            }
            Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
                return reschedule_in(core, claim, after_seconds).await;
            }
            // They stay unchanged, and are looked up again tomorrow.
            Err(error) => tracing::warn!(%person, %error, "could not check whether a user is a member"),
        }
    }
    let now = core.now();
    let again = PeopleJob::SyncDirectory { platform: platform.to_owned(), workspace: workspace.to_owned() };
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::mark_directory_synced(&mut tx, claim.tenant, platform, workspace, now).await?;
    jobs::enqueue(&mut tx, claim.tenant, claim.lane, &again, now + TimeDelta::hours(24), now).await?;
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// Stores what a platform reports by itself about a user who joined, changed or left. A report can be late or
/// duplicated, so it can lower a membership, not raise it: a user who seems to gain one is looked up at their next use.
pub async fn store_reported_profile(
    core: &Chat,
    platform: &str,
    workspace: &str,
    mut profile: Profile,
) -> sqlx::Result<()> {
    let (tenant, now) = (core.tenant, core.now());
    let mut tx = store::begin(&core.door).await?;
    let person =
        sql::find_or_create(&mut tx, tenant, platform, workspace, &profile.user, core.id(), now).await?;
    let known = sql::lock_reported_membership(&mut tx, tenant, platform, workspace, &profile.user).await?;
    if known.is_some_and(|known| profile.membership.is_above(known)) {
        profile.membership = Membership::Unknown;
    }
    sql::update_profile(&mut tx, tenant, person, platform, workspace, &profile, now).await?;
    tx.commit().await
}

/// Stores what a platform answered about a user; `asked` is when it was asked.
pub async fn store_profile(
    core: &Chat,
    platform: &str,
    workspace: &str,
    profile: &Profile,
    asked: Timestamp,
) -> sqlx::Result<()> {
    let (tenant, now) = (core.tenant, core.now());
    let mut tx = store::begin(&core.door).await?;
    let person =
        sql::find_or_create(&mut tx, tenant, platform, workspace, &profile.user, core.id(), now).await?;
    sql::update_profile(&mut tx, tenant, person, platform, workspace, profile, asked).await?;
    tx.commit().await
}

async fn reschedule_in(core: &Chat, claim: &Claim, after_seconds: u64) -> Result<(), WorkError> {
    let until = core.now() + TimeDelta::seconds(i64::try_from(after_seconds).unwrap_or(60));
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?)
}

async fn write(
    core: &Chat,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    page: &[Profile],
    asked: Timestamp,
) -> sqlx::Result<()> {
    let now = core.now();
    let mut tx = core.begin().await?;
    let mut people = Vec::new();
    for profile in page {
        let person =
            sql::find_or_create(&mut tx, tenant, platform, workspace, &profile.user, core.id(), now).await?;
        people.push((person, profile));
    }
    // The directory of another platform lists the same people in another order.
    people.sort_by_key(|(person, _)| *person);
    for (person, profile) in people {
        sql::update_profile(&mut tx, tenant, person, platform, workspace, profile, asked).await?;
    }
    tx.commit().await
}

/// Returns the person. If the membership in `person`, loaded for this place, is unknown, the platform is asked.
pub async fn ensure_profile(
    core: &Chat,
    tenant: TenantId,
    person: Person,
    platform: &str,
    workspace: &str,
) -> Result<Person, WorkError> {
    if person.membership != Membership::Unknown {
        return Ok(person);
    }
    let person = person.id;
    let mut conn = core.pool.acquire().await?;
    let user =
        sql::find_user_id(&mut conn, tenant, person, platform, workspace).await?.ok_or("no such user")?;
    // Releases the connection before the platform is asked.
    drop(conn);
    let adapter = core.adapters.get(platform).ok_or("no such platform here")?;
    let asked = core.now();
    let profile = adapter.fetch_profile(workspace, &user).await?;
    let mut conn = core.pool.acquire().await?;
    sql::update_profile(&mut conn, tenant, person, platform, workspace, &profile, asked).await?;
    Ok(sql::load_with_membership(&mut conn, tenant, person, platform, workspace)
        .await?
        .ok_or("no such person")?)
}
