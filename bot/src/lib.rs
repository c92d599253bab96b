//! The program `nod`: the doors, the configuration, and the place where everything is put together.

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
