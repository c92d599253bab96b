//! Times in a person's words, and free times.

pub mod slots;
pub mod when;
