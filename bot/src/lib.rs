//! The program `nod`: the doors, the configuration, and the place where everything is put together.

pub mod app;
mod cli;
pub mod config;
pub mod database;
mod demo;
mod doctor;
pub mod logging;
pub mod server;
pub mod slack;
mod terminal;

pub use cli::main;
