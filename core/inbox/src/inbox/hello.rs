//! The hello: invited into a channel, Nod says once what it does. Its id follows from the channel, so it is said once for
//! ever, however often Nod is invited or restarted, and whichever replica hears of it.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::{InboundContext, card, command, message};
use nod_contract::card::Action;
use nod_contract::chat::{ChannelRef, Inbound, InteractionResponse};
use nod_contract::ids::{DeliveryId, PersonId, named_lane_id};
use nod_people::conversations;
use nod_people::delivery::{self, NewDelivery};

/// The action of the hello's buttons.
pub(super) const ASK_ACTION: &str = "ask_from_hello";

/// A platform may report at every connect that Nod joined. What is older than this is no news to the people there; it is
/// long enough for whoever invites Nod first and starts it afterwards.
const MAX_AGE: TimeDelta = TimeDelta::days(1);

/// Nod was added to a channel. That is no news if it was long ago.
pub(super) async fn accept_joined_channel(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
) -> sqlx::Result<InteractionResponse> {
    if arrival.inbound.at < arrival.now - MAX_AGE {
        return Ok(InteractionResponse::Ack);
    }
    let mut tx = arrival.begin().await?;
    if arrival.record_once(&mut tx, "joined_channel").await? {
        say(arrival, &mut tx, place).await?;
    }
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}

/// Says hello, unless it was said there before.
async fn say(arrival: &InboundContext<'_>, conn: &mut PgConnection, place: &ChannelRef) -> sqlx::Result<()> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    // Locks the channel's row: of two invitations at once, the second waits and then finds the hello.
    let channel = conversations::find_or_create_channel(
        conn,
        tenant,
        platform,
        workspace,
        place,
        &author.user,
        core.ids.next(),
        now,
    )
    .await?;
    let id = hello_id(arrival, place);
    if delivery::sql::load(conn, tenant, id).await?.is_some() {
        return Ok(());
    }
    let conversation =
        conversations::find_or_create_conversation(conn, tenant, channel, None, core.id(), now).await?;
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let new = NewDelivery {
        id,
        conversation,
        run: None,
        platform,
        target: None,
        opens_thread: true,
        card: &card::hello_card(id, ASK_ACTION),
        only_for: None,
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await
}

/// Returns the id of a channel's hello.
fn hello_id(arrival: &InboundContext<'_>, place: &ChannelRef) -> DeliveryId {
    let Inbound { platform, workspace, .. } = arrival.inbound;
    let tenant = arrival.tenant.to_string();
    DeliveryId(named_lane_id(&["hello", &tenant, platform, workspace, &place.channel]))
}

/// Begins a run in the hello's thread as if the person had said there what the button says; false if it is no button of
/// this channel's hello.
pub(super) async fn handle_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<bool> {
    let id = hello_id(arrival, place);
    let prompt = verb.argument.and_then(|number| card::HELLO_PROMPTS.get(usize::from(number)));
    let Some((_, text)) = prompt.filter(|_| verb.subject == id.0) else { return Ok(false) };
    let Some((hello, venue)) = delivery::sql::load(conn, arrival.tenant, id).await? else {
        return Ok(false);
    };
    let conversation = match &venue.channel_ref.thread {
        // If the thread goes on with one person only, anybody else gets a conversation of their own.
        Some(thread) => {
            message::find_or_create_conversation(arrival, conn, place, Some(thread), person).await?
        }
        None => hello.conversation,
    };
    let said = message::RunRequest {
        person,
        conversation,
        text,
        message: None,
        is_shared: true,
        quoted_message: None,
        is_first_in_thread: false,
        prepared_answer: None,
    };
    command::ask(arrival, conn, &said).await?;
    Ok(true)
}
