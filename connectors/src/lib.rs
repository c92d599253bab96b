//! Everything outside except chat: the model endpoint, Google's sign-in and Gmail.
//!
//! A vendor's types stay in the folder that owns the vendor; what leaves it are the core's.

pub mod google;
pub mod llm;
