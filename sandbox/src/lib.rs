//! Stateful loopback fakes of the vendors that Nod talks to, over the vendors' real protocols.
//!
//! Each fake is a little server with a memory: what is posted can be read back, what is sent arrives in
//! a mailbox. They are at least as strict as the vendor: where a rule is not known, the request is refused.
//! Faults happen on demand ([`Faults`]). Nothing here knows Nod.

pub mod discord;
pub mod fault;
pub mod google;
pub mod model;
pub mod serve;
pub mod slack;
pub mod spec;

pub use fault::{Fault, Faults};
