//! Reads addresses of the web, and nothing in the network where Nod runs. See the README of the project.

mod addresses;
mod fetch;
mod resolver;

pub use fetch::{Fetcher, Origin};
