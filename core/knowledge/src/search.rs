//! Finds the passages that fit a query, among the documents that somebody may read.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::analysis::{query_terms, terms};
use crate::chunk::sentences;
use crate::document::Readers;
use crate::index::Index;
use crate::sql;

/// The most passages that one search returns, and the longest one in characters.
const MAX_PASSAGES: usize = 4;
const MAX_PASSAGE_CHARS: usize = 1_000;
/// Passages that support a query less than this are not about it.
const MIN_SUPPORT: f32 = 0.15;

/// A passage that fits a query.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) chunk: Uuid,
    pub(crate) title: String,
    pub(crate) page: Option<i32>,
    pub(crate) heading: String,
    pub(crate) text: String,
    pub(crate) published_at: Timestamp,
}

impl Passage {
    pub(crate) fn place(&self) -> String {
        place_text(self.page, &self.heading)
    }
}

/// Returns where in its document a passage is: "p. 4 · Annual leave"; empty if the document has neither.
pub(crate) fn place_text(page: Option<i32>, heading: &str) -> String {
    let page = page.map(|page| format!("p. {page}"));
    let heading = Some(heading.to_owned()).filter(|heading| !heading.is_empty());
    page.into_iter().chain(heading).collect::<Vec<_>>().join(" · ")
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct SearchResult {
    /// The best first.
    pub(crate) passages: Vec<Passage>,
    /// The documents that were searched.
    pub(crate) document_count: usize,
}

/// An index, and the revision of the rows that it was built from.
#[derive(Debug)]
struct BuiltIndex {
    revision: i64,
    index: Arc<Index>,
}

/// The indexes of this replica.
#[derive(Debug, Clone, Default)]
pub(crate) struct Searcher(Arc<Mutex<HashMap<TenantId, BuiltIndex>>>);

impl Searcher {
    /// Searches the documents of these readers.
    ///
    /// # Errors
    /// If the database does not answer.
    pub(crate) async fn search(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        readers: Readers,
        query: &str,
    ) -> sqlx::Result<SearchResult> {
        let readable = sql::list(conn, tenant, readers).await?.into_iter().filter(|d| d.generation > 0);
        let readable: HashSet<Uuid> = readable.map(|document| document.id).collect();
        let document_count = readable.len();
        if readable.is_empty() {
            return Ok(SearchResult { passages: Vec::new(), document_count });
        }
        let index = self.load_index(conn, tenant).await?;
        let wanted = query_terms(query);
        let hits = index.search(&wanted, &readable, MAX_PASSAGES);
        let supported: Vec<Uuid> =
            hits.iter().filter(|hit| hit.support >= MIN_SUPPORT).map(|hit| hit.key.chunk).collect();
        let mut found = sql::load_chunks(conn, tenant, &supported, readers).await?;
        found.sort_by_key(|chunk| supported.iter().position(|id| *id == chunk.id));
        let passages = found.into_iter().map(|chunk| Passage {
            chunk: chunk.id,
            text: best_window(&chunk.text, &wanted, &index),
            title: chunk.title,
            page: chunk.page,
            heading: chunk.heading,
            published_at: chunk.published_at,
        });
        Ok(SearchResult { passages: passages.collect(), document_count })
    }

    /// Returns the index of the current rows. It is built anew if they have changed.
    async fn load_index(&self, conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Arc<Index>> {
        // Read before the rows: if they change in between, the next search builds the index once more.
        let revision = sql::load_revision(conn, tenant).await?;
        if let Some(built) = self.lock().get(&tenant)
            && built.revision == revision
        {
            return Ok(built.index.clone());
        }
        let index = Arc::new(sql::load_index(conn, tenant).await?);
        self.lock().insert(tenant, BuiltIndex { revision, index: index.clone() });
        Ok(index)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TenantId, BuiltIndex>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the whole sentences of a chunk that have the most of the query's terms in the space of one passage.
fn best_window(text: &str, wanted: &[i32], index: &Index) -> String {
    let sentences = sentences(text);
    let lengths: Vec<usize> = sentences.iter().map(|s| s.chars().count()).collect();
    let found: Vec<HashSet<i32>> =
        sentences.iter().map(|s| terms(s).into_iter().filter(|t| wanted.contains(t)).collect()).collect();
    let window = |from: usize| {
        let mut length = 0;
        let fits = lengths[from..].iter().take_while(|more| {
            length += **more;
            length <= MAX_PASSAGE_CHARS
        });
        from..from + fits.count().max(1)
    };
    let score = |from: usize| {
        let distinct: HashSet<i32> = found[window(from)].iter().flatten().copied().collect();
        distinct.into_iter().map(|term| index.idf(term)).sum::<f32>()
    };
    // A window begins with a sentence that has a term; of equal ones the first is shown.
    let begins = (0..sentences.len()).filter(|at| !found[*at].is_empty()).rev();
    let best = begins.max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(0);
    let shown = if sentences.is_empty() { String::new() } else { sentences[window(best)].concat() };
    shown.trim().chars().take(MAX_PASSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_chunk_shows_the_sentences_that_fit() {
        let filler = "Nothing of interest stands here. ".repeat(60);
        let text = format!("{filler}Everybody has 25 days of annual leave. It ends in March. {filler}");
        let shown = best_window(&text, &query_terms("annual leave"), &Index::default());
        assert!(shown.contains("25 days of annual leave. It"), "{shown}");
        assert!(shown.chars().count() <= MAX_PASSAGE_CHARS);
        assert_eq!(best_window("Short.", &query_terms("leave"), &Index::default()), "Short.");
        assert_eq!(best_window("", &[], &Index::default()), "");
    }
}
