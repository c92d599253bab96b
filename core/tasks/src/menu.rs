//! "Make a task" in the menu of a message: a task that does what the message asks for, in the direct messages of whoever
//! picked it. They may not have written the message, so none of it counts as their words.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::NewTask;
use crate::about::About;
use crate::card;
use crate::command;
use crate::context::{Room, TaskContext};
use crate::queue;
use nod_contract::chat::InteractionResponse;
use nod_contract::command::MenuEntrySpec;
use nod_contract::privacy::Provenance;
use nod_contract::text::group_digits;
use nod_people::ability;
use nod_store::ability::{Asker, MenuEntry, PickedMessage};
use nod_store::workflow::MAX_WISH_CHARS;

/// The entry.
pub const TASK_ENTRY: MenuEntrySpec = MenuEntrySpec {
    name: "Make a task",
    about: "Nod does what this message asks for, step by step, in your direct messages",
};

/// What whoever picks it is taken to say.
const WISH: &str = "Do what this message asks for.";

pub(crate) struct FromMessage(pub(crate) TaskContext);

#[async_trait]
impl MenuEntry for FromMessage {
    fn spec(&self) -> MenuEntrySpec {
        TASK_ENTRY
    }

    async fn handle_pick(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        picked: &PickedMessage<'_>,
    ) -> sqlx::Result<InteractionResponse> {
        let text = picked.text.trim();
        if text.is_empty() {
            return Ok(InteractionResponse::ephemeral(
                "There's no text in that message, so nothing was begun.",
            ));
        }
        let room = queue::find_room(&self.0, conn, (asker.tenant, asker.person)).await?;
        if let Some(refusal) = queue::refusal(&room) {
            return Ok(refusal);
        }
        let author = ability::load_author_name(conn, asker, picked).await?;
        let conversation = ability::find_or_create_private_conversation(&self.0, conn, asker).await?;
        let (text, is_cut) = shorten(text);
        let new = NewTask {
            id: self.0.id(),
            title: command::title(&format!("{author}: {text}")),
            note: WISH.to_owned(),
            about: Some(About {
                text,
                provenance: Provenance::untrusted(ability::source_of_message(&author)),
            }),
            is_queued: room.0 != Room::Now,
        };
        let begun = card::begun_card(&new, is_cut);
        let begins = (asker.tenant, conversation, asker.person);
        command::begin(&self.0, conn, begins, new, asker.now).await?;
        Ok(InteractionResponse::Ephemeral(begun))
    }
}

/// Cuts a long message, and says so where it was cut; returns whether it did.
fn shorten(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_WISH_CHARS) {
        None => (text.to_owned(), false),
        Some((end, _)) => {
            let left_out = group_digits(text[end..].chars().count());
            (format!("{}\n(… {left_out} more characters are left out …)", &text[..end]), true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_says_where_it_was_cut() {
        let whole = "é".repeat(4_000);
        assert_eq!(shorten(&whole), (whole.clone(), false));
        let (cut, is_cut) = shorten(&"é".repeat(5_234));
        assert!(is_cut);
        assert_eq!(cut, format!("{whole}\n(… 1,234 more characters are left out …)"));
    }
}
