//! Finds the passages that fit a query, among the documents that somebody may read: by words, and by meaning if there is
//! an embedding model.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::clock::Timestamp;
use nod_contract::embedding::{Embedder, TextKind};
use nod_contract::ids::TenantId;
use nod_contract::privacy::Audience;
use nod_contract::scope::Scope;
use nod_contract::vector_store::{ChunkCounts, Hits, SearchQuery, Space, VectorStore, VectorStoreError};
use nod_people::context::Chat;
use tokio::time::timeout;
use uuid::Uuid;

use crate::analysis::{query_words, terms};
use crate::chunk::sentences;
use crate::document::{Readers, STUCK_AFTER};
use crate::embed;
use crate::filter::Filter;
use crate::fuse::{self, Candidate};
use crate::language::Language;
use crate::memory_store::MemoryStore;
use crate::points::Points;
use crate::rarity::QueryTerms;
use crate::scoring::{HybridResult, MAX_SCORED, Scorer, ScoringContext, ScoringHit};
use crate::sql::{self, CandidateRow, FoundChunk, ReadableCounts};
use crate::vector::{QueryVector, Windows};
use crate::window::window_ranges;

/// The most passages that one search returns, and the longest one in characters.
const MAX_PASSAGES: usize = 4;
const MAX_PASSAGE_CHARS: usize = 1_000;
/// How many chunks each of the two searches gives.
pub(crate) const MAX_CANDIDATES: usize = 200;
/// Chunks that are less near to a query than this are not about it,
const MIN_COSINE: f32 = 0.40;
/// unless they have so much of the highest possible score by words: an order number means nothing to a model.
const SUFFICIENT_SUPPORT: f32 = 0.30;
/// Without an embedding model, chunks with less of the highest possible score are not about a query.
const MIN_SUPPORT: f32 = 0.15;
/// How long a question waits for the embedding model, before it is looked up by its words alone.
const EMBED_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a question waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long it counts that the points were compared with the rows.
const COMPARED_FOR: TimeDelta = TimeDelta::days(1);
/// How long it counts that missing vectors were asked for.
const ASKED_FOR: TimeDelta = TimeDelta::hours(1);

/// A passage that fits a query.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) chunk: Uuid,
    pub(crate) title: String,
    pub(crate) page: Option<i32>,
    pub(crate) heading: String,
    pub(crate) text: String,
    pub(crate) published_at: Timestamp,
    /// Why it stands where it stands, if a model said so.
    pub(crate) reason: Option<String>,
}

impl Passage {
    pub(crate) fn place(&self) -> String {
        place_text(self.page, &self.heading)
    }

    fn to_scoring_hit(&self) -> ScoringHit<'_> {
        ScoringHit { title: &self.title, place: self.place(), text: &self.text }
    }
}

/// Returns where in its document a passage is: "p. 4 · Annual leave"; empty if the document has neither.
pub(crate) fn place_text(page: Option<i32>, heading: &str) -> String {
    let page = page.map(|page| format!("p. {page}"));
    let heading = Some(heading.to_owned()).filter(|heading| !heading.is_empty());
    page.into_iter().chain(heading).collect::<Vec<_>>().join(" · ")
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct SearchResult {
    /// The best first.
    pub(crate) passages: Vec<Passage>,
    /// The documents that were searched.
    pub(crate) document_count: usize,
    /// The documents that could not be searched, because they are still being read.
    pub(crate) unread_count: usize,
    /// There are documents, but the filter fits none of them.
    pub(crate) is_none_meant: bool,
    /// There was no embedding model, or it did not answer.
    pub(crate) by_words_alone: bool,
}

/// What is looked for, perhaps in several searches.
pub(crate) struct Query<'a> {
    text: &'a str,
    filter: &'a Filter,
    /// `None` until the embedding model was asked.
    vector: Option<Option<Vec<f32>>>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str, filter: &'a Filter) -> Self {
        Self { text, filter, vector: None }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SearchError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] VectorStoreError),
}

