//! Documents that people keep, and answers from them. See the README.

mod access;
mod analysis;
mod card;
mod check;
mod chunk;
mod cite;
mod command;
mod document;
mod embed;
pub mod eval;
mod fetch;
mod filter;
mod fuse;
mod index;
mod ingest;
mod job;
mod keep;
mod language;
pub mod memory_store;
mod menu;
mod points;
mod postings;
mod rarity;
mod scoring;
mod search;
mod sentence;
pub mod shelf;
mod sql;
mod tools;
mod vector;
mod version;
mod window;

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::embedding::Embedder;
use nod_contract::model::Model;
use nod_contract::vector_store::{Space, VectorStore};
use nod_contract::web::WebFetcher;

use crate::access::Access;
use crate::job::KnowledgeJob;
use crate::memory_store::MemoryStore;
pub use crate::menu::KEEP_ENTRY;
use crate::points::Points;
use crate::scoring::Scorer;
use crate::search::Searcher;
use nod_people::ability::Plug;
use nod_people::context::Chat;
use nod_store::ability::{Ability, WarmUp};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};

/// Plugs in the documents. Without an embedding model they are found by their words alone, without a store of vectors by
/// an index in memory. A scoring model, if there is one, orders the best passages of each search.
pub fn plug(
    embedder: Option<Arc<dyn Embedder>>,
    store: Option<Arc<dyn VectorStore>>,
    web: Arc<dyn WebFetcher>,
    scoring_model: Option<Arc<dyn Model>>,
) -> Plug {
    Box::new(move |chat| {
        let access = Access::new(chat);
        let memory = Arc::new(MemoryStore::new(chat.pool.clone()));
        let store = store.unwrap_or_else(|| memory.clone());
        let points = Points::new(store, embedder.as_ref().map(|embedder| embedder.model().id.as_str()));
        let scorer = scoring_model.map(|model| Scorer::new(model, chat));
        let searcher = Searcher::new(points.clone(), memory, embedder.clone(), scorer);
        Ability {
            tools: tools::list_tools(chat, &access, searcher.clone()),
            jobs: vec![Arc::new(Indexing {
                chat: chat.clone(),
                embedder,
                web: web.clone(),
                points: points.clone(),
            })],
            buttons: vec![Arc::new(command::DocumentButtons {
                chat: chat.clone(),
                access: access.clone(),
                points,
            })],
            commands: vec![Arc::new(command::Knowledge { chat: chat.clone(), access, web })],
            menu: vec![Arc::new(menu::KeepFiles(chat.clone()))],
            checks: vec![Arc::new(check::CitationCheck)],
            messages: vec![Arc::new(keep::Keep(chat.clone()))],
            warm_ups: vec![Arc::new(IndexReading { searcher: searcher.clone(), chat: chat.clone() })],
            ..Ability::with_name("knowledge")
        }
    })
}

/// The first question after a start does not wait for the index.
struct IndexReading {
    chat: Chat,
    searcher: Searcher,
}

#[async_trait]
impl WarmUp for IndexReading {
    async fn warm_up(&self) {
        if let Err(error) = self.searcher.read_index(&self.chat, self.chat.tenant).await {
            tracing::warn!(%error, "could not read the index of documents");
        }
    }
}

struct Indexing {
    chat: Chat,
    embedder: Option<Arc<dyn Embedder>>,
    points: Points,
    web: Arc<dyn WebFetcher>,
}

#[async_trait]
impl JobHandler for Indexing {
    fn kinds(&self) -> &'static [&'static str] {
        KnowledgeJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        let (chat, embedder, points) = (&self.chat, self.embedder.as_ref(), &self.points);
        match claim.job()? {
            KnowledgeJob::IndexDocument { document, generation, asked_by } => {
                let version = (generation, asked_by);
                ingest::index_document(chat, self.web.as_ref(), points, claim, document, version).await
            }
            KnowledgeJob::EmbedChunks { document, version } => {
                embed::embed_chunks(chat, embedder, points, claim, document, version).await
            }
            KnowledgeJob::EmbedMissing { model, after } => {
                embed::embed_missing(chat, embedder, points, claim, &model, after).await
            }
            KnowledgeJob::SweepPoints { document, model, dimension } => {
                points.sweep(chat, claim, document, &Space { model, dimension }).await
            }
            KnowledgeJob::ReconcilePoints {} => points.reconcile(chat, claim).await,
        }
    }
}
