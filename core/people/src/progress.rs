//! The progress line of a turn that takes long, with its Stop button, and whether the turn was stopped.

use sqlx::PgConnection;

use crate::conversations::{self, ConversationLocation};
use crate::delivery::{self, NewDelivery};
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::ids::{ConversationId, DeliveryId, RunId, TenantId, named_lane_id};
use nod_store::context::Base;
use nod_store::jobs::Claim;

/// Returns the id of the line, derived from the run's, so that the code that ends the run finds it.
pub fn id(run: RunId) -> DeliveryId {
    DeliveryId(named_lane_id(&["progress", &run.to_string()]))
}

fn progress_card(run: RunId, words: String) -> Card {
    Card { body: vec![Block::Note(words)], ..Card::default() }.with_button(
        "Stop",
        Style::Plain,
        OnClick::Action(Action::new("stop_run", run)),
    )
}

/// Says why it takes long, in neutral words. It is for an effect without a card, in the transaction that reschedules it
/// and has locked the run's lane. The line of a stopped turn is not changed, and a step of a workflow has none.
pub async fn show_wait_notice(
    core: &Base,
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    run: RunId,
    words: String,
) -> sqlx::Result<()> {
    let has_line = sqlx::query_scalar!(
        r#"select exists (select 1 from runs where tenant_id = $1 and id = $2 and parent_id is null
             and status <> 'stopped') as "has_line!""#,
        tenant.0,
        run.0
    );
    if !has_line.fetch_one(&mut *conn).await? {
        return Ok(());
    }
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    upsert_progress_line(core, conn, tenant, &venue, (conversation, run), words).await
}

pub async fn upsert_progress_line(
    core: &Base,
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    (conversation, run): (ConversationId, RunId),
    words: String,
) -> sqlx::Result<()> {
    let (now, line, card) = (core.now(), id(run), progress_card(run, words));
    if delivery::sql::load(conn, tenant, line).await?.is_some() {
        return delivery::update_card(conn, tenant, line, &card, now).await;
    }
    let new = NewDelivery {
        id: line,
        conversation,
        run: Some(run),
        platform: &venue.platform,
        target: None,
        opens_thread: false,
        card: &card,
        only_for: None,
    };
    delivery::enqueue(conn, tenant, venue, &new, now).await
}

/// Deletes the line, if it is shown, in the transaction that ends the turn.
pub async fn remove_progress_line(
    core: &Base,
    conn: &mut PgConnection,
    claim: &Claim,
    run: RunId,
) -> sqlx::Result<()> {
    let line = id(run);
    match delivery::sql::load(conn, claim.tenant, line).await? {
        Some((shown, _)) if !shown.card.is_empty() => {
            delivery::update_card(conn, claim.tenant, line, &Card::default(), core.now()).await
        }
        _ => Ok(()),
    }
}

pub async fn is_stopped(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from runs where tenant_id = $1 and id = $2 and status = 'stopped') as "stopped!""#,
        tenant.0,
        run.0
    )
    .fetch_one(conn)
    .await
}
