//! One reminder a day before a question of work lapses, posted where its card is; and its update afterwards.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::{question_text, sql};
use crate::work::RequestJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{QuestionId, TenantId};
use nod_people::context::Chat;
use nod_people::people::Person;
use nod_people::reminder::{self, Reminder};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs;
use nod_when::when::local_time;

/// How long before the question lapses.
const BEFORE_EXPIRY: TimeDelta = TimeDelta::hours(24);

/// Plans it in the question's own lane, and so before the expiry; not for a question that lapses within a day.
pub async fn plan(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    now: Timestamp,
) -> sqlx::Result<()> {
    let at = question.expires_at - BEFORE_EXPIRY;
    if !question.takes_words || at <= now {
        return Ok(());
    }
    let work = RequestJob::RemindQuestion { question: question.id };
    jobs::enqueue(conn, tenant, question.id.0, &work, at, now).await
}

/// Reminds, unless the question was answered meanwhile. The message and the end of the job are one commit.
pub async fn remind(core: &Chat, claim: &Claim, id: QuestionId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let asked = sql::load(&mut tx, tenant, id).await?;
    if let Some(question) = asked {
        // Locked in the same order as by an answer, which then finds the reminder.
        runs::lock(&mut tx, tenant, question.run).await?;
        if sql::is_pending(&mut tx, tenant, id, now).await? {
            post(core, &mut tx, tenant, &question, now).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

async fn post(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    now: Timestamp,
) -> Result<(), WorkError> {
    let reminder = Reminder {
        card: question.delivery,
        conversation: question.conversation,
        run: question.run,
        person: question.person,
        go_to: "Go to the question",
    };
    let line = |person: &Person| {
        format!(
            "{}, your task still waits for your answer: {} Without one it goes on at {}.",
            person.display_name(),
            question_text(question),
            local_time(question.expires_at, &person.principal().zone)
        )
    };
    reminder::post(core, conn, tenant, &reminder, line, now).await
}

/// Updates the reminder of a question that waits no more, so that it no longer says that it does.
pub(super) async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    now: Timestamp,
) -> sqlx::Result<()> {
    match question.takes_words {
        true => reminder::close(conn, tenant, question.delivery, "a question", now).await,
        false => Ok(()),
    }
}
