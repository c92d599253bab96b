//! The top floor of the core: the inbox, the home page, catching up, identity links, the table of job handlers, and
//! [`Nod`], through which programs use all of it. It builds on the other crates of the core.
//!
//! Nodes decide, rows remember, jobs do. No vendor's client is used here and no platform is named; see
//! `docs/architecture.md`.

mod abilities;
mod app;
pub(crate) mod catch_up;
pub mod consistency;
mod context;
mod home;
pub(crate) mod identity_link;
pub mod inbox;
mod recent_keys;
mod tidy;
pub mod transcript;
mod work;
mod worker;
#[cfg(test)]
mod yesterday_tests;

pub use abilities::Clash;
pub use app::{Dependencies, Nod, Settings, StartError};
