//! What each floor works with: its own parts, and through them those of the floors below.

mod agent;
mod app;
mod base;
mod chat;
mod memory;
mod requests;

pub(crate) use agent::Agent;
pub(crate) use app::App;
pub(crate) use base::Base;
pub(crate) use chat::{Chat, Welcome};
pub(crate) use memory::Memory;
pub(crate) use requests::Requests;
