//! A command, as help tells of it and as a platform lists it.

/// What people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSpec {
    /// A word in lower case: "memory".
    pub name: &'static str,
    /// What it does, in `help`: "shows what I remember".
    pub does: &'static str,
    /// What it is about, in the list of a platform that has one: "What Nod remembers here and about you".
    pub about: &'static str,
    /// What may stand behind it. Where a platform has no options, it is typed behind the name.
    pub options: &'static [CommandOption],
}

/// What may stand behind a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandOption {
    pub name: &'static str,
    pub about: &'static str,
    pub takes: Takes,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Anything.
    Words,
    /// Anything, and while it is typed, what fits is offered.
    Completed,
}
