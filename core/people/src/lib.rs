//! People, hours, conversations, attachments, and every outgoing message.

pub mod ability;
pub mod assistant_thread;
pub mod attachment;
pub mod context;
pub mod conversations;
pub mod delivery;
pub mod links;
pub mod listing;
pub mod named;
pub mod open_pages;
pub mod people;
pub mod permalink;
pub mod progress;
pub mod reading;
pub mod reminder;
pub mod work;
mod worker;