/// Searches with a store of vectors. One that keeps points is compared with the rows by a job, first of all and once a
/// day; while it has less than they do (it is new or was lost, or a document has another reader), the index in memory, which
/// is built from them, answers in its place, so nothing is missed.
#[derive(Clone)]
pub(crate) struct Searcher {
    points: Points,
    memory: Arc<MemoryStore>,
    embedder: Option<Arc<dyn Embedder>>,
    scorer: Option<Scorer>,
    /// When this replica last had the points compared, and missing vectors computed.
    compared: Arc<Mutex<HashMap<TenantId, Timestamp>>>,
    asked_missing: Arc<Mutex<HashMap<TenantId, Timestamp>>>,
}

/// What answers a search, and what it has.
struct Source<'a> {
    store: &'a dyn VectorStore,
    space: Space,
    counts: ChunkCounts,
}

impl Searcher {
    pub(crate) fn new(
        points: Points,
        memory: Arc<MemoryStore>,
        embedder: Option<Arc<dyn Embedder>>,
        scorer: Option<Scorer>,
    ) -> Self {
        Self { points, memory, embedder, scorer, compared: Arc::default(), asked_missing: Arc::default() }
    }

    /// Searches the documents of these readers. No connection is held while the store or the embedding model is asked.
    ///
    /// # Errors
    /// If the database or the store does not answer.
    pub(crate) async fn search(
        &self,
        core: &Chat,
        tenant: TenantId,
        readers: &Readers,
        query: &mut Query<'_>,
    ) -> Result<SearchResult, SearchError> {
        let mut conn = core.pool.acquire().await?;
        let counts = sql::count_readable(&mut conn, tenant, readers, core.now() - STUCK_AFTER).await?;
        let ReadableCounts { documents, chunks: chunk_count, unread, languages } = counts;
        let mut document_count = usize::try_from(documents).unwrap_or_default();
        let unread_count = usize::try_from(unread).unwrap_or_default();
        if document_count == 0 {
            return Ok(SearchResult { unread_count, ..SearchResult::default() });
        }
        let mut only = None;
        if !query.filter.is_empty() {
            let meant = query.filter.select(&sql::list(&mut conn, tenant, readers).await?);
            if meant.is_empty() {
                return Ok(SearchResult {
                    document_count,
                    unread_count,
                    is_none_meant: true,
                    ..SearchResult::default()
                });
            }
            document_count = meant.len();
            only = Some(meant);
        }
        let space = self.points.find_space(&mut conn, tenant).await?;
        drop(conn);
        let words = query_words(query.text, &languages);
        let terms: Vec<u32> = words.iter().flatten().map(|term| term.cast_unsigned()).collect();
        let source = self.choose_source(core, tenant, space, readers, chunk_count, &terms).await?;
        let Source { store, space, counts } = &source;
        if let Some(model) = self.model_id().filter(|_| counts.embedded < counts.all) {
            self.embed_missing(core, tenant, model).await?;
        }
        let vector = match query.vector.take() {
            Some(vector) => vector,
            None if has_vectors(space, counts) => self.embed_query(space.dimension, query.text).await,
            None => None,
        };
        query.vector = Some(vector.clone());
        let by_words_alone = vector.is_none();
        let wanted = QueryTerms::new(words, counts);
        let asked = store_query(tenant, readers, only, vector.clone(), &wanted);
        let hits = within_time(store.search(space, &asked)).await?;
        let mut candidates = fuse_hits(&hits, &wanted);
        if !is_supported(&candidates, vector.is_some()) {
            return Ok(SearchResult {
                document_count,
                unread_count,
                by_words_alone,
                ..SearchResult::default()
            });
        }
        candidates.truncate(fuse::MAX_LIFTED);
        let ids: Vec<Uuid> = candidates.iter().map(|candidate| candidate.chunk).collect();
        let mut conn = core.pool.acquire().await?;
        let found = sql::load_candidates(&mut conn, tenant, &ids, readers, self.model_id()).await?;
        drop(conn);
        let mut found: HashMap<Uuid, CandidateRow> =
            found.into_iter().map(|row| (row.chunk.id, row)).collect();
        candidates.retain(|candidate| found.contains_key(&candidate.chunk));
        let mean = |candidate: &Candidate| Some(found.get(&candidate.chunk)?.windows.as_ref()?.mean());
        let means: Vec<Option<Vec<f32>>> = candidates.iter().map(mean).collect();
        fuse::lift(&mut candidates, &means);
        candidates.retain(|candidate| is_about_query(candidate, vector.is_some()));
        let vector = vector.map(|vector| QueryVector::pack(&vector));
        let count = if self.scorer.is_some() { MAX_SCORED } else { MAX_PASSAGES };
        let best = candidates.iter().take(count).filter_map(|candidate| found.remove(&candidate.chunk));
        let passages: Vec<Passage> = best
            .map(|row| Passage {
                chunk: row.chunk.id,
                text: self.best_text(&row, vector.as_ref(), &wanted),
                title: row.chunk.title,
                page: row.chunk.page,
                heading: row.chunk.heading,
                published_at: row.chunk.published_at,
                reason: None,
            })
            .collect();
        Ok(SearchResult { passages, document_count, unread_count, is_none_meant: false, by_words_alone })
    }

