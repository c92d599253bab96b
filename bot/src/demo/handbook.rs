//! The company's documents: the handbook, which Nod knows from the first start on, and an offer that the page drops in
//! a chat. `scripts/make-handbook` makes both from the Markdown beside them.

use anyhow::Context;
use nod_contract::clock::Timestamp;
use nod_contract::ids::SystemIds;
use nod_contract::vector_store::Reader;
use nod_inbox::Settings;
use nod_knowledge::shelf::{self, NewFile};
use nod_store::store;
use sqlx::PgPool;

pub(super) const HANDBOOK: &str = "handbook.pdf";
pub(super) const OFFER: &str = "offer.pdf";

pub(super) const HANDBOOK_PDF: &[u8] = include_bytes!("handbook.pdf");
pub(super) const OFFER_PDF: &[u8] = include_bytes!("offer.pdf");

/// Keeps the handbook for everyone. A job reads it, so that the start does not wait.
pub(super) async fn keep(pool: &PgPool, now: Timestamp) -> anyhow::Result<()> {
    let file = NewFile { name: HANDBOOK, reader: Reader::Everyone, bytes: HANDBOOK_PDF };
    let mut tx = store::begin(pool).await?;
    shelf::add_file(&mut tx, Settings::default().tenant, &SystemIds, &file, now)
        .await
        .context("the demo's handbook")?;
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::{Block, Kind, Request};

    use super::*;

    /// Returns the text of each page, as Nod's reader gives it.
    fn read_pages(bytes: &[u8]) -> Vec<String> {
        let request = Request {
            kind: Kind::Pdf,
            name: String::new(),
            length: bytes.len(),
            most_pages: 100,
            most_bytes_out: 100_000,
            seconds: 10,
        };
        let mut pages: Vec<String> = Vec::new();
        let mut add = |block| {
            let Block::Text { text, page: Some(page) } = block else { panic!("{block:?}") };
            pages.resize(pages.len().max(page as usize), String::new());
            pages[page as usize - 1].push_str(&text);
        };
        let done = nod_reading::read(&request, bytes, &mut add).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!((done.pages, done.cut), (Some(pages.len()), None));
        pages
    }

    #[test]
    fn each_page_of_the_handbook_is_read() {
        let pages = read_pages(HANDBOOK_PDF);
        assert_eq!(pages.len(), 12);
        for (at, page) in pages.iter().enumerate() {
            assert!(page.starts_with(&format!("{}. ", at + 1)), "{page}");
            let words = page.split_whitespace().count();
            assert!((120..=210).contains(&words), "page {}: {words} words", at + 1);
        }
        // Sentences that go on in the next line are whole.
        for (page, sentence) in [
            (3, "Everybody has 25 days of annual leave a year, in every country and from the first year on."),
            (7, "You may work from home up to three days a week."),
            (10, "Everybody has a training budget of 600 euros a year, for courses, books and conferences."),
            (11, "there is one next to room Mälaren"),
        ] {
            assert!(pages[page - 1].contains(sentence), "page {page}: {}", pages[page - 1]);
        }
    }

    #[test]
    fn some_questions_have_no_answer() {
        let all = (read_pages(HANDBOOK_PDF).concat() + &read_pages(OFFER_PDF).concat()).to_lowercase();
        for word in ["parking", " park", "dog"] {
            assert!(!all.contains(word), "{word}");
        }
    }

    #[test]
    fn offer_is_one_page() {
        let pages = read_pages(OFFER_PDF);
        assert_eq!(pages.len(), 1);
        assert!(pages[0].contains("The 1,000 brochures of this offer cost 1,840 euros"), "{}", pages[0]);
    }
}
