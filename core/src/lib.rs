//! What an assistant is: inbox, runs, graph, tools, gate, approvals, effects, people, jobs and the store.
//!
//! Nodes decide, rows remember, jobs do. No vendor's client is used here and no platform is named; see
//! `docs/architecture.md`.

pub mod address;
pub mod approval;
mod audit;
pub(crate) mod busy;
pub mod card;
pub mod chat;
pub mod clock;
pub mod connection;
pub mod contacts;
mod delivery;
pub mod digest;
pub mod draft;
pub mod effect;
pub mod file;
pub mod graph;
mod history;
mod home;
pub mod ids;
pub mod inbox;
pub mod jobs;
pub mod memory;
pub mod model;
pub mod named;
mod nod;
pub mod outside;
mod pane;
pub mod people;
pub mod policy;
pub mod privacy;
pub mod provider;
mod question;
pub mod reading;
pub mod run;
pub mod scope;
mod seat;
pub mod secret;
pub mod slots;
pub mod store;
mod tenant;
pub(crate) mod text;
pub mod tool;
pub mod transcript;
pub mod visible;
mod voice;
pub mod when;
pub mod wire;
mod worker;

pub use nod::{Nod, Parts, Settings};
