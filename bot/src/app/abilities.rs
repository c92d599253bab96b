//! What Nod can do in addition to chatting: the one place where an ability is plugged in.

use std::sync::Arc;

use nod_connectors::google::Accounts;
use nod_contract::command::MenuEntrySpec;
use nod_contract::embedding::Embedder;
use nod_contract::model::Model;
use nod_contract::vector_store::VectorStore;
use nod_contract::web::WebFetcher;
use nod_people::ability::Plug;
use nod_store::ability::Ability;

use super::google;
use crate::config::Config;

/// The menu entries of the abilities, for Slack's manifest, which is printed before there is anything to plug in.
pub const MENU_ENTRIES: [MenuEntrySpec; 2] = [nod_knowledge::KEEP_ENTRY, nod_tasks::TASK_ENTRY];

/// Returns all abilities, in the order in which their commands are listed. `accounts` are the Google accounts; they are
/// set if Google sign-in is configured.
pub(super) fn abilities(
    config: &Config,
    accounts: Option<&Arc<Accounts>>,
    model: Arc<dyn Model>,
    embedder: Option<Arc<dyn Embedder>>,
    store: Option<Arc<dyn VectorStore>>,
    web: Arc<dyn WebFetcher>,
) -> Vec<Plug> {
    let scoring_model = config.knowledge.scoring.then(|| model.clone());
    let knowledge = nod_knowledge::plug(embedder, store, web, scoring_model);
    let memory = nod_memory::ability::plug(model, vec![Arc::new(nod_feedback::Ratings)]);
    let mut all = vec![memory, knowledge, nod_feedback::plug(), nod_tasks::plug(config.tasks)];
    all.push(Box::new(|chat| {
        let (requests, accounts) =
            (nod_requests::listing::tools(&chat.pool), nod_accounts::listing::tools(&chat.pool));
        Ability { tools: [requests, accounts].concat(), ..Ability::with_name("lists") }
    }));
    if let Some(accounts) = accounts.cloned() {
        let google = config.google.clone();
        all.push(Box::new(move |chat| Ability {
            tools: google::tools(&google, &accounts, &chat.pool),
            ..Ability::with_name("google")
        }));
    }
    all
}
