//! The stories: each tells in a few lines what people do, and holds what they then read.

#![allow(clippy::unwrap_used, clippy::large_futures)]

mod approvals;
mod audit;
mod bad_input;
mod commands;
mod connect;
mod embedded;
mod endings;
mod faults;
mod kill;
mod mail;
mod migrations;
mod names;
mod one_connection;
mod private;
mod scope;
mod strangers;
mod talk;
