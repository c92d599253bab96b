//! The kinds of turns: what somebody says, and when Nod has done all of it.

use nod_sandbox::slack::{Message, World};

/// A kind of turn. All of them begin with a mention in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An answer without a tool.
    Conversation,
    /// An answer from the person's mailbox, which they get privately, and a line for the others.
    Tool,
    /// An email, approved with the button and sent.
    Approval,
}

/// The button of an approval.
pub(super) const APPROVE: &str = "Approve & send";

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Conversation, Self::Tool, Self::Approval];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Tool => "tool",
            Self::Approval => "approval",
        }
    }

    /// Returns what is said; `colleague` gets the email.
    pub(super) fn request(self, colleague: &str) -> String {
        match self {
            Self::Conversation => "@nod thanks!".to_owned(),
            Self::Tool => "@nod what's new in my mail?".to_owned(),
            Self::Approval => format!("@nod tell {colleague} I'm late, that's all"),
        }
    }

    /// Returns whether Nod has said in the thread all that it has to say there, in so many messages.
    pub(super) fn is_answered(self, thread: &[&Message], messages: usize) -> bool {
        let said = |words: &str| thread.iter().any(|one| one.is_from_bot && text(one).contains(words));
        match self {
            Self::Conversation => said("You're welcome"),
            Self::Tool => said("Answered "),
            Self::Approval => said("→ Sent") && answers(thread) >= messages,
        }
    }

    /// Returns how many messages of Nod the thread has in the end. An earlier build says something after a receipt too.
    pub(super) fn messages(self, is_receipt_answer: bool) -> usize {
        match self {
            Self::Approval if !is_receipt_answer => 2,
            Self::Conversation | Self::Tool | Self::Approval => 1,
        }
    }
}

/// Returns the number of Nod's messages.
pub(super) fn answers(thread: &[&Message]) -> usize {
    thread.iter().filter(|one| one.is_from_bot).count()
}

/// Returns Nod's message with the button.
pub(super) fn card(world: &World, channel: &str, thread: &str) -> Option<String> {
    let all = world.thread(channel, thread);
    all.iter().find(|one| one.is_from_bot && text(one).contains(APPROVE)).map(|one| one.ts.clone())
}

/// Returns what stands in a thread, for people who look for a fault.
pub(super) fn transcript(thread: &[&Message]) -> String {
    let lines: Vec<String> = thread.iter().map(|one| format!("{}: {}", one.user, text(one))).collect();
    lines.join("\n")
}

pub(super) fn text(message: &Message) -> String {
    let blocks: Vec<String> = message.blocks.iter().map(ToString::to_string).collect();
    // Slack escapes it in text, and not in the label of a button.
    format!("{} {}", message.text, blocks.join(" ")).replace("&amp;", "&")
}
