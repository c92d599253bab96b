//! What an assistant is: inbox, runs, graph, tools, gate, approvals, effects, people, jobs and the store.
//!
//! Nodes decide, rows remember, jobs do. No vendor's client is used here and no platform is named; see
//! `docs/architecture.md`.

pub(crate) mod catch_up;
mod context;
mod home;
pub mod inbox;
pub(crate) mod join;
mod nod;
pub mod transcript;
mod worker;

pub use nod::{Nod, Parts, Settings};
