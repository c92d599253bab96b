//! A person's home page in the chat: approvals waiting for them, their accounts and their recent requests. It is
//! published when they open it, and again when something of theirs changes while it may still be open.

mod card;
pub(crate) mod setup;
pub(crate) mod sql;

use chrono::TimeDelta;

use crate::context::App;
use nod_accounts::connection;
use nod_agent::rows;
use nod_agent::rows::RunListItem;
use nod_contract::card::Card;
use nod_contract::chat::ChatError;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, PersonId, TenantId};
use nod_people::people::{self, Person};
use nod_requests::approval::{self, Approval};
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How long a decision stays on the page.
const RECENT_DECISION_WINDOW: TimeDelta = TimeDelta::hours(1);
/// Number of runs listed.
const RUNS: i64 = 5;
/// After this many unknown outcomes the page is left as it is.
const MAX_ATTEMPTS: i32 = 5;

/// Publishes the current page (a job). Errors are dropped until the next change, because a page is not a message.
pub(crate) async fn publish(
    core: &App,
    claim: &Claim,
    person: PersonId,
    platform: &str,
    workspace: &str,
) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let user = people::sql::find_user_id(&mut conn, claim.tenant, person, platform, workspace).await?;
    let person =
        people::sql::load_with_membership(&mut conn, claim.tenant, person, platform, workspace).await?;
    drop(conn);
    // After an identity link, the page of the surviving person is published instead.
    let (Some(user), Some(person), Some(adapter)) = (user, person, core.adapters.get(platform)) else {
        return complete_or_reschedule(core, claim, None).await;
    };
    let person = people::directory::ensure_profile(core, claim.tenant, person, platform, workspace).await?;
    let page = if core.welcome.admits(person.membership) {
        let (seen, typing) =
            (load_content(core, claim.tenant, &person).await?, core.adapters.command_syntax(platform));
        let mut conn = core.pool.acquire().await?;
        let steps =
            setup::card_for_admin(core, &mut conn, claim.tenant, (platform, workspace, &user)).await?;
        steps.into_iter().chain(card::page(&seen, &person.principal().zone, typing)).collect()
    } else {
        vec![Card::from_markdown(people::MEMBERS_ONLY)]
    };
    match adapter.publish_home(workspace, &user, &page).await {
        Ok(()) => complete_or_reschedule(core, claim, None).await,
        Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
            let wait = TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
            complete_or_reschedule(core, claim, Some(core.now() + wait)).await
        }
        Err(ChatError::UnknownOutcome(reason)) if claim.attempt < MAX_ATTEMPTS => Err(reason.into()),
        Err(error) => {
            tracing::warn!(person = %person.id, %error, "could not publish the home page");
            complete_or_reschedule(core, claim, None).await
        }
    }
}

async fn complete_or_reschedule(
    core: &App,
    claim: &Claim,
    again: Option<Timestamp>,
) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    match again {
        Some(at) => jobs::reschedule(&mut tx, claim, at, None, true).await?,
        None => jobs::complete(&mut tx, claim).await?,
    }
    Ok(tx.commit().await?)
}

/// The content of the page.
pub(crate) struct HomeContent {
    /// The person who reads it.
    pub(crate) person: PersonId,
    /// Pending ones and those decided recently, oldest first.
    pub(crate) approvals: Vec<Approval>,
    /// Provider, account, and whether the connection is active.
    pub(crate) accounts: Vec<(String, String, bool)>,
    /// A description of the delegated access that applies if the person has connected nothing.
    pub(crate) delegated_access: Option<String>,
    /// What abilities show.
    pub(crate) sections: Vec<Card>,
    /// Newest first.
    pub(crate) runs: Vec<RunListItem>,
}

async fn load_content(core: &App, tenant: TenantId, person: &Person) -> sqlx::Result<HomeContent> {
    let mut conn = core.pool.acquire().await?;
    let mut approvals = Vec::new();
    // There are few, and the card needs every field of each.
    for id in sql::list_approvals(&mut conn, tenant, person.id, core.now() - RECENT_DECISION_WINDOW).await? {
        approvals.extend(approval::sql::load(&mut conn, tenant, ApprovalId(id)).await?);
    }
    let mut sections = Vec::new();
    for section in core.abilities.home_sections() {
        sections.extend(section.load(&mut conn, tenant, person.id).await?);
    }
    Ok(HomeContent {
        sections,
        person: person.id,
        approvals,
        accounts: connection::sql::list_accounts(&mut conn, tenant, person.id).await?,
        delegated_access: connection::delegated_access::describe_delegated_access(
            &mut conn,
            &core.accounts.lending,
            tenant,
            person.id,
        )
        .await?,
        runs: rows::list_newest(&mut conn, tenant, person.id, RUNS).await?,
    })
}
