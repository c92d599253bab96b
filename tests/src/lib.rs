//! The test harness: a small company, and a vocabulary to tell stories about it.
//!
//! All of Nod runs: the real adapter, the real core on a Postgres database of the test's own, the real vendor clients,
//! and the sandbox's fakes at the network boundary. A world must end with no work left: see [`World::ends`].

pub mod chat;
mod clicks;
pub mod contract;
mod database;
mod forms;
pub mod hostile;
mod messages;
mod offers;
mod program;
mod terminal;
mod time;
mod world;

pub use clicks::{Button, Click};
pub use database::TestDatabase;
pub use forms::{ForgedForm, Form};
pub use messages::{MessageShortcut, SharedFile};
pub use offers::OfferedCommand;
pub use program::{Program, free_port};
pub use terminal::Terminal;
pub use time::{TestClock, TestIds};
pub use world::{Browser, Mode, World, find_link, max_wait, page_text};
