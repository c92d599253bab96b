//! Deciding an approval, once: by a press, by time, or by a newer request.

use serde_json::json;
use sqlx::PgConnection;

use super::{Approval, Status, card, sql};
use crate::audit;
use crate::card::Card;
use crate::chat::Immediate;
use crate::clock::Timestamp;
use crate::delivery;
use crate::effect;
use crate::graph::local_time;
use crate::ids::{ApprovalId, PersonId, TenantId};
use crate::jobs::{Claim, News, Verdict, Work, WorkError, sql as jobs};
use crate::nod::Core;

/// A press on [Approve] or [Deny]. Whoever may not decide, or comes late, is told and nothing else happens.
pub(crate) async fn press(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    approve: bool,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Immediate> {
    let Some(approval) = sql::load(conn, tenant, id).await? else {
        return Ok(whisper("I know of no such request. Nothing was done."));
    };
    let to = if approve { Status::Approved } else { Status::Denied };
    if !sql::settle(conn, tenant, id, to, Some(by), now).await? {
        let approval = sql::load(conn, tenant, id).await?.unwrap_or(approval);
        return Ok(whisper(&told(&approval, by, now)));
    }
    let action = if approve { "approval.approved" } else { "approval.denied" };
    let detail = json!({ "tool": approval.tool, "revision": approval.revision });
    audit::write(conn, tenant, Some(by), action, id.0, Some(&approval.digest), &detail, now).await?;
    if approve {
        effect::plan(core, conn, tenant, &approval, now).await?;
    } else {
        tell(conn, tenant, &approval, Verdict::Denied, now).await?;
    }
    refresh(conn, tenant, id, now).await?;
    Ok(Immediate::Nothing)
}

/// Nobody answered in time: the run hears so, and the card says so.
pub(crate) async fn expire(core: &Core, claim: &Claim, id: ApprovalId) -> Result<(), WorkError> {
    let now = core.now();
    let mut tx = core.pool.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    if sql::settle(&mut tx, claim.tenant, id, Status::Expired, None, now).await? {
        end(&mut tx, claim.tenant, id, "approval.expired", Verdict::Expired, now).await?;
    }
    jobs::finish(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// A newer request of the same kind to the same people, in the same conversation, takes the place of those
/// that still wait.
pub(crate) async fn supersede(
    conn: &mut PgConnection,
    tenant: TenantId,
    newer: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    for old in
        sql::pending(conn, tenant, newer.decider, sql::Within::Conversation(newer.conversation)).await?
    {
        let same = old.tool == newer.tool && same_people(&old.preview.recipients, &newer.preview.recipients);
        // Calls of one run stand side by side: the person asked for both.
        if old.id == newer.id || old.run == newer.run || !same {
            continue;
        }
        if sql::settle(conn, tenant, old.id, Status::Superseded, None, now).await? {
            end(conn, tenant, old.id, "approval.superseded", Verdict::Superseded, now).await?;
        }
    }
    Ok(())
}

async fn end(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    action: &str,
    verdict: Verdict,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(approval) = sql::load(conn, tenant, id).await? else { return Ok(()) };
    let detail = json!({ "tool": approval.tool, "revision": approval.revision });
    audit::write(conn, tenant, None, action, id.0, Some(&approval.digest), &detail, now).await?;
    tell(conn, tenant, &approval, verdict, now).await?;
    refresh(conn, tenant, id, now).await
}

/// The run that waits hears the verdict. Called before the card is refreshed: lanes of conversations are
/// locked before those of channels, everywhere.
async fn tell(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    verdict: Verdict,
    now: Timestamp,
) -> sqlx::Result<()> {
    let news = News::Verdict { approval: approval.id, verdict };
    let work = Work::Advance { run: approval.run, news: Some(news) };
    jobs::enqueue(conn, tenant, approval.conversation.0, &work, now, now).await
}

/// Shows the card as it should stand now.
pub(crate) async fn refresh(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(approval) = sql::load(conn, tenant, id).await? else { return Ok(()) };
    delivery::show(conn, tenant, approval.delivery, &card(&approval), now).await
}

fn same_people(one: &[String], other: &[String]) -> bool {
    let sorted = |all: &[String]| {
        let mut all: Vec<String> = all.iter().map(|a| a.to_lowercase()).collect();
        all.sort();
        all
    };
    sorted(one) == sorted(other)
}

/// What became of it, to somebody whose press changed nothing.
fn told(approval: &Approval, by: PersonId, now: Timestamp) -> String {
    let name = &approval.decider_name;
    if approval.decider != by {
        return format!("Only {name} can decide this. Nothing was done.");
    }
    let at =
        approval.decided_at.map_or_else(String::new, |at| format!(" ({})", local_time(at, &approval.zone)));
    match approval.status {
        Status::Approved => format!("{name} approved this already{at}. Nothing more was done."),
        Status::Denied => format!("{name} denied this already{at}. Nothing was done."),
        Status::Superseded => "A newer request took its place. Nothing was done.".to_owned(),
        Status::Pending if approval.expires_at > now => "Nothing was done. Please press again.".to_owned(),
        Status::Expired | Status::Pending => {
            "This expired before anybody answered. Nothing was done; ask again.".to_owned()
        }
    }
}

fn whisper(words: &str) -> Immediate {
    Immediate::Whisper(Card::say(words))
}
