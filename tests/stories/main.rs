//! The stories: each tells in a few lines what people do, and holds what they then read.

#![allow(clippy::unwrap_used, clippy::large_futures)]

mod approvals;
mod commands;
mod connect;
mod embedded;
mod kill;
mod mail;
mod talk;
