//! Descriptions of commands and menu entries, for the help text and for the platform's lists.

/// A command that people can type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSpec {
    /// One word in lower case: "memory".
    pub name: &'static str,
    /// What it does, for `help`: "shows what I remember".
    pub does: &'static str,
    /// The description for platforms that list commands: "What Nod remembers here and about you".
    pub about: &'static str,
    /// Its options. On a platform without options, the value is typed after the name.
    pub options: &'static [CommandOption],
}

/// An option of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandOption {
    pub name: &'static str,
    pub about: &'static str,
    pub takes: Takes,
}

/// The values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any text.
    Words,
    /// Any text, with suggestions while it is typed.
    Completed,
}

/// An entry in the menu of every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MenuEntrySpec {
    /// What the menu shows, and by which the platform reports it: at most 24 characters, in sentence case.
    pub name: &'static str,
    /// The description for platforms that show one, as a sentence without its period.
    pub about: &'static str,
}
