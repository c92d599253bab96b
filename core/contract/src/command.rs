//! A command's description, for the help text and for the platform's command list.

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
