//! The store of vectors of the configuration.

use std::sync::Arc;

use nod_contract::vector_store::VectorStore;
use nod_qdrant::QdrantStore;

use crate::config::Config;

/// Opens the configured store, if there is one, without connecting.
///
/// # Errors
/// If its address or its key cannot be one.
pub(crate) fn open(config: &Config) -> anyhow::Result<Option<Arc<dyn VectorStore>>> {
    let Some(settings) = &config.qdrant else { return Ok(None) };
    let opened = QdrantStore::new(&settings.url, settings.api_key.clone(), settings.timeout);
    Ok(Some(Arc::new(opened.map_err(|error| anyhow::anyhow!("qdrant: {error}"))?)))
}
