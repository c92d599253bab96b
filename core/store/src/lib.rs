//! Postgres: the schema, transactions, jobs, leases, the audit, step records, bytes of files and sealed secrets.

pub mod ability;
pub mod audit;
pub mod blobs;
pub mod context;
pub mod hooks;
pub mod jobs;
pub mod leader_lease;
pub mod prompt_texts;
pub mod runs;
pub mod steps;
pub mod store;
pub mod tenant;
pub mod tidy;
pub mod vault;
pub mod workflow;
