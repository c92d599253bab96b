//! [Share in the thread]: posts an answer that was sent privately, because others read the channel too, in the thread once its
//! reader chooses so. From then on it is the channel's, in the thread and in the history.

use serde_json::json;
use sqlx::PgConnection;

use super::outbox::placeholder_card;
use crate::rows as sql;
use nod_contract::card::{Action, Block, Card, OnClick, Style, truncate};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people;
use nod_store::audit;

/// The button's action kind; its subject is the answer's first message.
pub const SHARE_ACTION: &str = "share_answer";

/// The beginning of the line above an answer that its reader finds elsewhere than they asked.
const QUESTION: &str = "You asked in a channel: ";
/// The most characters of the question in it.
const MAX_QUESTION_CHARS: usize = 200;

/// Adds to an answer that goes to one person only what they asked, and the button that shares it.
pub(super) fn with_question(mut card: Card, question: &str, answer: DeliveryId) -> Card {
    let question = truncate(question, MAX_QUESTION_CHARS);
    if !question.is_empty() {
        card.body.insert(0, Block::Note(format!("{QUESTION}“{question}”")));
    }
    with_button(card, answer)
}

/// Adds to an answer that goes to one person only the button that shares it.
pub(super) fn with_button(card: Card, answer: DeliveryId) -> Card {
    card.with_button("Share in the thread", Style::Plain, OnClick::Action(Action::new(SHARE_ACTION, answer)))
}

fn without_share_button(card: &Card, answer: DeliveryId) -> Card {
    let share = OnClick::Action(Action::new(SHARE_ACTION, answer));
    let mut card = card.clone();
    card.buttons.retain(|button| button.on_click != share);
    card
}

/// Returns whether it stands only for the reader of a private answer.
fn is_question(block: &Block) -> bool {
    matches!(block, Block::Note(text) if text.starts_with(QUESTION))
}

/// Posts the answer in the thread, unchanged, if the user who clicked is the one who received it.
pub async fn handle_share_click(
    conn: &mut PgConnection,
    tenant: TenantId,
    answer: DeliveryId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    let Some((given, _)) = delivery::sql::load(conn, tenant, answer).await? else {
        return whisper("I can't find that answer any more.");
    };
    if given.only_for != Some(by) {
        return whisper("Only the person I answered can share that.");
    }
    // Locks the lane: of two concurrent clicks, the second continues after the first has shared it.
    delivery::update_card(conn, tenant, answer, &without_share_button(&given.card, answer), now).await?;
    if delivery::sql::load(conn, tenant, delivery::shared_copy_id(answer)).await?.is_some() {
        return whisper("That was already shared.");
    }
    let person = people::sql::load(conn, tenant, by).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = placeholder_card(format!("{} shared this answer.", person.display_name()));
    for line in given.run.map(delivery::line_id).into_iter().chain([delivery::earlier_line_id(answer)]) {
        delivery::update_line(conn, tenant, line, shown.clone(), now).await?;
    }
    let shown = pages(conn, tenant, answer, now).await?;
    if let Some(run) = given.run {
        let answers = sql::list_private_answers(conn, tenant, run, by).await?;
        if let Some((message, _)) = answers.iter().find(|(_, text)| is_shown_in(text, &shown)) {
            sql::mark_shared(conn, tenant, *message).await?;
        }
    }
    audit::insert_entry(conn, tenant, Some(by), "answer.shared", answer.0, None, &json!({}), now).await?;
    Ok(InteractionResponse::Ack)
}

/// Whether a stored answer is what was shown of it, and no more. What was shown can be split into messages, with its
/// code fences reopened, and with names for mentions.
fn is_shown_in(kept: &str, shown: &str) -> bool {
    let letters = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
        lines.flat_map(str::chars).filter(|c| c.is_alphanumeric()).collect::<String>()
    };
    let shown = letters(shown);
    let mut rest = Some(shown.as_str());
    for part in kept.split("<@").enumerate().map(|(at, part)| match part.split_once('>') {
        Some((_, after)) if at > 0 => letters(after),
        _ => letters(part),
    }) {
        rest = rest.and_then(|rest| Some(&rest[rest.find(&part)? + part.len()..]));
    }
    rest.is_some()
}

/// Sends every message of the answer, each under an id derived from its original's. Returns their text.
async fn pages(
    conn: &mut PgConnection,
    tenant: TenantId,
    answer: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<String> {
    let mut shown = String::new();
    for page in 0.. {
        let id = delivery::page_id(answer, page);
        let Some((given, venue)) = delivery::sql::load(conn, tenant, id).await? else { break };
        // Its buttons answer only whom they were given to, and the question stands above.
        let mut card = Card { buttons: Vec::new(), ..given.card.clone() };
        card.body.retain(|block| !is_question(block));
        card.clear_actions();
        let copy = NewDelivery {
            id: delivery::shared_copy_id(id),
            conversation: given.conversation,
            run: given.run,
            platform: &venue.platform,
            target: None,
            opens_thread: false,
            card: &card,
            only_for: None,
        };
        delivery::enqueue(conn, tenant, &venue, &copy, now).await?;
        let left = without_share_button(&given.card, answer);
        if left != given.card {
            delivery::update_card(conn, tenant, id, &left, now).await?;
        }
        shown.extend(given.card.title.iter().map(|title| format!("{title}\n")));
        shown.extend(given.card.body.iter().filter_map(|block| match block {
            Block::Markdown(words) => Some(format!("{words}\n")),
            _ => None,
        }));
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shown_text_is_shared() {
        let shown =
            "Bo Lind writes: **late**.\n```\nlet a = 1;\n```\n```rust\nlet b = 2;\n```\nYours, Bo Lind";
        for (kept, same) in [
            ("<@U1> writes: **late**.\n```\nlet a = 1;\nlet b = 2;\n```\nYours, <@U1>", true),
            ("Bo Lind writes: **late**.", true),
            ("<@U1> writes: **late**. The price is 7.", false),
            ("And the draft that a card shows.", false),
        ] {
            assert_eq!(is_shown_in(kept, shown), same, "{kept}");
        }
    }
}
