//! One reminder a day before a question of work lapses, posted where its card is; and its update afterwards.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::{question_text, sql};
use crate::work::RequestJob;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, QuestionId, TenantId, named_lane_id};
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{people, permalink};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs;
use nod_when::when::local_time;

/// How long before the question lapses.
const BEFORE_EXPIRY: TimeDelta = TimeDelta::hours(24);

/// Plans it in the question's own lane, and so before the expiry.
pub async fn plan(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    now: Timestamp,
) -> sqlx::Result<()> {
    if !question.takes_words {
        return Ok(());
    }
    let work = RequestJob::RemindQuestion { question: question.id };
    jobs::enqueue(conn, tenant, question.id.0, &work, question.expires_at - BEFORE_EXPIRY, now).await
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
    let stands = delivery::sql::load(conn, tenant, question.delivery).await?;
    let (card, venue) = stands.ok_or("no such card")?;
    let person = people::sql::load(conn, tenant, question.person).await?.ok_or("no such person")?;
    let line = format!(
        "{}, your task still waits for your answer: {} Without one it goes on at {}.",
        person.display_name(),
        question_text(question),
        local_time(question.expires_at, &person.principal().zone)
    );
    let user = match card.only_for {
        None if !venue.is_private_location() => {
            people::sql::find_user_id(conn, tenant, question.person, &venue.platform, &venue.workspace)
                .await?
        }
        _ => None,
    };
    let reminder = Card { body: vec![Block::Note(line)], ..Card::default() }.with_mention(user.as_deref());
    let reminder = match permalink::of_card(core, &card, &venue) {
        Some(address) => reminder.with_button("Go to the question", Style::Plain, OnClick::Link(address)),
        None => {
            let show = Action::new("show_privately", question.delivery);
            reminder.with_button("Show me", Style::Plain, OnClick::Action(show))
        }
    };
    let new = NewDelivery {
        id: reminder_id(question.id),
        conversation: question.conversation,
        run: Some(question.run),
        platform: &venue.platform,
        target: card.target.as_ref(),
        opens_thread: false,
        card: &reminder,
        only_for: card.only_for,
    };
    Ok(delivery::enqueue(conn, tenant, &venue, &new, now).await?)
}

/// Updates the reminder of a question that waits no more, so that it no longer says that it does.
pub(super) async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    now: Timestamp,
) -> sqlx::Result<()> {
    if !question.takes_words {
        return Ok(());
    }
    let line = "I reminded you of a question. Its message shows what became of it.".to_owned();
    let card = Card { body: vec![Block::Note(line)], ..Card::default() };
    delivery::update_line(conn, tenant, reminder_id(question.id), card, now).await?;
    Ok(())
}

fn reminder_id(question: QuestionId) -> DeliveryId {
    DeliveryId(named_lane_id(&["reminder of a question", &question.to_string()]))
}
