//! Actions on a conversation in the person's own mailbox, as labels to add and remove: Gmail has no other notion of
//! "archived" or "read".

use google_gmail1::api::{Message, Thread};
use nod_contract::tool::ToolError;
use serde::{Deserialize, Serialize};

use super::labels::UserLabel;
use super::message::has_label;

/// The maximum number of messages in one request to Gmail.
const MAX_BATCH_SIZE: usize = 1_000;

/// An action on a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LabelAction {
    Archive,
    MoveToInbox,
    Star,
    Unstar,
    MarkRead,
    MarkUnread,
    MarkImportant,
    MarkUnimportant,
}

impl LabelAction {
    pub(super) const ALL: [Self; 8] = [
        Self::Archive,
        Self::MoveToInbox,
        Self::Star,
        Self::Unstar,
        Self::MarkRead,
        Self::MarkUnread,
        Self::MarkImportant,
        Self::MarkUnimportant,
    ];

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::MoveToInbox => "move to the inbox",
            Self::Star => "star",
            Self::Unstar => "remove the star",
            Self::MarkRead => "mark as read",
            Self::MarkUnread => "mark as unread",
            Self::MarkImportant => "mark as important",
            Self::MarkUnimportant => "mark as not important",
        }
    }

    /// Returns the label, and whether it is added.
    fn label(self) -> (&'static str, bool) {
        match self {
            Self::Archive => ("INBOX", false),
            Self::MoveToInbox => ("INBOX", true),
            Self::Star => ("STARRED", true),
            Self::Unstar => ("STARRED", false),
            Self::MarkRead => ("UNREAD", false),
            Self::MarkUnread => ("UNREAD", true),
            Self::MarkImportant => ("IMPORTANT", true),
            Self::MarkUnimportant => ("IMPORTANT", false),
        }
    }

    /// Gmail applies these to the newest mail of a conversation only.
    fn is_for_newest_only(self) -> bool {
        matches!(self, Self::Star | Self::MarkUnread)
    }
}

/// A change of labels on some messages, by ids: one request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LabelChange {
    pub messages: Vec<String>,
    pub add: Vec<String>,
    pub remove: Vec<String>,
}

impl LabelChange {
    /// Returns whether the message shows the change.
    pub(super) fn is_applied(&self, message: &Message) -> bool {
        self.add.iter().all(|label| has_label(message, label))
            && !self.remove.iter().any(|label| has_label(message, label))
    }

    fn add_action(&mut self, deed: LabelAction) {
        let (label, on) = deed.label();
        if on { &mut self.add } else { &mut self.remove }.push(label.to_owned());
    }

    fn contradicts(&self) -> bool {
        self.add.iter().any(|label| self.remove.contains(label))
    }
}

/// Returns which labels change on which messages.
///
/// # Errors
/// [`ToolError::InvalidArguments`] if one action reverses another.
pub(super) fn changes(
    threads: &[Thread],
    deeds: &[LabelAction],
    add: &[&UserLabel],
    remove: &[&UserLabel],
) -> Result<Vec<LabelChange>, ToolError> {
    let ids = |labels: &[&UserLabel]| labels.iter().map(|label| label.id.clone()).collect();
    let mut whole = LabelChange { messages: Vec::new(), add: ids(add), remove: ids(remove) };
    let mut newest = LabelChange::default();
    for deed in deeds {
        if deed.is_for_newest_only() { newest.add_action(*deed) } else { whole.add_action(*deed) }
    }
    let both = LabelChange { add: [&whole.add[..], &newest.add].concat(), ..whole.clone() };
    if both.contradicts() {
        return Err(ToolError::invalid("two of these undo each other. Which one do you want?"));
    }
    for thread in threads {
        let mails = thread.messages.iter().flatten().filter(|message| !has_label(message, "DRAFT"));
        whole.messages.extend(mails.filter_map(|message| message.id.clone()));
        newest.messages.extend(whole.messages.last().cloned());
    }
    let does = |change: &LabelChange| !change.add.is_empty() || !change.remove.is_empty();
    let cut = |change: LabelChange| {
        let pieces: Vec<LabelChange> = change
            .messages
            .chunks(MAX_BATCH_SIZE)
            .map(|some| LabelChange { messages: some.to_vec(), ..change.clone() })
            .collect();
        pieces
    };
    Ok([whole, newest].into_iter().filter(does).flat_map(cut).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(id: &str, labels: &[&str]) -> Message {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Message { id: Some(id.to_owned()), label_ids: Some(labels), ..Message::default() }
    }

    #[test]
    fn a_star_is_for_the_newest_and_the_rest_for_all() {
        let messages = vec![mail("1", &[]), mail("2", &["UNREAD"]), mail("3", &["DRAFT"])];
        let threads = [Thread { messages: Some(messages), ..Thread::default() }];
        let label = UserLabel { id: "Label_1".into(), name: "Invoices".into() };
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let made = changes(&threads, &[LabelAction::Archive, LabelAction::Star], &[&label], &[]);
        let wanted = vec![
            LabelChange { messages: owned(&["1", "2"]), add: owned(&["Label_1"]), remove: owned(&["INBOX"]) },
            LabelChange { messages: owned(&["2"]), add: owned(&["STARRED"]), remove: vec![] },
        ];
        assert_eq!(made, Ok(wanted));
        for both in [
            [LabelAction::Archive, LabelAction::MoveToInbox],
            [LabelAction::MarkRead, LabelAction::MarkUnread],
        ] {
            assert!(matches!(changes(&threads, &both, &[], &[]), Err(ToolError::InvalidArguments { .. })));
        }
    }
}
