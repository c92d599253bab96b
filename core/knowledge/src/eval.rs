//! Measures the search with a collection of documents, queries and judgements: JSON lines in a folder.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use nod_contract::embedding::{Embedder, TextKind};
use nod_contract::ids::{ConversationId, InvocationId, RunId, TenantId, TraceId};
use nod_contract::model::Model;
use nod_contract::scope::{RunOrIngestion, Scope};
use nod_contract::vector_store::Reader;
use nod_contract::wire::Block;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::analysis::{query_words, split_words, weighted_terms};
use crate::chunk;
use crate::fuse::{self, Candidate};
use crate::index::{Index, IndexedChunk, IndexedVersion};
use crate::language::{Language, detect_language};
use crate::rarity::QueryTerms;
use crate::scoring::{MAX_SCORED, ScoringContext, ScoringHit, score_once};
use crate::search::{MAX_CANDIDATES, is_supported};
use crate::vector::{QueryVector, Windows};
use crate::window::split_windows;

/// A line of `docs.jsonl`.
#[derive(Debug, Deserialize)]
struct EvalDocument {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// A line of `queries.jsonl`.
#[derive(Debug, Deserialize)]
struct EvalQuery {
    id: String,
    text: String,
    /// Queries of one thread ask nearly the same, so they are in the same half.
    thread: Option<String>,
}

/// A line of `qrels.jsonl`.
#[derive(Debug, Deserialize)]
struct Judgement {
    query: String,
    doc: String,
    rel: i32,
}

/// A collection.
#[derive(Debug)]
pub struct Collection {
    documents: Vec<EvalDocument>,
    queries: Vec<EvalQuery>,
    /// The documents that answer a query, with how well each does.
    relevant: HashMap<String, HashMap<String, i32>>,
}

/// Vectors that were computed before, by the digest of their text.
pub type VectorCache = HashMap<String, Vec<f32>>;

/// The means over some queries.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metrics {
    pub queries: usize,
    pub ndcg_at_10: f64,
    pub recall_at_10: f64,
    pub recall_at_100: f64,
    pub mrr: f64,
}

/// How well one way to search does.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: &'static str,
    pub all: Metrics,
    /// The half of the queries on which settings may be chosen, and the other one.
    pub tune: Metrics,
    pub held: Metrics,
    pub median: Duration,
    pub percentile_99: Duration,
}

/// What was measured.
#[derive(Debug)]
pub struct Report {
    pub chunks: usize,
    pub windows: usize,
    pub rows: Vec<Row>,
    /// The part of the queries that have an answer and get "I don't know".
    pub refused: f64,
    /// The part of another collection's queries that get "I don't know".
    pub refused_foreign: Option<f64>,
}

impl Collection {
    /// Reads a collection.
    ///
    /// # Errors
    /// If a file is missing or a line is not as expected; with the file and the line.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let judgements: Vec<Judgement> = read_lines(&folder.join("qrels.jsonl"))?;
        let mut relevant: HashMap<String, HashMap<String, i32>> = HashMap::new();
        for judgement in judgements.into_iter().filter(|judgement| judgement.rel > 0) {
            relevant.entry(judgement.query).or_default().insert(judgement.doc, judgement.rel);
        }
        let queries: Vec<EvalQuery> = read_lines(&folder.join("queries.jsonl"))?;
        let queries: Vec<EvalQuery> =
            queries.into_iter().filter(|query| relevant.contains_key(&query.id)).collect();
        let documents: Vec<EvalDocument> = read_lines(&folder.join("docs.jsonl"))?;
        if queries.is_empty() || documents.is_empty() {
            return Err(format!("{} has no document, or no query with an answer", folder.display()));
        }
        Ok(Self { documents, queries, relevant })
    }
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(at, line)| {
        serde_json::from_str(line).map_err(|error| format!("{} line {}: {error}", path.display(), at + 1))
    });
    parsed.collect()
}

/// A collection, indexed.
struct Searchable {
    index: Index,
    /// The document of each chunk, as a position.
    documents: HashMap<Uuid, usize>,
    means: HashMap<Uuid, Vec<f32>>,
    /// The heading and the text of each chunk.
    texts: HashMap<Uuid, (String, String)>,
    readable: HashSet<Uuid>,
    languages: Vec<Language>,
    windows: usize,
}

/// The scores of the separate searches, for one query.
struct Legs {
    dense: Vec<(Uuid, f32)>,
    lexical: Vec<(Uuid, f32)>,
}

