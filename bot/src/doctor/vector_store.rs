//! The check of the store of vectors.

use std::sync::Arc;

use nod_contract::embedding::TextKind;
use nod_contract::vector_store::{Space, VectorStoreHealth};

use super::Finding;
use crate::app::{embeddings, vector_store};
use crate::config::Config;

const NAME: &str = "vector store";
const FIX: &str = "check [qdrant] in the configuration; config/compose.yaml starts a Qdrant";

/// Checks whether the store answers, is new enough, and has vectors as long as the embedding model's.
pub(super) async fn check_store(config: Arc<Config>) -> Vec<Finding> {
    let store = match vector_store::open(&config) {
        Ok(Some(store)) => store,
        Ok(None) => return vec![Finding::skipped(NAME, "none: documents are indexed in Nod itself", None)],
        Err(error) => return vec![Finding::failed(NAME, error.to_string(), FIX)],
    };
    let space = match find_space(config).await {
        Ok(space) => space,
        Err(error) => return vec![Finding::failed(NAME, error.to_string(), "see the embedding model")],
    };
    vec![match store.check(&space).await {
        Ok(health) => describe(&space, &health),
        Err(error) => Finding::failed(NAME, error.to_string(), FIX),
    }]
}

/// Returns the space of the configured model. How long its vectors are, an endpoint tells only with one.
async fn find_space(config: Arc<Config>) -> anyhow::Result<Space> {
    let opened = tokio::task::spawn_blocking(move || embeddings::open(&config)).await??;
    let Some(embedder) = opened else { return Ok(Space { model: None, dimension: 0 }) };
    let vectors = embedder.embed(vec!["25 days of annual leave".to_owned()], TextKind::Query).await?;
    let dimension = vectors.first().map_or(0, Vec::len);
    Ok(Space { model: Some(embedder.model().id.clone()), dimension })
}

fn describe(space: &Space, health: &VectorStoreHealth) -> Finding {
    let version = &health.version;
    match health.dimension {
        None => Finding::ok(NAME, format!("Qdrant {version}; it has no documents of this model yet")),
        Some(dimension) if dimension == space.dimension => {
            Finding::ok(NAME, format!("Qdrant {version}, {dimension} numbers a vector"))
        }
        Some(dimension) => Finding::failed(
            NAME,
            format!("its vectors have {dimension} numbers, and the model's {}", space.dimension),
            "delete that collection: it is filled again from the rows",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use nod_sandbox::qdrant::{Qdrant, QdrantConfig};

    use super::*;
    use crate::doctor::Verdict;

    async fn check(fake: &Qdrant, key: &str) -> Finding {
        let pairs = [("NOD_QDRANT__URL", fake.url()), ("NOD_QDRANT__API_KEY", key.to_owned())];
        let pairs = pairs.into_iter().map(|(name, value)| (name.to_owned(), value));
        let config = Config::load(Some(std::path::Path::new("/dev/null")), pairs).unwrap();
        check_store(Arc::new(config)).await.remove(0)
    }

    #[tokio::test]
    async fn a_store_is_reached_and_new_enough() {
        let fake = Qdrant::start(QdrantConfig { api_key: Some("qd-1".to_owned()) }).await.unwrap();
        let found = check(&fake, "qd-1").await;
        assert_eq!(found.verdict, Verdict::Ok, "{found:?}");
        assert!(found.detail.starts_with("Qdrant 1.20.0"), "{found:?}");
        assert_eq!(check(&fake, "qd-2").await.verdict, Verdict::Failed);
        fake.set_version("1.12.6");
        let found = check(&fake, "qd-1").await;
        assert!(found.detail.contains("Qdrant 1.12.6 is too old: Nod needs 1.13 or later"), "{found:?}");
        let space = Space { model: Some("m".to_owned()), dimension: 384 };
        let health = |dimension| VectorStoreHealth { version: "1.20.0".to_owned(), dimension };
        assert_eq!(describe(&space, &health(Some(384))).verdict, Verdict::Ok);
        assert_eq!(describe(&space, &health(Some(256))).verdict, Verdict::Failed);
    }
}
