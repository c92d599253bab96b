//! What an assistant is: inbox, runs, graph, tools, gate, approvals, effects, people, jobs and the store.
//!
//! Nodes decide, rows remember, jobs do. No vendor's client is used here and no platform is named; see
//! `docs/architecture.md`.

pub mod address;
pub mod approval;
mod audit;
pub(crate) mod busy;
pub mod card;
pub(crate) mod catch_up;
pub mod chat;
pub mod clock;
pub mod connection;
pub mod contacts;
mod context;
mod delivery;
pub mod digest;
pub mod draft;
pub mod effect;
pub mod file;
pub(crate) mod forget;
pub mod graph;
mod history;
mod home;
mod hooks;
pub mod ids;
pub mod inbox;
pub mod jobs;
pub(crate) mod join;
pub(crate) mod links;
pub mod memory;
pub mod model;
pub mod named;
mod nod;
pub(crate) mod open_pages;
pub mod outside;
mod pane;
pub mod people;
pub(crate) mod perform;
pub mod policy;
pub mod privacy;
pub(crate) mod progress;
pub mod provider;
mod question;
pub mod reading;
pub(crate) mod rows;
pub mod run;
pub mod scope;
mod seat;
pub mod secret;
pub mod slots;
pub(crate) mod state;
pub mod steps;
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