/// Measures the search. A scoring model orders the best passages once more.
///
/// # Errors
/// If a model does not answer.
pub async fn evaluate(
    collection: &Collection,
    foreign: Option<&Collection>,
    embedder: Option<&dyn Embedder>,
    scoring_model: Option<&dyn Model>,
    cache: &mut VectorCache,
) -> Result<Report, String> {
    let searchable = build_index(collection, embedder, cache).await?;
    let mut found: BTreeMap<usize, Vec<(Vec<String>, Duration)>> = BTreeMap::new();
    let mut refused = 0;
    let ways = ways(embedder.is_some());
    for query in &collection.queries {
        let vector = embed_query(&query.text, embedder, cache).await?;
        let legs = search(&searchable, &query.text, vector.as_ref());
        refused += usize::from(!is_supported(&fuse::fuse(&legs.dense, &legs.lexical), vector.is_some()));
        for (at, (_, rank)) in ways.iter().enumerate() {
            let begun = Instant::now();
            let legs = search(&searchable, &query.text, vector.as_ref());
            let ranked = rank(&searchable, &legs);
            let took = begun.elapsed();
            let documents = documents(collection, &searchable, &ranked);
            found.entry(at).or_default().push((documents, took));
        }
    }
    let mut names: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
    if let Some(model) = scoring_model {
        let (_, rank) = ways[ways.len() - 1];
        for query in &collection.queries {
            let vector = embed_query(&query.text, embedder, cache).await?;
            let begun = Instant::now();
            let ranked = rank(&searchable, &search(&searchable, &query.text, vector.as_ref()));
            let ranked = score(collection, &searchable, model, &query.text, ranked).await?;
            let took = begun.elapsed();
            let documents = documents(collection, &searchable, &ranked);
            found.entry(names.len()).or_default().push((documents, took));
        }
        names.push("scored");
    }
    let rows = names.iter().enumerate().map(|(at, name)| {
        let results = &found[&at];
        let mean = |wanted: &dyn Fn(&EvalQuery) -> bool| {
            mean_metrics(collection, results.iter().map(|(documents, _)| documents), wanted)
        };
        let mut took: Vec<Duration> = results.iter().map(|(_, took)| *took).collect();
        took.sort();
        Row {
            name,
            all: mean(&|_| true),
            tune: mean(&is_tuned_on),
            held: mean(&|query| !is_tuned_on(query)),
            median: took[took.len() / 2],
            percentile_99: took[(took.len() * 99 / 100).min(took.len() - 1)],
        }
    });
    let rows = rows.collect();
    let mut refused_foreign = None;
    if let Some(foreign) = foreign {
        let mut count = 0;
        for query in &foreign.queries {
            let vector = embed_query(&query.text, embedder, cache).await?;
            let legs = search(&searchable, &query.text, vector.as_ref());
            count += usize::from(!is_supported(&fuse::fuse(&legs.dense, &legs.lexical), vector.is_some()));
        }
        refused_foreign = Some(count as f64 / foreign.queries.len() as f64);
    }
    Ok(Report {
        chunks: searchable.documents.len(),
        windows: searchable.windows,
        rows,
        refused: refused as f64 / collection.queries.len() as f64,
        refused_foreign,
    })
}

type Rank = fn(&Searchable, &Legs) -> Vec<Uuid>;

/// The ways to search that are compared.
fn ways(has_model: bool) -> Vec<(&'static str, Rank)> {
    let lexical: (&str, Rank) = ("lexical", |_, legs| ids(&legs.lexical));
    if !has_model {
        return vec![lexical];
    }
    vec![
        lexical,
        ("dense", |_, legs| ids(&legs.dense)),
        ("rank fusion", |_, legs| fuse::fuse_ranks(&ids(&legs.dense), &ids(&legs.lexical))),
        ("fused", |_, legs| chunks(&fuse::fuse(&legs.dense, &legs.lexical))),
        ("hybrid", |searchable, legs| {
            let mut fused = fuse::fuse(&legs.dense, &legs.lexical);
            let best = fused.iter().take(fuse::MAX_LIFTED);
            let means: Vec<Option<Vec<f32>>> =
                best.map(|candidate| searchable.means.get(&candidate.chunk).cloned()).collect();
            fuse::lift(&mut fused, &means);
            chunks(&fused)
        }),
    ]
}

fn ids(scored: &[(Uuid, f32)]) -> Vec<Uuid> {
    scored.iter().map(|(chunk, _)| *chunk).collect()
}

fn chunks(candidates: &[Candidate]) -> Vec<Uuid> {
    candidates.iter().map(|candidate| candidate.chunk).collect()
}

fn search(searchable: &Searchable, query: &str, vector: Option<&QueryVector>) -> Legs {
    let Searchable { index, readable, languages, .. } = searchable;
    let words = query_words(query, languages);
    let counts = index.count_chunks(&words.concat());
    let terms = QueryTerms::new(words, &counts);
    let lexical = index.search_terms(&terms.list(), readable, MAX_CANDIDATES);
    let highest = terms.highest_score();
    Legs {
        dense: vector.map_or_else(Vec::new, |v| index.search_vector(v, readable, MAX_CANDIDATES)),
        lexical: lexical.into_iter().map(|(chunk, score)| (chunk, (score / highest).min(1.0))).collect(),
    }
}

