//! What people are asked and what follows from it: policy, approvals, effects, drafts, questions, votes.

pub mod approval;
pub mod busy;
pub mod context;
pub mod draft;
pub mod effect;
pub mod listing;
pub mod perform;
pub mod policy;
pub mod question;
pub mod work;
mod worker;
