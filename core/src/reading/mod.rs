//! Documents of others are read by a process that can do nothing else; this is how it is started and spoken to. No
//! document is parsed here.

mod process;
pub mod wire;

pub use process::Program;
