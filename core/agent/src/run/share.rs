//! [Share here]: posts an answer that was sent privately, because others read the channel too, in the thread once its
//! reader chooses so. From then on it is the channel's, in the thread and in the history.

use serde_json::json;
use sqlx::PgConnection;

use super::commit::placeholder_card;
use crate::rows as sql;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people;
use nod_store::audit;

/// The button's action kind; its subject is the answer's first message.
pub const SHARE_ACTION: &str = "share_answer";

/// Creates the thread's line for an answer that was sent to one person only.
pub(super) fn share_offer_card(name: &str, answer: DeliveryId) -> Card {
    placeholder_card(format!("Answered {name} privately.")).with_button(
        "Share here",
        Style::Plain,
        OnClick::Action(Action::new(SHARE_ACTION, answer)),
    )
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
    let line = delivery::placeholder_id(answer);
    let (Some((given, _)), Some((stands, _))) =
        (delivery::sql::load(conn, tenant, answer).await?, delivery::sql::load(conn, tenant, line).await?)
    else {
        return whisper("I can't find that answer any more.");
    };
    if given.only_for != Some(by) {
        return whisper("Only the person I answered can share that.");
    }
    if !has_share_button(&stands.card, answer) {
        return whisper("That was already shared.");
    }
    let person = people::sql::load(conn, tenant, by).await?.ok_or(sqlx::Error::RowNotFound)?;
    // Locks the lane: of two concurrent clicks, the second continues after the first has shared it.
    let shown = placeholder_card(format!("{} shared this answer.", person.display_name()));
    delivery::update_card(conn, tenant, line, &shown, now).await?;
    if delivery::sql::load(conn, tenant, delivery::shared_copy_id(answer)).await?.is_some() {
        return whisper("That was already shared.");
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

fn has_share_button(card: &Card, answer: DeliveryId) -> bool {
    let share = OnClick::Action(Action::new(SHARE_ACTION, answer));
    card.buttons.iter().any(|button| button.on_click == share)
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
        // Its buttons answer only whom they were given to.
        let card = Card { buttons: Vec::new(), ..given.card.clone() };
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
