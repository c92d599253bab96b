//! Postgres: the schema, transactions, jobs, leases, the audit, step records and sealed secrets.

pub mod ability;
pub mod audit;
pub mod context;
pub mod hooks;
pub mod jobs;
pub mod runs;
pub mod seat;
pub mod secret;
pub mod steps;
pub mod store;
pub mod tenant;
