//! The embedding model of the configuration.

use std::sync::Arc;

use nod_contract::embedding::Embedder;
use nod_embeddings::{Endpoint, LocalModel};

use crate::config::{Config, Embeddings};

/// Opens the configured model, if there is one.
///
/// # Errors
/// If its folder has no model that Nod can compute.
pub(crate) fn open(config: &Config) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    Ok(match &config.embeddings {
        None => None,
        Some(Embeddings::Endpoint(settings)) => Some(Arc::new(Endpoint::new(settings.clone())?)),
        Some(Embeddings::Folder(folder)) => {
            let opened = LocalModel::open(folder);
            Some(Arc::new(opened.map_err(|error| anyhow::anyhow!("embeddings.model_dir: {error}"))?))
        }
    })
}
