//! What tools, models, chats and abilities agree on: values and traits, no database, no network.

pub mod address;
pub mod card;
pub mod chat;
pub mod clock;
pub mod command;
pub mod contacts;
pub mod digest;
pub mod hidden_chars;
pub mod ids;
pub mod model;
pub mod outside;
pub mod privacy;
pub mod provider;
pub mod scope;
pub mod text;
pub mod tool;
pub mod wire;
