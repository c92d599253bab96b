//! Runs: one execution of the graph for one inbound. The state is a row, committed at every transition and
//! guarded by its version.

mod apply_event;
pub mod commit;
mod directory;
mod drafts;
mod finish_stream;
mod long;
mod message_change;
mod outbox;
mod progress;
mod request_approval;
mod runner;
pub mod share;
pub mod stop;
mod workflow;

pub use runner::advance;
pub use workflow::advance as advance_workflow;
