//! A line that reminds a person of a card that waits for them, posted where the card stands.

use sqlx::PgConnection;

use crate::context::Chat;
use crate::delivery::{self, NewDelivery};
use crate::people::{self, Person};
use crate::permalink;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId, named_lane_id};
use nod_store::jobs::WorkError;

/// What somebody is reminded of.
pub struct Reminder<'a> {
    /// The message with the card.
    pub card: DeliveryId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub person: PersonId,
    /// The label of the button that leads to the card, where it has an address.
    pub go_to: &'a str,
}

/// Reminds somebody once: a second call posts nothing more.
pub async fn post(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    reminder: &Reminder<'_>,
    line: impl FnOnce(&Person) -> String + Send,
    now: Timestamp,
) -> Result<(), WorkError> {
    let stands = delivery::sql::load(conn, tenant, reminder.card).await?;
    let (card, venue) = stands.ok_or("no such card")?;
    let person = people::sql::load(conn, tenant, reminder.person).await?.ok_or("no such person")?;
    let user = match card.only_for {
        None if !venue.is_private_location() => {
            people::sql::find_user_id(conn, tenant, reminder.person, &venue.platform, &venue.workspace)
                .await?
        }
        _ => None,
    };
    let words = Card { body: vec![Block::Note(line(&person))], ..Card::default() };
    let words = words.with_mention(user.as_deref());
    let words = match permalink::of_card(core, &card, &venue) {
        Some(address) => words.with_button(reminder.go_to, Style::Plain, OnClick::Link(address)),
        None => {
            let show = Action::new("show_privately", reminder.card);
            words.with_button("Show me", Style::Plain, OnClick::Action(show))
        }
    };
    let new = NewDelivery {
        id: id(reminder.card),
        conversation: reminder.conversation,
        run: Some(reminder.run),
        platform: &venue.platform,
        target: card.target.as_ref(),
        opens_thread: false,
        card: &words,
        only_for: card.only_for,
    };
    Ok(delivery::enqueue(conn, tenant, &venue, &new, now).await?)
}

/// Updates the reminder of a card that waits no more, if there is one. `of` is what it reminded of.
pub async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    card: DeliveryId,
    of: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let line = format!("I reminded you of {of}. Its message shows what became of it.");
    let closed = Card { body: vec![Block::Note(line)], ..Card::default() };
    delivery::update_line(conn, tenant, id(card), closed, now).await?;
    Ok(())
}

fn id(card: DeliveryId) -> DeliveryId {
    DeliveryId(named_lane_id(&["reminder", &card.to_string()]))
}
