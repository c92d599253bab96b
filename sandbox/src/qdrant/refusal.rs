//! Why a request is not carried out.

use tonic::Status;

#[derive(Debug)]
pub(super) enum Refusal {
    /// As the real server refuses it, or as this one does what it does not know.
    Server(Status),
    /// The real server would do it, and no story may ask for it.
    Story(String),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Server(status)
    }
}

pub(super) fn wrong_input(message: impl AsRef<str>) -> Refusal {
    Status::invalid_argument(format!("Wrong input: {}", message.as_ref())).into()
}

/// Refuses a part of the protocol that is not written here.
pub(super) fn not_here(what: &str) -> Refusal {
    Status::unimplemented(format!("the fake does not know {what}")).into()
}

pub(super) fn no_story_may(what: impl Into<String>) -> Refusal {
    Refusal::Story(what.into())
}

/// Refuses a request that has more than the parts that are known here.
pub(super) fn require_known<T: PartialEq>(request: &T, known: &T, what: &str) -> Result<(), Refusal> {
    if request == known { Ok(()) } else { Err(not_here(what)) }
}