    /// Reads the index in memory, if searches use it: with many documents that takes seconds.
    pub(crate) async fn read_index(&self, core: &Chat, tenant: TenantId) -> Result<(), SearchError> {
        if self.points.store.keeps_points() {
            return Ok(());
        }
        let mut conn = core.pool.acquire().await?;
        let space = self.points.find_space(&mut conn, tenant).await?;
        drop(conn);
        let space = space.unwrap_or_else(|| self.space_without_vectors());
        self.memory.count_chunks(&space, tenant, &[]).await?;
        Ok(())
    }

    /// Returns the passages to show, the best first: in the order of a model, if there is one to score them.
    pub(crate) async fn choose(
        &self,
        scope: &Scope,
        audience: Audience,
        question: &str,
        mut passages: Vec<Passage>,
    ) -> Vec<Passage> {
        if let Some(scorer) = self.scorer.as_ref().filter(|_| passages.len() > 1) {
            let context =
                ScoringContext { question, hits: passages.iter().map(Passage::to_scoring_hit).collect() };
            let results = scorer.score(scope, audience, &context).await;
            let mut scored: Vec<Option<Passage>> = passages.into_iter().map(Some).collect();
            let take = |result: HybridResult| {
                let passage = scored.get_mut(result.rank).and_then(Option::take)?;
                Some(Passage { reason: result.reason, ..passage })
            };
            passages = results.into_iter().filter_map(take).collect();
        }
        passages.truncate(MAX_PASSAGES);
        passages
    }

