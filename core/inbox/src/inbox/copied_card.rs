//! Copies of a card. A card can be shown elsewhere too: from the list of pending approvals, or on another platform. Only
//! the posted card is updated by its jobs. A copy on which somebody clicks becomes what the card is then; the form of a
//! copy is answered by an ephemeral message.

use sqlx::PgConnection;

use super::{InboundContext, button_click};
use nod_contract::card::{Action, Block, Card};
use nod_contract::chat::{ChannelRef, DeliveryTarget, Inbound, InteractionResponse};
use nod_contract::ids::{ApprovalId, DeliveryId, PersonId, QuestionId};
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::{self, NewDelivery};
use nod_requests::{approval, question};

const OUTCOME_IS_ON_THE_ORIGINAL: &str = "You'll see how it goes where you asked.";

/// Returns whether a message here shows all of a card. Another platform may show less than the one where it is posted,
/// and no user approves what they cannot see.
pub(super) fn fits_here(arrival: &InboundContext<'_>, card: &Card) -> bool {
    let adapter = arrival.core.adapters.get(&arrival.inbound.platform);
    adapter.is_some_and(|adapter| adapter.fits_in_one_message(card))
}

/// Returns a card as this person sees it, if a message here shows all of it.
pub(super) async fn load_copy(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    delivery: DeliveryId,
    person: PersonId,
) -> sqlx::Result<Option<Card>> {
    let card = delivery::sql::load_card_for_reader(conn, arrival.tenant, delivery, person).await?;
    Ok(card.filter(|card| fits_here(arrival, card)))
}

/// What the card of a question says where replies to it are answers; a copy cannot be replied to.
const OR_REPLY: &str = ", or reply to this message";

/// Returns a card as its copy is shown.
pub(super) fn copy_of(mut card: Card) -> Card {
    for block in &mut card.body {
        if let Block::Note(line) = block {
            *line = line.replace(OR_REPLY, "");
        }
    }
    card
}

/// Whether an accepted action changes its card. Of a question and of what an ability asks for, only a copy that was shown to
/// one person is of interest: the card itself is drawn by whoever is told.
fn changes_card(verb: &Action, is_ephemeral: bool) -> bool {
    const KINDS: [&str; 9] = [
        "deny",
        "deny_all",
        "edit",
        "select",
        "unselect",
        "recheck",
        "send_again",
        "undo",
        question::ANSWER_FORM,
    ];
    let is_asked = verb.kind == question::CHOICE || !button_click::own_verbs().any(|own| own == verb.kind);
    verb.is_approval() || KINDS.contains(&verb.kind.as_str()) || (is_ephemeral && is_asked)
}

/// A click on a card, or a form that was opened by one.
pub(super) struct Click<'a> {
    pub(super) verb: &'a Action,
    pub(super) place: &'a ChannelRef,
    pub(super) person: PersonId,
    /// It was on a message that only this user sees.
    pub(super) is_ephemeral: bool,
}

/// Returns what a copy shows now, if the click was made on one.
pub(super) async fn load_clicked_copy(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    click: &Click<'_>,
    immediate: &InteractionResponse,
) -> sqlx::Result<Option<Card>> {
    let (tenant, &Click { verb, place, person, is_ephemeral }) = (arrival.tenant, click);
    let Inbound { platform, .. } = arrival.inbound;
    // The home page is updated by its own job.
    let silent = *immediate == InteractionResponse::Ack && !place.channel.is_empty();
    if !silent || !changes_card(verb, is_ephemeral) {
        return Ok(None);
    }
    let Some(delivery) = find_card(arrival, conn, verb, person).await? else { return Ok(None) };
    if !is_ephemeral && !delivery::sql::is_posted_elsewhere(conn, tenant, delivery, platform, place).await? {
        return Ok(None);
    }
    let Some(card) = delivery::sql::load_card_for_reader(conn, tenant, delivery, person).await? else {
        return Ok(None);
    };
    let is_decided = !card.is_approval_request();
    Ok(Some(match (fits_here(arrival, &card), is_decided) {
        (true, true) => card.with_block(Block::Note(OUTCOME_IS_ON_THE_ORIGINAL.to_owned())),
        (true, false) => card,
        (false, _) => Card::from_markdown(format!("Done. {OUTCOME_IS_ON_THE_ORIGINAL}")),
    }))
}

/// Sends what a copy shows now to whoever submitted its form; of a decision, a line is enough.
pub(super) async fn notify_author(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    verb: &Action,
    place: &ChannelRef,
    person: PersonId,
    immediate: &InteractionResponse,
) -> sqlx::Result<()> {
    let (core, tenant) = (arrival.core, arrival.tenant);
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let click = Click { verb, place, person, is_ephemeral: false };
    let Some(card) = load_clicked_copy(arrival, conn, &click, immediate).await? else {
        return Ok(());
    };
    let card = match verb.kind.as_str() {
        "deny" | "deny_all" => Card::from_markdown(format!("Denied. {OUTCOME_IS_ON_THE_ORIGINAL}")),
        _ => card,
    };
    let Some(delivery) = find_card(arrival, conn, verb, person).await? else { return Ok(()) };
    let (_, _, venue) = delivery::sql::load_target(conn, tenant, delivery).await?;
    let conversation = venue.conversation;
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
    let (tenant, subject) = (arrival.tenant, verb.subject);
    if verb.kind == question::ANSWER_FORM || verb.kind == question::CHOICE {
        let question = question::sql::load(conn, tenant, QuestionId(subject)).await?;
        return Ok(question.map(|question| question.delivery));
    }
    let of_approval = approval::sql::find_card_for_person(conn, tenant, ApprovalId(subject), person).await?;
    // The other buttons that change a card name its message; one that names anything else finds no card by it.
    Ok(of_approval.or(Some(DeliveryId(subject))))
}
