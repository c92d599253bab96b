//! The program `nod`: the chat platforms, the configuration, and the composition root.

pub mod app;
#[cfg(feature = "demo")]
pub mod bench;
mod cli;
pub mod config;
pub mod database;
#[cfg(feature = "demo")]
mod demo;
pub mod discord;
mod doctor;
mod documents;
mod download;
mod eval;
mod ingest;
mod ingest_status;
pub mod logging;
mod policy;
pub mod server;
pub mod slack;
mod table;
mod terminal;
mod text;
mod value_chunks;

pub use cli::main;
