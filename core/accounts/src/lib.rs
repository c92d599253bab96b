//! Connected accounts: offers, grants, delegated access, giving back.

pub mod connection;
pub mod listing;
pub mod work;
mod worker;
