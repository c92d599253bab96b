//! Documents that people keep, and answers from them. See the README.

mod analysis;
mod card;
mod check;
mod chunk;
mod cite;
mod command;
mod document;
mod fetch;
mod index;
mod ingest;
mod keep;
mod search;
mod sql;
mod tool;

use std::sync::Arc;

use async_trait::async_trait;

use crate::ingest::KnowledgeJob;
use crate::search::Searcher;
use nod_people::ability::Plug;
use nod_people::context::Chat;
use nod_store::ability::Ability;
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};

/// Plugs in the documents.
pub fn plug() -> Plug {
    Box::new(|chat| Ability {
        tools: vec![tool::retrieve(chat, Searcher::default())],
        jobs: vec![Arc::new(Indexing(chat.clone()))],
        buttons: vec![Arc::new(command::DocumentButtons(chat.clone()))],
        commands: vec![Arc::new(command::ListDocuments(chat.clone()))],
        checks: vec![Arc::new(check::CitationCheck)],
        messages: vec![Arc::new(keep::Keep(chat.clone()))],
        ..Ability::with_name("knowledge")
    })
}

struct Indexing(Chat);

#[async_trait]
impl JobHandler for Indexing {
    fn kinds(&self) -> &'static [&'static str] {
        KnowledgeJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            KnowledgeJob::IndexDocument { document, generation } => {
                ingest::index_document(&self.0, claim, document, generation).await
            }
        }
    }
}
