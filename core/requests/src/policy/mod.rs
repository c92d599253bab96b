//! The approval policy as data: who decides, how long a request waits, when its owner is reminded, how long they can
//! undo an approval, and what is never done. One pure function evaluates it.
//!
//! The account's owner always decides; a rule can only require one more person. Nothing is done on an account against
//! its owner's decision.

mod describe;
pub mod sql;
mod tenant_policy;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

pub use describe::describe;
pub use tenant_policy::{TenantPolicy, TenantPolicyStore};

use nod_contract::address::{domain, is_outside};
use nod_contract::tool::Reach;
use nod_people::named::Named;

/// The rules in force: the default terms, and rules that override them for some calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The terms if no rule says otherwise.
    pub default_terms: Terms,
    /// In order: of the rules that match, a later one overrides an earlier one.
    pub rules: Vec<Rule>,
}

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The account's owner.
    Owner,
    /// The owner, and after them one of these people.
    #[serde(rename = "owner_and")]
    OwnerAndOneOf(ApproverList),
}

/// People of whom one must approve in addition to the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApproverList {
    /// The list's name.
    pub name: String,
    /// The people on it.
    pub people: Vec<Named>,
}

/// The terms on which an approval is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Who decides.
    pub decider: Decider,
    /// How long the request waits before it expires.
    pub expire_after: TimeDelta,
    /// How long before the expiry its owner is reminded, once; zero for never.
    pub remind_before: TimeDelta,
    /// How long an approval can be undone before the effect starts; zero for not at all. Whole seconds.
    pub undo_window: TimeDelta,
}

/// What a rule says about the calls that it matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Matches only this tool; `None` matches every tool.
    pub tool: Option<String>,
    /// Matches only calls that satisfy these conditions.
    pub when: Conditions,
    /// Forbids such a call, for this reason, even if people would approve it.
    #[serde(rename = "never")]
    pub forbid: Option<String>,
    /// See [`Terms`].
    pub decider: Option<Decider>,
    /// See [`Terms`].
    pub expire_after: Option<TimeDelta>,
    /// See [`Terms`].
    pub remind_before: Option<TimeDelta>,
    /// See [`Terms`].
    #[serde(rename = "undo")]
    pub undo_window: Option<TimeDelta>,
}

/// The conditions of a rule; all that are set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// It reaches more people than this.
    pub recipients_above: Option<u32>,
    /// One of the recipients has an address at one of these domains or their subdomains.
    #[serde(rename = "recipients_at")]
    pub recipient_domains: Option<Vec<String>>,
    /// At least one recipient (or, if false, none) has an address outside the account's own domain.
    #[serde(rename = "outside_recipients")]
    pub external_recipients: Option<bool>,
    /// Text from outside was (or was not) in view when the call was written.
    #[serde(rename = "outside_text")]
    pub untrusted_content: Option<bool>,
}

/// The properties of a call that the rules examine.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Whom the tool can reach.
    pub reach: Reach,
    /// The address of the account that it uses.
    pub account: &'a str,
    /// The addresses of all recipients.
    pub recipients: &'a [String],
    /// Whether text from outside was in view.
    pub has_untrusted_content: bool,
    /// Whether it changes or discards a draft that Nod did not make in this conversation.
    pub overwrites_user_draft: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It can run now without an approval.
    Allow,
    /// It needs an approval, on these terms.
    Ask(Terms),
    /// It is forbidden; the model and the user read the reason.
    Forbid(String),
}

impl Default for Policy {
    fn default() -> Self {
        let usual = Terms {
            decider: Decider::Owner,
            expire_after: TimeDelta::hours(24),
            remind_before: TimeDelta::hours(1),
            undo_window: TimeDelta::seconds(10),
        };
        Self { default_terms: usual, rules: Vec::new() }
    }
}

