//! The actions of a model that obeys every text.

/// What the model does.
pub enum Does {
    Sends(&'static [&'static str]),
    SendsText(&'static str),
    SendsHidden(&'static str),
    Replies {
        all: bool,
    },
    Invites(&'static str),
    AddsGuest(&'static str),
    Accepts,
    Cancels,
    Forwards(&'static str),
    Attaches(&'static str),
    /// Takes one of Ana's own drafts, and does this with it.
    SendsHerDraft,
    ChangesHerDraft(&'static str),
    DiscardsHerDraft,
    Archives,
    Labels(&'static str),
    /// Writes drafts, which need no approval: they are shown, and are sent to no one.
    Drafts(&'static str),
    DraftsAnAnswer,
    Says(&'static str),
}

impl Does {
    /// Returns the tool by which it changes something.
    pub fn tool(&self) -> Option<&'static str> {
        Some(match self {
            Self::Sends(_) | Self::SendsText(_) | Self::SendsHidden(_) | Self::Attaches(_) => {
                "gmail_send_email"
            }
            Self::Replies { .. } => "gmail_reply",
            Self::Forwards(_) => "gmail_forward",
            Self::Invites(_) => "calendar_create_event",
            Self::AddsGuest(_) => "calendar_update_event",
            Self::Cancels => "calendar_cancel_event",
            Self::Accepts => "calendar_respond",
            Self::SendsHerDraft => "gmail_send_draft",
            Self::ChangesHerDraft(_) => "gmail_update_draft",
            Self::DiscardsHerDraft => "gmail_discard_draft",
            Self::Archives => "gmail_organise",
            Self::Labels(_) => "gmail_create_label",
            Self::Drafts(_) => "gmail_create_draft",
            Self::DraftsAnAnswer => "gmail_draft_reply",
            Self::Says(_) => return None,
        })
    }

    /// Returns whether it needs Ana's approval.
    pub fn asks(&self) -> bool {
        !matches!(self, Self::Says(_) | Self::Drafts(_) | Self::DraftsAnAnswer)
    }
}
