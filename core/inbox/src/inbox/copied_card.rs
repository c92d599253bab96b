//! Copies of a card. A card can be shown elsewhere too: from the list of pending approvals, or on another platform.
//! Only the posted card is updated, so a user who clicks on a copy gets the outcome in an ephemeral message.

use sqlx::PgConnection;

use super::InboundContext;
use nod_contract::card::{Action, Card};
use nod_contract::chat::{ChannelRef, DeliveryTarget, Inbound, InteractionResponse};
use nod_contract::ids::{ApprovalId, DeliveryId, PersonId};
use nod_people::delivery::{self, ConversationLocation, NewDelivery};
use nod_requests::approval;

const OUTCOME_IS_ON_THE_ORIGINAL: &str = "You'll see how it goes where you asked.";

/// What an accepted click changed.
enum CopyNotice {
    /// The approval is decided.
    Decided(&'static str),
    /// The card has changed.
    Changed,
}

fn copy_notice(verb: &Action) -> Option<CopyNotice> {
    match verb.kind.as_str() {
        _ if verb.is_approval() => Some(CopyNotice::Decided("Approved")),
        "deny" | "deny_all" => Some(CopyNotice::Decided("Denied")),
        "edit" | "select" | "unselect" | "recheck" | "send_again" | "undo" => Some(CopyNotice::Changed),
        _ => None,
    }
}

/// Sends the outcome of a click if it was made on a copy.
pub(super) async fn notify_presser(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: &ChannelRef,
    person: PersonId,
    immediate: &InteractionResponse,
) -> sqlx::Result<()> {
    let (core, tenant) = (arrival.core, arrival.tenant);
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    // The home page is updated by its own job.
    let silent = *immediate == InteractionResponse::Ack && !place.channel.is_empty();
    let Some(echo) = copy_notice(verb).filter(|_| silent) else { return Ok(()) };
    let Some(delivery) = find_card(arrival, conn, verb, person).await? else { return Ok(()) };
    if !delivery::sql::is_posted_elsewhere(conn, tenant, delivery, platform, place).await? {
        return Ok(());
    }
    let card = match echo {
        CopyNotice::Decided(verdict) => {
            Card::from_markdown(format!("{verdict}. {OUTCOME_IS_ON_THE_ORIGINAL}"))
        }
        CopyNotice::Changed => match delivery::sql::load_card_for_reader(conn, tenant, delivery, person)
            .await?
        {
            Some(card)
                if core.adapters.get(platform).is_some_and(|adapter| adapter.fits_in_one_message(&card)) =>
            {
                card
            }
            Some(_) => Card::from_markdown(format!("Done. {OUTCOME_IS_ON_THE_ORIGINAL}")),
            None => return Ok(()),
        },
    };
    let (conversation, ..) = delivery::sql::load_delivery_target(conn, tenant, delivery).await?;
    let venue = delivery::sql::load_location(conn, tenant, conversation).await?;
    // The location is that of the copy, so that this delivery is in the order of that place.
    let here = ConversationLocation { platform: platform.clone(), workspace: workspace.clone(), ..venue };
    let target = DeliveryTarget::Ephemeral {
        workspace: workspace.clone(),
        place: place.clone(),
        user: author.user.clone(),
    };
    let new = NewDelivery {
        id: core.id(),
        conversation,
        run: None,
        platform,
        target: Some(&target),
        opens_thread: false,
        card: &card,
        only_for: Some(person),
    };
    delivery::enqueue(conn, tenant, &here, &new, arrival.now).await
}

/// Returns the delivery of the card that an action is about, as this person has it.
async fn find_card(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<Option<DeliveryId>> {
    if matches!(verb.kind.as_str(), "approve_all" | "approve_selected" | "deny_all") {
        return Ok(Some(DeliveryId(verb.subject)));
    }
    let approval = approval::sql::load(conn, arrival.tenant, ApprovalId(verb.subject)).await?;
    Ok(approval.map(|approval| approval.card_for_person(person)))
}
