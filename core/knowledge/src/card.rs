//! What people see of a document.

use uuid::Uuid;

use crate::document::{Document, Status};
use nod_contract::card::{Action, Block, Card, OnClick, Style};

/// The actions of the buttons.
pub(crate) const ASK_REMOVE: &str = "knowledge_ask_remove";
pub(crate) const REMOVE: &str = "knowledge_remove";

/// The message while a document is read.
pub(crate) fn indexing(title: &str) -> Card {
    Card::from_markdown("I am reading this. When I am done, you can ask me about it.")
        .with_block(Block::Fields(vec![("Document".to_owned(), title.to_owned())]))
}

/// The message when its text can be found.
pub(crate) fn indexed(
    document: Uuid,
    title: &str,
    pages: Option<i32>,
    passages: usize,
    replaces: bool,
) -> Card {
    let size = match (pages, passages) {
        (Some(1), 1) => "1 page, 1 passage".to_owned(),
        (Some(1), n) => format!("1 page, {n} passages"),
        (Some(pages), 1) => format!("{pages} pages, 1 passage"),
        (Some(pages), n) => format!("{pages} pages, {n} passages"),
        (None, 1) => "1 passage".to_owned(),
        (None, n) => format!("{n} passages"),
    };
    let text = if replaces {
        "I have read the new version. It takes the place of the earlier one."
    } else {
        "I have read this. Ask me about it."
    };
    Card::from_markdown(text)
        .with_block(Block::Fields(vec![("Document".to_owned(), title.to_owned()), ("Read".to_owned(), size)]))
        .with_button("Remove", Style::Plain, OnClick::Action(Action::new(ASK_REMOVE, document)))
}

/// The message if a document cannot be read. `reason` is the end of a sentence.
pub(crate) fn failed(title: &str, reason: &str, keeps_earlier: bool) -> Card {
    let then = if keeps_earlier { "The earlier version stays." } else { "Nothing of it was kept." };
    Card::from_markdown(format!("I could not read this: {reason}. {then}"))
        .with_block(Block::Fields(vec![("Document".to_owned(), title.to_owned())]))
}

/// The message if a file says what a document here says already.
pub(crate) fn same_content(title: &str, existing: &str) -> Card {
    Card::from_markdown("I have exactly this already, so I kept nothing new.").with_block(Block::Fields(
        vec![("File".to_owned(), title.to_owned()), ("Document".to_owned(), existing.to_owned())],
    ))
}

/// The message of a document that was removed.
pub(crate) fn removed(title: &str) -> Card {
    Card::from_markdown("This was removed. I know nothing of it any more.")
        .with_block(Block::Fields(vec![("Document".to_owned(), title.to_owned())]))
}

/// Asks whether to remove a document.
pub(crate) fn ask_remove(document: &Document) -> Card {
    Card::from_markdown("Remove this document? I will know nothing of it any more.")
        .with_block(Block::Fields(vec![("Document".to_owned(), document.title.clone())]))
        .with_button("Yes, remove it", Style::Danger, OnClick::Action(Action::new(REMOVE, document.id)))
}

/// The list of the documents here.
pub(crate) fn list(documents: &[Document]) -> Card {
    /// The most documents that are listed.
    const MOST: usize = 20;
    let line = |document: &Document| {
        let status = match (document.status, document.chunk_count) {
            (Status::Indexing, _) => "I am reading it".to_owned(),
            (Status::Failed, _) => {
                format!("failed: {}", document.reason.as_deref().unwrap_or("it was not read"))
            }
            (Status::Indexed, 1) => "1 passage".to_owned(),
            (Status::Indexed, n) => format!("{n} passages"),
        };
        (document.title.clone(), status)
    };
    let mut card = Card::from_markdown("What I know documents of here:")
        .with_block(Block::Fields(documents.iter().take(MOST).map(line).collect()));
    if let Some(more) = documents.len().checked_sub(MOST).filter(|more| *more > 0) {
        card = card.with_block(Block::Note(format!("and {more} more")));
    }
    card
}
