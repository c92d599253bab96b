//! The contract between tools, models, chat platforms and abilities: values and traits, no database, no network.

pub mod address;
pub mod card;
pub mod chat;
pub mod clock;
pub mod command;
pub mod contacts;
pub mod digest;
pub mod embedding;
pub mod hidden_chars;
pub mod ids;
pub mod model;
pub mod outside;
pub mod privacy;
pub mod prompt;
pub mod provider;
pub mod scope;
pub mod text;
pub mod tool;
pub mod vector_store;
pub mod web;
pub mod wire;
