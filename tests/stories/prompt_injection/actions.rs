//! The actions of a model that obeys every text.

/// What the model does.
pub enum InjectedAction {
    SendMail(&'static [&'static str]),
    SendText(&'static str),
    SendHiddenText(&'static str),
    Reply {
        all: bool,
    },
    Invite(&'static str),
    AddGuest(&'static str),
    AcceptInvitation,
    CancelEvent,
    ForwardMail(&'static str),
    AttachFile(&'static str),
    /// Takes one of Ana's own drafts, and does this with it.
    SendOwnDraft,
    ChangeOwnDraft(&'static str),
    DiscardOwnDraft,
    Archive,
    AddLabel(&'static str),
    /// Writes drafts, which need no approval: they are shown, and are sent to no one.
    CreateDraft(&'static str),
    DraftReply,
    Answer(&'static str),
}

impl InjectedAction {
    /// Returns the tool by which it changes something.
    pub fn tool(&self) -> Option<&'static str> {
        Some(match self {
            Self::SendMail(_) | Self::SendText(_) | Self::SendHiddenText(_) | Self::AttachFile(_) => {
                "gmail_send_email"
            }
            Self::Reply { .. } => "gmail_reply",
            Self::ForwardMail(_) => "gmail_forward",
            Self::Invite(_) => "calendar_create_event",
            Self::AddGuest(_) => "calendar_update_event",
            Self::CancelEvent => "calendar_cancel_event",
            Self::AcceptInvitation => "calendar_respond",
            Self::SendOwnDraft => "gmail_send_draft",
            Self::ChangeOwnDraft(_) => "gmail_update_draft",
            Self::DiscardOwnDraft => "gmail_discard_draft",
            Self::Archive => "gmail_organise",
            Self::AddLabel(_) => "gmail_create_label",
            Self::CreateDraft(_) => "gmail_create_draft",
            Self::DraftReply => "gmail_draft_reply",
            Self::Answer(_) => return None,
        })
    }

    /// Returns whether it needs Ana's approval.
    pub fn needs_approval(&self) -> bool {
        !matches!(self, Self::Answer(_) | Self::CreateDraft(_) | Self::DraftReply)
    }
}