    /// Asks the store what it has, and takes the index in memory if that is less than `chunk_count`, what the readers'
    /// documents have in rows.
    async fn choose_source(
        &self,
        core: &Chat,
        tenant: TenantId,
        space: Option<Space>,
        readers: &Readers,
        chunk_count: i64,
        terms: &[u32],
    ) -> Result<Source<'_>, SearchError> {
        let store = self.points.store.as_ref();
        let mut is_behind = false;
        if let Some(space) = space.as_ref().filter(|_| store.keeps_points()) {
            let readers = readers.list();
            let (readable, counts) = within_time(async {
                tokio::try_join!(
                    store.count_readable(space, tenant, &readers),
                    store.count_chunks(space, tenant, terms)
                )
            })
            .await?;
            is_behind = i64::try_from(readable).is_ok_and(|readable| readable < chunk_count);
            self.compare_points(core, tenant, is_behind).await?;
            if !is_behind {
                self.memory.forget(tenant);
                return Ok(Source { store, space: space.clone(), counts });
            }
        }
        if is_behind {
            tracing::warn!("the vector store has less than the rows: searched in memory");
        }
        let space = space.unwrap_or_else(|| self.space_without_vectors());
        let store = self.memory.as_ref();
        let counts = store.count_chunks(&space, tenant, terms).await?;
        Ok(Source { store, space, counts })
    }

    /// Has the points compared with the rows, if it is time or must be.
    async fn compare_points(&self, core: &Chat, tenant: TenantId, must: bool) -> sqlx::Result<()> {
        let now = core.now();
        let is_known = lock(&self.compared).get(&tenant).is_some_and(|at| now - *at < COMPARED_FOR);
        if is_known && !must {
            return Ok(());
        }
        let mut tx = core.begin().await?;
        self.points.enqueue_reconcile(&mut tx, tenant, now).await?;
        tx.commit().await?;
        core.jobs.wake();
        lock(&self.compared).insert(tenant, now);
        Ok(())
    }

    /// Has missing vectors computed. What the model refuses stays without them, so not at each search.
    async fn embed_missing(&self, core: &Chat, tenant: TenantId, model: &str) -> sqlx::Result<()> {
        let now = core.now();
        if lock(&self.asked_missing).get(&tenant).is_some_and(|at| now - *at < ASKED_FOR) {
            return Ok(());
        }
        let mut tx = core.begin().await?;
        embed::enqueue_missing(&mut tx, tenant, model, Uuid::nil(), now).await?;
        tx.commit().await?;
        core.jobs.wake();
        lock(&self.asked_missing).insert(tenant, now);
        Ok(())
    }

    fn space_without_vectors(&self) -> Space {
        Space { model: self.model_id().map(str::to_owned), dimension: 0 }
    }

    fn model_id(&self) -> Option<&str> {
        self.points.model()
    }

    /// Returns the query's vector, or `None` if it is looked up by its words alone.
    async fn embed_query(&self, dimension: usize, query: &str) -> Option<Vec<f32>> {
        let embedder = self.embedder.as_ref()?;
        let answer = timeout(EMBED_TIMEOUT, embedder.embed(vec![query.to_owned()], TextKind::Query)).await;
        let vector = match answer {
            Ok(Ok(vectors)) => vectors.into_iter().next()?,
            Ok(Err(error)) => {
                tracing::warn!(%error, "searched by words alone");
                return None;
            }
            Err(_) => {
                tracing::warn!("searched by words alone: the embedding model took too long");
                return None;
            }
        };
        if vector.len() != dimension {
            let now = vector.len();
            tracing::error!(now, dimension, "searched by words alone: the model's dimension has changed");
            return None;
        }
        Some(vector)
    }

    /// Returns the part of a chunk that fits the query best.
    fn best_text(
        &self,
        CandidateRow { chunk, windows }: &CandidateRow,
        vector: Option<&QueryVector>,
        wanted: &QueryTerms,
    ) -> String {
        if let (Some(embedder), Some(vector), Some(windows)) = (&self.embedder, vector, windows) {
            let ranges = window_ranges(embedder.as_ref(), &chunk.title, &chunk.heading, &chunk.text);
            if ranges.len() == windows.scales.len() && ranges.len() > 1 {
                return best_range(chunk, &ranges, windows, vector, wanted).trim().to_owned();
            }
        }
        best_window(&chunk.text, chunk.language, wanted)
    }
}

fn lock(times: &Mutex<HashMap<TenantId, Timestamp>>) -> MutexGuard<'_, HashMap<TenantId, Timestamp>> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a store no longer than a person would.
async fn within_time<T>(
    answer: impl Future<Output = Result<T, VectorStoreError>>,
) -> Result<T, VectorStoreError> {
    let late = || VectorStoreError::Unavailable {
        reason: format!("no answer within {STORE_TIMEOUT:?}"),
        retry_after: None,
    };
    timeout(STORE_TIMEOUT, answer).await.unwrap_or_else(|_| Err(late()))
}

/// Returns whether documents can be found by meaning: nearly all chunks have vectors. (What a model refuses can still be
/// found by its words.)
fn has_vectors(space: &Space, counts: &ChunkCounts) -> bool {
    space.dimension > 0 && counts.all.saturating_sub(counts.embedded) * 10 <= counts.all
}

