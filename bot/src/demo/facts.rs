//! What the page must know beyond what the sandbox shows: who the visitor is first, and what is played.

use serde::Serialize;

use super::company;
use crate::config::Config;

/// Sent to the page as it is.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Facts {
    /// Whose eyes the page opens with; a handle, the same in Slack and Discord.
    pub me: &'static str,
    /// Who the tour writes to; the address of the mailbox that gets the mail.
    pub recipient: &'static str,
    /// Where the tour begins; a channel's name.
    pub channel: &'static str,
    /// Who may allow what others may not; a handle.
    pub admin: &'static str,
    /// The visitor's own model; none where the rules stand in for one.
    pub model: Option<String>,
}

impl Facts {
    pub(super) fn of(config: &Config, rules_stand_in: bool) -> Self {
        let model = config.llm.reasoner.model.clone().unwrap_or_else(|| "a model".to_owned());
        Self {
            me: company::VISITOR,
            recipient: company::RECIPIENT,
            channel: company::CHANNEL,
            admin: company::ADMIN,
            model: (!rules_stand_in).then_some(model),
        }
    }
}
