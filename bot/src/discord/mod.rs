//! The Discord door: what arrives becomes an inbound, what leaves becomes components.
//!
//! Rendering (`render`, `form` and what they use) is pure.

mod address;
mod buttons;
mod escape;
pub mod form;
mod limits;
mod markdown;
mod marks;
mod parts;
pub mod render;
