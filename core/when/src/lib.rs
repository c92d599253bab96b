//! Resolves times written in English, and finds free slots.

pub mod slots;
pub mod when;
