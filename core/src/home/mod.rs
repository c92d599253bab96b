//! A person's own page in the chat: what waits for their nod, their accounts, what they asked lately. It is
//! shown when they open it, and again when something of theirs changes while it may still be open.

mod card;
pub(crate) mod sql;

use chrono::TimeDelta;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::approval::{self, Approval};
use crate::card::Card;
use crate::chat::ChatError;
use crate::clock::Timestamp;
use crate::connection;
use crate::ids::{ApprovalId, PersonId, TenantId, lane_of};
use crate::jobs::{Claim, Work, WorkError, sql as jobs};
use crate::nod::Core;
use crate::people::{self, Person};
use crate::run::{self, sql::Listed};

/// How long after it was opened a page is kept up to date.
const LOOKED_AT: TimeDelta = TimeDelta::hours(1);
/// How long a decision stays on the page.
const LATELY: TimeDelta = TimeDelta::hours(1);
/// Runs that are listed.
const RUNS: i64 = 5;
/// A platform that does not answer so often keeps the page as it is.
const MOST_TRIES: i32 = 5;

/// A page that a person looks at.
pub(crate) struct Home {
    pub(crate) person: PersonId,
    pub(crate) platform: String,
    pub(crate) workspace: String,
    pub(crate) user: String,
}

/// The person opened their page.
pub(crate) async fn opened(
    conn: &mut PgConnection,
    tenant: TenantId,
    home: &Home,
    now: Timestamp,
) -> sqlx::Result<()> {
    shown_again(conn, tenant, home, now).await?;
    sql::opened(conn, tenant, home, now).await
}

/// Something of the person's changed. Comes last in a transaction: its lane is locked after all others.
pub(crate) async fn touch(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for home in sql::looked_at(conn, tenant, person, now - LOOKED_AT).await? {
        shown_again(conn, tenant, &home, now).await?;
    }
    Ok(())
}

/// However much changes before the job begins, it is one job.
async fn shown_again(
    conn: &mut PgConnection,
    tenant: TenantId,
    home: &Home,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Home { person, platform, workspace, .. } = home;
    let work = Work::ShowHome { person: *person, platform: platform.clone(), workspace: workspace.clone() };
    jobs::enqueue_once(conn, tenant, lane(platform, workspace, *person), &work, now).await
}

fn lane(platform: &str, workspace: &str, person: PersonId) -> Uuid {
    lane_of(&["home", platform, workspace, &person.to_string()])
}

/// The job: shows the page as it is now. What fails is left for the next change: a page is no message.
pub(crate) async fn show(
    core: &Core,
    claim: &Claim,
    person: PersonId,
    platform: &str,
    workspace: &str,
) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let user = people::sql::user_of(&mut conn, claim.tenant, person, platform, workspace).await?;
    let person = people::sql::load_there(&mut conn, claim.tenant, person, platform, workspace).await?;
    drop(conn);
    // Whoever turned out to be somebody else has their page shown in that name.
    let (Some(user), Some(person), Some(adapter)) = (user, person, core.adapters.get(platform)) else {
        return end(core, claim, None).await;
    };
    let person = people::directory::known(core, claim.tenant, person, platform, workspace).await?;
    let page = if core.settings.welcomes(person.standing) {
        let (seen, typing) = (seen(core, claim.tenant, &person).await?, core.adapters.typing(platform));
        card::page(&seen, &person.principal().zone, typing)
    } else {
        vec![Card::say(people::NOT_FOR_STRANGERS)]
    };
    match adapter.show_home(workspace, &user, &page).await {
        Ok(()) => end(core, claim, None).await,
        Err(ChatError::Busy { after_seconds }) => {
            let wait = TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
            end(core, claim, Some(core.now() + wait)).await
        }
        Err(ChatError::Lost(reason)) if claim.attempt < MOST_TRIES => Err(reason.into()),
        Err(error) => {
            tracing::warn!(person = %person.id, %error, "a page was not shown");
            end(core, claim, None).await
        }
    }
}

async fn end(core: &Core, claim: &Claim, again: Option<Timestamp>) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    match again {
        Some(at) => jobs::put_off(&mut tx, claim, at, None, true).await?,
        None => jobs::finish(&mut tx, claim).await?,
    }
    Ok(tx.commit().await?)
}

/// What stands on the page.
pub(crate) struct Seen {
    /// Who sees it.
    pub(crate) person: PersonId,
    /// Waiting ones, and those decided lately, oldest first.
    pub(crate) approvals: Vec<Approval>,
    /// Provider, account, and whether it works.
    pub(crate) accounts: Vec<(String, String, bool)>,
    /// In words what they are lent where they have connected nothing.
    pub(crate) lent: Option<String>,
    /// Newest first.
    pub(crate) runs: Vec<Listed>,
}

async fn seen(core: &Core, tenant: TenantId, person: &Person) -> sqlx::Result<Seen> {
    let mut conn = core.pool.acquire().await?;
    let mut approvals = Vec::new();
    // Few, and the card needs the whole of each.
    for id in sql::approvals(&mut conn, tenant, person.id, core.now() - LATELY).await? {
        approvals.extend(approval::sql::load(&mut conn, tenant, ApprovalId(id)).await?);
    }
    Ok(Seen {
        person: person.id,
        approvals,
        accounts: sql::accounts(&mut conn, tenant, person.id).await?,
        lent: connection::lent::words(&mut conn, &core.settings.lending, tenant, person.id).await?,
        runs: run::sql::newest_of(&mut conn, tenant, person.id, RUNS).await?,
    })
}
