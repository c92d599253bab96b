//! Conditions. Each function takes the tenant, so none can be without it.

use nod_contract::ids::TenantId;
use nod_contract::vector_store::{Reader, SearchQuery};
use qdrant_client::qdrant::{Condition, Filter};
use uuid::Uuid;

use crate::payload;

pub fn tenant(tenant: TenantId) -> Filter {
    Filter::must([Condition::matches(payload::TENANT, tenant.to_string())])
}

pub fn term(of: TenantId, term: u32) -> Filter {
    and(of, [Condition::matches(payload::TERMS, i64::from(term))])
}

/// Returns the points that have vectors.
pub fn embedded(of: TenantId) -> Filter {
    and(of, [Condition::matches(payload::EMBEDDED, 1_i64)])
}

/// Returns what a search is limited to.
pub fn search(query: &SearchQuery) -> Filter {
    let documents = query.documents.iter().map(|documents| {
        let documents: Vec<String> = documents.iter().map(Uuid::to_string).collect();
        Condition::matches(payload::DOCUMENT, documents)
    });
    and(query.tenant, std::iter::once(of_readers(&query.readers)).chain(documents))
}

/// Returns the points that one of these may read.
pub fn readable(of: TenantId, readers: &[Reader]) -> Filter {
    and(of, [of_readers(readers)])
}

fn of_readers(readers: &[Reader]) -> Condition {
    let readers: Vec<String> = readers.iter().map(payload::reader_key).collect();
    Condition::matches(payload::READER, readers)
}

/// Returns the points of a document, except those of one version.
pub fn document(of: TenantId, document: Uuid, except: Option<i32>) -> Filter {
    let kept = except.map(|generation| Condition::matches(payload::GENERATION, i64::from(generation)));
    let all = and(of, [Condition::matches(payload::DOCUMENT, document.to_string())]);
    Filter { must_not: kept.into_iter().collect(), ..all }
}

fn and(of: TenantId, conditions: impl IntoIterator<Item = Condition>) -> Filter {
    let mut filter = tenant(of);
    filter.must.extend(conditions);
    filter
}
