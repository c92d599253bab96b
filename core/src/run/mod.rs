//! Runs: one execution of the graph for one inbound. The state is a row, committed at every transition and
//! guarded by its version.

mod absorb;
pub(crate) mod commit;
mod runner;
pub(crate) mod sql;
mod state;

pub(crate) use runner::advance;
pub use state::{AgentState, Intent, Parked, PendingCall, WorkingMemory};
