//! Qdrant, as a store of vectors. It holds numbers and ids, and no word of a document.
//!
//! One collection for each space, for all tenants: the condition on the tenant is part of every request, and its index
//! keeps a tenant's points together. Terms are sparse vectors of our own, because Qdrant gives neither the highest score
//! that a query can have nor, before 1.19, how rare a term is for one tenant.

mod collection;
mod error;
mod filter;
mod payload;
mod points;
mod store;

pub use store::QdrantStore;
