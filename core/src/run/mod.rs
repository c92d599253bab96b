//! Runs: one execution of the graph for one inbound. The state is a row, committed at every transition and
//! guarded by its version.

mod absorb;
mod ask;
mod became;
mod changed;
pub(crate) mod commit;
mod drafts;
mod long;
mod progress;
mod runner;
pub(crate) mod share;
mod spoken;
pub(crate) mod sql;
mod state;
pub(crate) mod stop;

pub(crate) use became::became;
pub(crate) use progress::waits;
pub(crate) use runner::advance;
pub(crate) use sql::Run;
pub use state::{AgentState, Earlier, Intent, Parked, PendingCall, Results, Verbatim, WorkingMemory};
