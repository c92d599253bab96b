//! `nod eval`: measures how well documents are found.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use nod_knowledge::eval::{self, Collection, Metrics, Report, VectorCache};
use serde_json::{Value, json};

use crate::app::{self, embeddings};
use crate::config::Config;
use crate::table::Table;

/// Measures a collection. `foreign` is another one, whose queries have no answer in it. If it is `scored`, the router's model
/// orders the best passages of each query once more.
///
/// # Errors
/// If a file is wrong, or the model does not answer.
pub(crate) async fn run(
    config: &Config,
    folder: &Path,
    foreign: Option<&Path>,
    cache: Option<&Path>,
    scored: bool,
    json: bool,
) -> anyhow::Result<String> {
    let collection = Collection::read(folder).map_err(|error| anyhow!(error))?;
    let foreign = foreign.map(Collection::read).transpose().map_err(|error| anyhow!(error))?;
    let embedder = embeddings::open(config)?;
    let model = if scored { Some(app::open_model(config)?) } else { None };
    let mut vectors = match cache {
        Some(path) if path.exists() => read_cache(path)?,
        _ => VectorCache::new(),
    };
    let known = vectors.len();
    let report =
        eval::evaluate(&collection, foreign.as_ref(), embedder.as_deref(), model.as_deref(), &mut vectors)
            .await;
    // Also if it failed: what was computed took long.
    if let Some(path) = cache.filter(|_| vectors.len() > known) {
        std::fs::write(path, serde_json::to_vec(&vectors)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let report = report.map_err(|error| anyhow!(error))?;
    let model = embedder.as_ref().map(|embedder| embedder.model().id.clone());
    Ok(if json {
        format!("{:#}", as_json(&report, model.as_deref()))
    } else {
        as_text(&report, model.as_deref())
    })
}

fn read_cache(path: &Path) -> anyhow::Result<VectorCache> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is no cache of vectors", path.display()))
}

fn as_text(report: &Report, model: Option<&str>) -> String {
    let mut table = Table::default();
    table.row();
    for head in ["search", "nDCG@10", "tune", "held", "R@10", "R@100", "MRR", "p50 ms", "p99 ms"] {
        table.cell(head.to_owned());
    }
    for row in &report.rows {
        table.row();
        table.cell(row.name.to_owned());
        let Metrics { ndcg_at_10, recall_at_10, recall_at_100, mrr, .. } = row.all;
        let figures =
            [ndcg_at_10, row.tune.ndcg_at_10, row.held.ndcg_at_10, recall_at_10, recall_at_100, mrr];
        for figure in figures {
            table.cell(format!("{figure:.3}"));
        }
        for time in [row.median, row.percentile_99] {
            table.cell(format!("{:.2}", time.as_secs_f64() * 1_000.0));
        }
    }
    let mut text = table.to_aligned_text();
    let model = model.unwrap_or("no model: words alone");
    let queries = report.rows.first().map_or(0, |row| row.all.queries);
    let _ =
        write!(text, "\n\n{queries} queries, {} chunks, {} windows, {model}", report.chunks, report.windows);
    let _ = write!(text, "\n\"I don't know\" to its own queries: {:.1} %", report.refused * 100.0);
    if let Some(foreign) = report.refused_foreign {
        let _ = write!(text, ", to the other collection's: {:.1} %", foreign * 100.0);
    }
    text
}

fn as_json(report: &Report, model: Option<&str>) -> Value {
    let metrics = |m: &Metrics| {
        json!({
            "queries": m.queries, "ndcg_at_10": m.ndcg_at_10, "recall_at_10": m.recall_at_10,
            "recall_at_100": m.recall_at_100, "mrr": m.mrr,
        })
    };
    let rows = report.rows.iter().map(|row| {
        json!({
            "search": row.name, "all": metrics(&row.all), "tune": metrics(&row.tune), "held": metrics(&row.held),
            "p50_ms": row.median.as_secs_f64() * 1_000.0, "p99_ms": row.percentile_99.as_secs_f64() * 1_000.0,
        })
    });
    json!({
        "model": model, "chunks": report.chunks, "windows": report.windows, "rows": rows.collect::<Vec<_>>(),
        "refused": report.refused, "refused_foreign": report.refused_foreign,
    })
}
