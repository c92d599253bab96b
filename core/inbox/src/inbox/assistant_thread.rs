//! The assistant thread, and the actions in a message's menu.

use sqlx::PgConnection;

use super::{ByHand, InboundContext, message};
use crate::inbox::CAPABILITIES_SENTENCE;
use nod_contract::card::Card;
use nod_contract::chat::{ChannelRef, InteractionResponse, MessageActionKind};
use nod_contract::ids::{InvocationId, PersonId};
use nod_contract::model::Turn;
use nod_contract::privacy::Provenance;
use nod_contract::text::fence_untrusted;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{ability, assistant_thread, conversations};
use nod_store::ability::{Asker, PickedMessage};

/// Longest message that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 8_000;

/// The assistant thread was opened, or the person views another channel.
pub(super) async fn accept_thread_opened(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
    viewing: Option<&str>,
) -> sqlx::Result<InteractionResponse> {
    let Some((mut tx, person, membership)) = arrival.begin_with_author("assistant_thread").await? else {
        return Ok(InteractionResponse::Ack);
    };
    let conversation =
        message::find_or_create_conversation(arrival, &mut tx, place, place.thread.as_deref(), person)
            .await?;
    let (tenant, now) = (arrival.tenant, arrival.now);
    let fresh = assistant_thread::sql::upsert(&mut tx, tenant, conversation, person, viewing, now).await?;
    if fresh && arrival.core.welcome.admits(membership) {
        let venue = conversations::load_location(&mut tx, tenant, conversation).await?;
        let new = NewDelivery {
            id: arrival.core.id(),
            conversation,
            run: None,
            platform: &venue.platform,
            target: None,
            opens_thread: false,
            card: &greeting(),
            only_for: None,
        };
        delivery::enqueue(&mut tx, tenant, &venue, &new, now).await?;
    }
    assistant_thread::enqueue_update(&mut tx, tenant, conversation, None, now).await?;
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}

/// A message on which a user chose an action.
pub(super) struct MessageAction<'a> {
    pub(super) place: &'a ChannelRef,
    pub(super) kind: &'a MessageActionKind,
    pub(super) message: PickedMessage<'a>,
}

/// What the user is taken to say about the chosen message.
const EXPLAIN: &str = "What is this message about, and does it want anything from me?";
const DRAFT: &str =
    "Write a reply to this message that I can send myself. Just the text, and don't send anything.";

/// Does what the user chose in the menu of a message.
pub(super) async fn accept_message_action(
    arrival: &InboundContext<'_>,
    picked: &MessageAction<'_>,
) -> sqlx::Result<InteractionResponse> {
    let (mut tx, person) = match arrival.begin_by_hand("message_action").await? {
        ByHand::Served(tx, person) => (tx, person),
        ByHand::Over(answer) => return Ok(answer),
    };
    let immediate = match picked.kind {
        MessageActionKind::Explain => start_run(arrival, &mut tx, picked, person, EXPLAIN).await?,
        MessageActionKind::Draft => start_run(arrival, &mut tx, picked, person, DRAFT).await?,
        MessageActionKind::Entry(name) => match arrival.core.abilities.menu_entry(name) {
            Some(entry) => {
                let asker = arrival.asker(person, picked.place);
                entry.handle_pick(&mut tx, &asker, &picked.message).await?
            }
            None => InteractionResponse::ephemeral("I can't do that yet."),
        },
    };
    tx.commit().await?;
    Ok(immediate)
}

/// Begins a run about the chosen message. Only that user gets the answer, because the channel did not ask.
async fn start_run(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    picked: &MessageAction<'_>,
    person: PersonId,
    prompt: &'static str,
) -> sqlx::Result<InteractionResponse> {
    if picked.message.text.trim().is_empty() {
        return Ok(InteractionResponse::ephemeral("I couldn't find any text in that message."));
    }
    let asker = arrival.asker(person, picked.place);
    let conversation = ability::find_or_create_private_conversation(arrival.core, conn, &asker).await?;
    let shown = context(arrival, conn, &asker, &picked.message).await?;
    let said = message::RunRequest {
        is_first_in_thread: false,
        person,
        conversation,
        text: prompt,
        message: None,
        is_shared: false,
        quoted_message: Some(shown),
        prepared_answer: None,
    };
    message::start_run(arrival, conn, &said).await?;
    Ok(InteractionResponse::ephemeral("On it. The answer will come to you in our direct messages."))
}

/// Returns the message as untrusted content, with its author's name.
async fn context(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    picked: &PickedMessage<'_>,
) -> sqlx::Result<(Turn, Provenance)> {
    let source = ability::source_of_message(&ability::load_author_name(conn, asker, picked).await?);
    let text: String = picked.text.chars().take(MAX_MESSAGE_CHARS).collect();
    let marker: InvocationId = arrival.core.id();
    let text = fence_untrusted(&text, std::slice::from_ref(&source), &marker.short());
    Ok((Turn::System { text }, Provenance::untrusted(source)))
}

/// The first message of an assistant thread.
pub(crate) fn greeting() -> Card {
    Card::from_markdown(format!("Hi! {CAPABILITIES_SENTENCE} What can I do for you?"))
}
