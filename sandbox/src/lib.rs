//! Stateful loopback fakes of the vendors that Nod talks to, over the vendors' real protocols.
//!
//! Each fake is a small server with state: what is posted can be read back, what is sent arrives in a mailbox. They are
//! at least as strict as the vendor: a request is rejected if its rules are not known. Faults can be injected
//! ([`Faults`]). Nothing here depends on Nod.

pub mod discord;
mod dropped_file;
pub mod fault;
pub mod google;
pub mod model;
pub mod qdrant;
pub mod serve;
pub mod slack;
pub mod spec;

pub use fault::{Fault, Faults};
