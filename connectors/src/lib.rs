//! The external services except chat: the model endpoint, and Google's sign-in, Gmail and Calendar.
//!
//! A vendor's types stay in the vendor's folder; its public interface uses the core's types.

pub mod google;
pub mod llm;
