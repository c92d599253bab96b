//! Answers that are too long to post: posts the beginning and attaches the whole answer as a file.

use sqlx::PgConnection;

use super::outbox::{Outbox, placeholder_card};
use nod_contract::card::{Block, Card};
use nod_contract::chat::OutgoingFile;
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use nod_contract::privacy::Audience;
use nod_contract::text::group_digits;
use nod_people::delivery;
use nod_store::jobs::WorkError;

/// The longest answer that is posted in full, in characters: about ten messages of the platform with the shortest ones.
const MAX_ANSWER_CHARS: usize = 40_000;
/// The longest file, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// An answer as it is posted, with the whole answer if it was cut.
pub(super) struct TruncatedAnswer {
    pub(super) card: Card,
    pub(super) whole: Option<Whole>,
}

/// The whole answer.
pub(super) struct Whole {
    text: String,
    letters: usize,
}

/// Returns what is posted of an answer. What Nod adds to the model's text stays.
pub(super) fn truncate_answer(card: &Card) -> TruncatedAnswer {
    let letters = |text: &String| text.chars().count();
    let texts: Vec<&String> = card.body.iter().filter_map(markdown).collect();
    let all: usize = texts.iter().copied().map(letters).sum();
    if all <= MAX_ANSWER_CHARS {
        return TruncatedAnswer { card: card.clone(), whole: None };
    }
    let mut left = MAX_ANSWER_CHARS;
    let mut shown = Card { body: Vec::new(), ..card.clone() };
    for block in &card.body {
        match markdown(block) {
            Some(_) if left == 0 => {}
            Some(text) => {
                shown.body.push(Block::Markdown(delivery::truncate_as_message(text, left)));
                left = left.saturating_sub(letters(text));
            }
            None => shown.body.push(block.clone()),
        }
    }
    let mut text = texts.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n\n");
    text.truncate(text.floor_char_boundary(MAX_FILE_BYTES));
    TruncatedAnswer { card: shown, whole: Some(Whole { text, letters: all }) }
}

fn markdown(block: &Block) -> Option<&String> {
    match block {
        Block::Markdown(text) => Some(text),
        _ => None,
    }
}

impl Outbox<'_> {
    /// Sends the whole answer after its beginning, to the same audience.
    pub(super) async fn send_whole(
        &self,
        conn: &mut PgConnection,
        whole: Option<&Whole>,
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let Some(Whole { text, letters }) = whole else { return Ok(()) };
        let id: DeliveryId = self.core.id();
        let cut = if text.len() > MAX_FILE_BYTES - 4 { ", as far as it is kept," } else { "" };
        let letters = group_digits(*letters);
        let note = placeholder_card(format!(
            "This is the beginning: the whole answer{cut} ({letters} characters) is in the file."
        ));
        let file = OutgoingFile { name: format!("answer-{}.md", id.short()), text: text.clone() };
        self.post_file(conn, id, (&note, &file), audience, now).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_its_beginning_and_what_nod_adds_stays() {
        let card = Card::from_markdown("word ".repeat(20_000))
            .with_block(Block::Note("Nothing was sent.".to_owned()));
        let TruncatedAnswer { card: shown, whole } = truncate_answer(&card);
        assert_eq!(shown.body.len(), 2);
        assert!(matches!(&shown.body[0], Block::Markdown(text) if text.chars().count() <= MAX_ANSWER_CHARS));
        assert_eq!(shown.body[1], card.body[1]);
        assert_eq!(whole.map(|whole| whole.letters), Some(100_000));
        assert!(truncate_answer(&Card::from_markdown("word ".repeat(8_000))).whole.is_none());
    }
}
