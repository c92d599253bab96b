//! [Share here]: what went to one person alone, since it was asked for where others read too, goes to the others as
//! well where that person says so. From then on it is the channel's, in the thread and in what is remembered of it.

use serde_json::json;
use sqlx::PgConnection;

use super::commit::neutral;
use super::sql;
use crate::audit;
use crate::card::{Card, Press, Style, Verb};
use crate::chat::Immediate;
use crate::clock::Timestamp;
use crate::delivery::{self, NewDelivery};
use crate::ids::{DeliveryId, PersonId, TenantId};
use crate::people;

/// What the button carries, with the answer's first message.
pub(crate) const VERB: &str = "share";

/// The line that stands in the thread for an answer that went to one person alone.
pub(super) fn line(name: &str, answer: DeliveryId) -> Card {
    neutral(format!("Answered {name} privately.")).button(
        "Share here",
        Style::Plain,
        Press::Verb(Verb::new(VERB, answer)),
    )
}

/// Puts the answer into the thread, as it was given, where it was given to whoever presses.
pub(crate) async fn press(
    conn: &mut PgConnection,
    tenant: TenantId,
    answer: DeliveryId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Immediate> {
    let whisper = |words: &str| Ok(Immediate::whisper(words));
    let line = delivery::line_of(answer);
    let (Some((given, _)), Some((stands, _))) =
        (delivery::sql::load(conn, tenant, answer).await?, delivery::sql::load(conn, tenant, line).await?)
    else {
        return whisper("I know of no such answer. Nothing was shared.");
    };
    if given.only_for != Some(by) {
        return whisper("Only whoever was answered can share that. Nothing was shared.");
    }
    if !offers(&stands.card, answer) {
        return whisper("That was shared already.");
    }
    let person = people::sql::load(conn, tenant, by).await?.ok_or(sqlx::Error::RowNotFound)?;
    // Locks the lane: of two presses at once, the second goes on when the first has shared it.
    let shown = neutral(format!("{} shared this answer.", person.display_name()));
    delivery::show(conn, tenant, line, &shown, now).await?;
    if delivery::sql::load(conn, tenant, delivery::shared(answer)).await?.is_some() {
        return whisper("That was shared already.");
    }
    pages(conn, tenant, answer, now).await?;
    if let Some(run) = given.run {
        sql::share(conn, tenant, run, by).await?;
    }
    audit::write(conn, tenant, Some(by), "answer.shared", answer.0, None, &json!({}), now).await?;
    Ok(Immediate::Nothing)
}

fn offers(card: &Card, answer: DeliveryId) -> bool {
    let share = Press::Verb(Verb::new(VERB, answer));
    card.buttons.iter().any(|button| button.does == share)
}

/// Every message of the answer, each under a key that follows from its own.
async fn pages(
    conn: &mut PgConnection,
    tenant: TenantId,
    answer: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for page in 0.. {
        let id = delivery::page_of(answer, page);
        let Some((given, venue)) = delivery::sql::load(conn, tenant, id).await? else { break };
        let copy = NewDelivery {
            id: delivery::shared(id),
            conversation: given.conversation,
            run: given.run,
            platform: &venue.platform,
            target: None,
            opens_thread: false,
            card: &given.card,
            only_for: None,
        };
        delivery::send(conn, tenant, &venue, &copy, now).await?;
    }
    Ok(())
}
