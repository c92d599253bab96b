//! The program `nod`: the chat platforms, the configuration, and the composition root.

mod accept;
pub mod app;
mod cli;
pub mod config;
pub mod database;
mod demo;
pub mod discord;
mod doctor;
mod download;
mod hearing;
pub mod logging;
mod pieces;
mod policy;
pub mod server;
pub mod slack;
mod table;
mod terminal;
mod text;

pub use cli::main;