/// Decides about a call. A call that only reads can run; one that reaches other people needs an approval, on the
/// default terms overridden by each rule that matches. Calls that only change the owner's own account get other terms
/// only from rules that name the tool. A `never` that matches is final for all calls except those that only read.
#[must_use]
pub fn decide(policy: &Policy, call: &PolicyInput<'_>) -> Ruling {
    if call.reach == Reach::Reads {
        return Ruling::Allow;
    }
    let fitting = || policy.rules.iter().filter(|rule| rule.is_match(call));
    if let Some(why) = fitting().find_map(|rule| rule.forbid.clone()) {
        return Ruling::Forbid(why);
    }
    // Once text from outside is in view, that text might be what asks for the call. A draft that Nod made is shown and
    // can be discarded; a draft that the person wrote would be lost.
    let unasked = match call.reach {
        Reach::Reads => true,
        Reach::Drafts => !(call.has_untrusted_content && call.overwrites_user_draft),
        Reach::OwnAccount => !call.has_untrusted_content,
        Reach::Others => false,
    };
    if unasked {
        return Ruling::Allow;
    }
    let counts = |rule: &&Rule| call.reach == Reach::Others || rule.tool.is_some();
    Ruling::Ask(
        fitting().filter(counts).fold(policy.default_terms.clone(), |terms, rule| rule.overlay(terms)),
    )
}

impl Rule {
    fn is_match(&self, call: &PolicyInput<'_>) -> bool {
        let Conditions {
            recipients_above,
            recipient_domains: recipients_at,
            external_recipients: outside_recipients,
            untrusted_content: outside_text,
        } = &self.when;
        let above = |most: u32| call.recipients.len() > usize::try_from(most).unwrap_or(usize::MAX);
        self.tool.as_ref().is_none_or(|tool| tool == call.tool)
            && recipients_above.is_none_or(above)
            && recipients_at.as_ref().is_none_or(|domains| call.has_recipient_at(domains))
            && outside_recipients.is_none_or(|wanted| wanted == call.has_external_recipient())
            && outside_text.is_none_or(|wanted| wanted == call.has_untrusted_content)
    }

    fn overlay(&self, terms: Terms) -> Terms {
        Terms {
            decider: self.decider.clone().unwrap_or(terms.decider),
            expire_after: self.expire_after.unwrap_or(terms.expire_after),
            remind_before: self.remind_before.unwrap_or(terms.remind_before),
            undo_window: self.undo_window.unwrap_or(terms.undo_window),
        }
    }
}

impl PolicyInput<'_> {
    fn has_external_recipient(&self) -> bool {
        self.recipients.iter().any(|recipient| is_outside(recipient, self.account))
    }

    fn has_recipient_at(&self, domains: &[String]) -> bool {
        let below = |at: &str, named: &str| {
            at.strip_suffix(named).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let at = |recipient: &String| domains.iter().any(|d| below(&domain(recipient), &d.to_lowercase()));
        self.recipients.iter().any(at)
    }
}

impl Terms {
    /// Returns the time from the request to the reminder; `None` for no reminder, also if the request expires no later
    /// than the lead time.
    #[must_use]
    pub(crate) fn remind_after(&self) -> Option<TimeDelta> {
        (self.remind_before > TimeDelta::zero() && self.expire_after > self.remind_before)
            .then(|| self.expire_after - self.remind_before)
    }

    /// Returns the people of whom one must approve in addition to the owner, if the rules require that.
    #[must_use]
    pub fn co_approvers(&self) -> Option<&ApproverList> {
        match &self.decider {
            Decider::Owner => None,
            Decider::OwnerAndOneOf(approvers) => Some(approvers),
        }
    }
}

impl Policy {
    /// Returns this policy of the installation, followed by a tenant's own rules.
    #[must_use]
    pub fn followed_by(&self, own: Vec<Rule>) -> Self {
        let mut policy = self.clone();
        policy.rules.extend(own);
        policy
    }

    /// Returns the lists of people that the rules name, each once.
    #[must_use]
    pub fn lists(&self) -> Vec<&ApproverList> {
        let mut lists: Vec<&ApproverList> = Vec::new();
        for rule in &self.rules {
            if let Some(Decider::OwnerAndOneOf(list)) = &rule.decider
                && !lists.contains(&list)
            {
                lists.push(list);
            }
        }
        lists
    }
}

#[cfg(test)]
mod tests;
