//! What the page must know beyond what the sandbox shows: who the visitor is first, and the demo's people.

use serde::Serialize;

use super::{company, handbook};
use crate::app::MENU_ENTRIES;
use crate::config::Config;

/// Sent to the page unchanged.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PageFacts {
    /// The user whose view the page opens with; a handle, the same in Slack and Discord.
    pub me: &'static str,
    /// The recipient in the tour; the address of the mailbox that gets the mail.
    pub recipient: &'static str,
    /// Where the tour begins; a channel's name.
    pub channel: &'static str,
    /// The user with admin rights; a handle.
    pub admin: &'static str,
    /// The document that Nod knows from the start; its name.
    pub handbook: &'static str,
    /// The document that the page drops in a chat; its name, and where the page gets it.
    pub offer: &'static str,
    /// The entries of Nod in the menu of a message in Slack: id and name.
    pub shortcuts: Vec<(&'static str, &'static str)>,
    /// The visitor's own model; `None` if the rule-based fake replaces it.
    pub model: Option<String>,
}

impl PageFacts {
    pub(super) fn from_config(config: &Config, rules_stand_in: bool) -> Self {
        let model = config.llm.reasoner.model.clone().unwrap_or_else(|| "a model".to_owned());
        Self {
            me: company::VISITOR,
            recipient: company::RECIPIENT,
            channel: company::CHANNEL,
            admin: company::ADMIN,
            handbook: handbook::HANDBOOK,
            offer: handbook::OFFER,
            shortcuts: crate::slack::message_shortcuts(&MENU_ENTRIES),
            model: (!rules_stand_in).then_some(model),
        }
    }
}
