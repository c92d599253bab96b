//! The top floor of the core: the door for what arrives, the home page, catching up, joining, the table of workers, and
//! [`Nod`], by which programs use all of it. What it stands on are the crates beside it.
//!
//! Nodes decide, rows remember, jobs do. No vendor's client is used here and no platform is named; see
//! `docs/architecture.md`.

mod abilities;
pub(crate) mod catch_up;
mod context;
mod home;
pub mod inbox;
pub(crate) mod join;
mod nod;
pub mod transcript;
mod work;
mod worker;
#[cfg(test)]
mod yesterday_tests;

pub use abilities::Clash;
pub use nod::{Nod, Parts, Settings, StartError};
