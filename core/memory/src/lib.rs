//! Summaries, facts, and other people's messages as read from the platform.

pub mod ability;
pub mod context;
pub mod history;
pub mod memory;
pub mod work;
