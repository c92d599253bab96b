//! What Nod can do beside talking: the one place where an ability is plugged in.

use std::sync::Arc;

use nod_contract::model::Model;
use nod_contract::tool::Tool;
use nod_people::ability::Plug;
use nod_store::ability::Ability;

/// All of them, in the order in which people are told of their commands. `google` are the tools of whoever is signed in
/// there.
pub(super) fn abilities(google: Vec<Tool>, model: Arc<dyn Model>) -> Vec<Plug> {
    vec![
        Box::new(|_| Ability { tools: google, ..Ability::named("google") }),
        nod_memory::ability::plug(model),
    ]
}
