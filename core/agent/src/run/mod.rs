//! Runs: one execution of the graph for one inbound. The state is a row, committed at every transition and
//! guarded by its version.

mod absorb;
mod ask;
mod changed;
pub mod commit;
mod directory;
mod drafts;
mod long;
mod progress;
mod runner;
pub mod share;
mod spoken;
pub mod stop;

pub use runner::advance;