/// Returns the chunks with the best in the order of a model.
async fn score(
    collection: &Collection,
    searchable: &Searchable,
    model: &dyn Model,
    question: &str,
    mut ranked: Vec<Uuid>,
) -> Result<Vec<Uuid>, String> {
    let rest = ranked.split_off(ranked.len().min(MAX_SCORED));
    let hit = |chunk: &Uuid| {
        let (heading, text) = &searchable.texts[chunk];
        let title = collection.documents[searchable.documents[chunk]].title.as_str();
        ScoringHit { title, place: heading.clone(), text }
    };
    let context = ScoringContext { question, hits: ranked.iter().map(hit).collect() };
    let nobody = Uuid::nil();
    let scope = Scope {
        tenant: TenantId(nobody),
        case: ConversationId(nobody),
        workflow: "eval",
        run: RunOrIngestion::RunId(RunId(nobody)),
        trace: TraceId(nobody),
        invocation: InvocationId(nobody),
    };
    let ordered = score_once(model, &scope, &context).await?;
    let best = ordered.into_iter().map(|result| ranked[result.rank]);
    Ok(best.chain(rest).collect())
}

/// Returns the documents of chunks, each once.
fn documents(collection: &Collection, searchable: &Searchable, chunks: &[Uuid]) -> Vec<String> {
    let mut seen = HashSet::new();
    let positions = chunks.iter().filter_map(|chunk| searchable.documents.get(chunk));
    positions.filter(|at| seen.insert(**at)).map(|at| collection.documents[*at].id.clone()).collect()
}

async fn build_index(
    collection: &Collection,
    embedder: Option<&dyn Embedder>,
    cache: &mut VectorCache,
) -> Result<Searchable, String> {
    let mut searchable = Searchable {
        index: Index::default(),
        documents: HashMap::new(),
        means: HashMap::new(),
        texts: HashMap::new(),
        readable: HashSet::new(),
        languages: Vec::new(),
        windows: 0,
    };
    let mut next: u128 = 0;
    let mut all = Vec::new();
    for (at, document) in collection.documents.iter().enumerate() {
        let id = Uuid::from_u128(1 << 64 | at as u128);
        let blocks = [Block::Text { text: document.text.clone(), page: None }];
        let language = detect_language(&split_words(&document.text)).unwrap_or_default();
        if !searchable.languages.contains(&language) {
            searchable.languages.push(language);
        }
        let mut chunks = chunk::split(&blocks);
        if chunks.is_empty() {
            // Its title can still be found.
            chunks.push(chunk::Chunk { page: None, heading: String::new(), text: String::new() });
        }
        let mut indexed = Vec::new();
        for chunk in chunks {
            next += 1;
            let key = Uuid::from_u128(next);
            let windows = match embedder {
                Some(embedder) => {
                    let texts = split_windows(embedder, &document.title, &chunk.heading, &chunk.text);
                    let vectors = embed(embedder, texts, TextKind::Passage, cache).await?;
                    Some(Windows::pack(&vectors))
                }
                None => None,
            };
            if let Some(windows) = &windows {
                searchable.windows += windows.scales.len();
                searchable.means.insert(key, windows.mean());
            }
            searchable.documents.insert(key, at);
            let terms = weighted_terms(&document.title, &chunk.heading, &chunk.text, language);
            indexed.push(IndexedChunk { chunk: key, terms, windows });
            searchable.texts.insert(key, (chunk.heading, chunk.text));
        }
        all.push(IndexedVersion { document: id, generation: 1, reader: Reader::Everyone, chunks: indexed });
        searchable.readable.insert(id);
    }
    searchable.index.replace(all);
    Ok(searchable)
}

async fn embed_query(
    text: &str,
    embedder: Option<&dyn Embedder>,
    cache: &mut VectorCache,
) -> Result<Option<QueryVector>, String> {
    let Some(embedder) = embedder else { return Ok(None) };
    let vectors = embed(embedder, vec![text.to_owned()], TextKind::Query, cache).await?;
    Ok(vectors.first().map(|vector| QueryVector::pack(vector)))
}