fn store_query(
    tenant: TenantId,
    readers: &Readers,
    documents: Option<Vec<Uuid>>,
    vector: Option<Vec<f32>>,
    terms: &QueryTerms,
) -> SearchQuery {
    SearchQuery {
        tenant,
        readers: readers.list(),
        documents,
        vector,
        terms: terms.list().into_iter().map(|(term, idf)| (term.cast_unsigned(), idf)).collect(),
        limit: MAX_CANDIDATES,
    }
}

/// Returns one order of what a store has found. Its scores by words become parts of the highest that any text could have.
fn fuse_hits(hits: &Hits, terms: &QueryTerms) -> Vec<Candidate> {
    let highest = terms.highest_score();
    let dense: Vec<(Uuid, f32)> = hits.dense.iter().map(|hit| (hit.chunk, hit.score)).collect();
    let lexical: Vec<(Uuid, f32)> =
        hits.lexical.iter().map(|hit| (hit.chunk, (hit.score / highest).min(1.0))).collect();
    fuse::fuse(&dense, &lexical)
}

/// Returns whether the documents say anything about the query. The scores of the separate searches tell, not their sum.
pub(crate) fn is_supported(candidates: &[Candidate], has_vector: bool) -> bool {
    candidates.iter().any(|candidate| is_about_query(candidate, has_vector))
}

fn is_about_query(candidate: &Candidate, has_vector: bool) -> bool {
    match has_vector {
        true => candidate.dense >= MIN_COSINE || candidate.lexical >= SUFFICIENT_SUPPORT,
        false => candidate.lexical >= MIN_SUPPORT,
    }
}

/// Returns the window of a chunk that is nearest to the query and has its rarest words.
fn best_range<'a>(
    FoundChunk { text, language, .. }: &'a FoundChunk,
    ranges: &[Range<usize>],
    windows: &Windows,
    vector: &QueryVector,
    wanted: &QueryTerms,
) -> &'a str {
    let all = wanted.total();
    let codes = windows.codes.chunks_exact(windows.dimension());
    let scored = ranges.iter().zip(codes.zip(&windows.scales)).map(|(range, (codes, scale))| {
        let there: HashSet<i32> = terms(&text[range.clone()], *language).into_iter().collect();
        (fuse::score(vector.cosine(codes, *scale), wanted.weigh(&there) / all.max(f32::MIN_POSITIVE)), range)
    });
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or(text, |(_, range)| &text[range.clone()])
}

/// Returns the whole sentences of a chunk that have the most of the query's terms in the space of one passage.
fn best_window(text: &str, language: Language, wanted: &QueryTerms) -> String {
    let sentences = sentences(text);
    let lengths: Vec<usize> = sentences.iter().map(|s| s.chars().count()).collect();
    let terms_of =
        |sentence: &&str| terms(sentence, language).into_iter().filter(|term| wanted.contains(*term));
    let found: Vec<HashSet<i32>> = sentences.iter().map(|sentence| terms_of(sentence).collect()).collect();
    let window = |from: usize| {
        let mut length = 0;
        let fits = lengths[from..].iter().take_while(|more| {
            length += **more;
            length <= MAX_PASSAGE_CHARS
        });
        from..from + fits.count().max(1)
    };
    let score = |from: usize| wanted.weigh(&found[window(from)].iter().flatten().copied().collect());
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
        let wanted = |query: &str| {
            let words = query_words(query, &[Language::English]);
            let counts = ChunkCounts { with_term: vec![0; words.len()], ..ChunkCounts::default() };
            QueryTerms::new(words, &counts)
        };
        let shown = best_window(&text, Language::English, &wanted("annual leave"));
        assert!(shown.contains("25 days of annual leave. It"), "{shown}");
        assert!(shown.chars().count() <= MAX_PASSAGE_CHARS);
        assert_eq!(best_window("Short.", Language::English, &wanted("leave")), "Short.");
        assert_eq!(best_window("", Language::English, &QueryTerms::default()), "");
    }
}
