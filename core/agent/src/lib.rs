//! One turn: state, graph, runner, commit, streaming.

pub mod context;
pub mod forget;
pub mod graph;
pub mod rows;
pub mod run;
pub mod state;
pub mod streaming;
pub mod work;
pub mod worker;
