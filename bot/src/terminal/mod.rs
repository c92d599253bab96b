//! The same assistant in a terminal. Nod's rows are its messages: the adapter has nothing to post, and the screen shows
//! the rows, whichever replica wrote them.

mod adapter;
mod keyboard;
mod screen;
mod session;
mod text;

pub use adapter::TerminalAdapter;
pub use session::{SessionDependencies, run_session};

/// The platform's name in rows.
pub const PLATFORM: &str = "terminal";
/// All users of a terminal of this installation.
pub const WORKSPACE: &str = "local";