async fn embed(
    embedder: &dyn Embedder,
    texts: Vec<String>,
    kind: TextKind,
    cache: &mut VectorCache,
) -> Result<Vec<Vec<f32>>, String> {
    let digest = |text: &String| {
        let model = &embedder.model().id;
        format!("{:x}", Sha256::digest(format!("{model}\0{kind:?}\0{text}")))
    };
    let keys: Vec<String> = texts.iter().map(digest).collect();
    if !keys.iter().all(|key| cache.contains_key(key)) {
        let vectors = embedder.embed(texts, kind).await.map_err(|error| error.to_string())?;
        cache.extend(keys.iter().cloned().zip(vectors));
    }
    Ok(keys.iter().filter_map(|key| cache.get(key)).cloned().collect())
}

/// Returns whether settings may be chosen by this query; the others show what they are worth.
fn is_tuned_on(query: &EvalQuery) -> bool {
    let digest = Sha256::digest(query.thread.as_ref().unwrap_or(&query.id));
    digest.last().is_some_and(|byte| byte.is_multiple_of(2))
}

fn mean_metrics<'a>(
    collection: &Collection,
    found: impl Iterator<Item = &'a Vec<String>>,
    is_wanted: &dyn Fn(&EvalQuery) -> bool,
) -> Metrics {
    let mut sum = Metrics::default();
    for (query, found) in collection.queries.iter().zip(found).filter(|(query, _)| is_wanted(query)) {
        let one = metrics(found, &collection.relevant[&query.id]);
        sum.queries += 1;
        sum.ndcg_at_10 += one.ndcg_at_10;
        sum.recall_at_10 += one.recall_at_10;
        sum.recall_at_100 += one.recall_at_100;
        sum.mrr += one.mrr;
    }
    let mean = |total: f64| total / sum.queries.max(1) as f64;
    Metrics {
        queries: sum.queries,
        ndcg_at_10: mean(sum.ndcg_at_10),
        recall_at_10: mean(sum.recall_at_10),
        recall_at_100: mean(sum.recall_at_100),
        mrr: mean(sum.mrr),
    }
}

/// Returns the metrics of one query.
fn metrics(found: &[String], relevant: &HashMap<String, i32>) -> Metrics {
    let gain = |rel: i32, rank: usize| f64::from(rel) / (rank as f64 + 2.0).log2();
    let rel = |document: &String| relevant.get(document).copied().unwrap_or(0);
    let gained: f64 = found.iter().take(10).enumerate().map(|(rank, d)| gain(rel(d), rank)).sum();
    let mut ideal: Vec<i32> = relevant.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let possible: f64 = ideal.iter().take(10).enumerate().map(|(rank, r)| gain(*r, rank)).sum();
    let recall = |most: usize| {
        found.iter().take(most).filter(|d| rel(d) > 0).count() as f64 / relevant.len().max(1) as f64
    };
    let first = found.iter().position(|document| rel(document) > 0);
    Metrics {
        queries: 1,
        ndcg_at_10: gained / possible,
        recall_at_10: recall(10),
        recall_at_100: recall(100),
        mrr: first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_ids(documents: &[&str]) -> Vec<String> {
        documents.iter().map(|document| (*document).to_owned()).collect()
    }

    #[test]
    fn metrics_are_those_of_the_books() {
        let relevant = HashMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]);
        let best = metrics(&to_ids(&["b", "a", "c"]), &relevant);
        assert_eq!((best.ndcg_at_10, best.recall_at_10, best.mrr), (1.0, 1.0, 1.0));
        let second = metrics(&to_ids(&["c", "a"]), &relevant);
        let expected = (1.0 / 3.0_f64.log2()) / (1.0 + 1.0 / 3.0_f64.log2());
        assert!((second.ndcg_at_10 - expected).abs() < 1e-9);
        assert_eq!((second.recall_at_100, second.mrr), (0.5, 0.5));
        assert_eq!(metrics(&[], &relevant).ndcg_at_10, 0.0);
    }

    #[tokio::test]
    async fn a_collection_is_measured_by_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "docs.jsonl",
            "{\"id\":\"1\",\"title\":\"Leave\",\"text\":\"25 days a year.\"}\n{\"id\":\"2\",\"text\":\"\"}\n",
        );
        write(
            "queries.jsonl",
            "{\"id\":\"q\",\"text\":\"how many days of leave\"}\n{\"id\":\"x\",\"text\":\"x\"}\n",
        );
        write("qrels.jsonl", "{\"query\":\"q\",\"doc\":\"1\",\"rel\":1}\n");
        let collection = Collection::read(folder.path()).unwrap();
        let report =
            evaluate(&collection, Some(&collection), None, None, &mut VectorCache::new()).await.unwrap();
        assert_eq!((report.chunks, report.windows, report.rows.len()), (2, 0, 1));
        assert_eq!((report.rows[0].all.ndcg_at_10, report.refused), (1.0, 0.0));
        write("queries.jsonl", "nonsense\n");
        let error = Collection::read(folder.path()).unwrap_err();
        assert!(error.contains("queries.jsonl line 1:"), "{error}");
    }
}
