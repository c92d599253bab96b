//! The two small buttons below an answer that a model wrote. Each reader rates it for themselves.

use crate::card::Action;
use crate::ids::RunId;

/// The kinds of the two actions.
pub const UP: &str = "feedback_up";
pub const DOWN: &str = "feedback_down";

/// One of the two buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatingButton {
    /// All of its label.
    pub emoji: &'static str,
    /// What a screen reader says, if the platform lets us choose.
    pub spoken: &'static str,
    /// What a click does.
    pub action: Action,
}

/// Returns the buttons: the answer was good, and it was not.
#[must_use]
pub fn buttons(run: RunId) -> [RatingButton; 2] {
    [
        RatingButton { emoji: "👍", spoken: "Good answer", action: Action::new(UP, run) },
        RatingButton { emoji: "👎", spoken: "Bad answer", action: Action::new(DOWN, run) },
    ]
}
