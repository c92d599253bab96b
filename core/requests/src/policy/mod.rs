//! The rules about asking for a nod, as data: who decides, how long a request waits, when its person is
//! reminded, how long they can take it back, and what is never done. One pure function reads them.
//!
//! The account's owner always decides; a rule can only ask for one more person. Nothing is done on somebody's
//! account against them.

mod own;
pub mod sql;
mod words;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

pub use own::{Own, OwnRules};
pub use words::told;

use nod_contract::address::{domain, is_outside};
use nod_contract::tool::Reach;
use nod_people::named::Named;

/// The rules in force: what holds everywhere, and what single rules say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Where no rule says otherwise.
    pub usual: Terms,
    /// In order: of those that fit, a later one outweighs an earlier one.
    pub rules: Vec<Rule>,
}

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The person whose account it is.
    Owner,
    /// That person, and after them one of these.
    OwnerAnd(Approvers),
}

/// People of whom one has to agree beside the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvers {
    /// What the list is called.
    pub name: String,
    /// Who stands on it.
    pub people: Vec<Named>,
}

/// On which terms a nod is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Who decides.
    pub decider: Decider,
    /// How long the request waits.
    pub expire_after: TimeDelta,
    /// How long before that its person is reminded, once; zero for never.
    pub remind_before: TimeDelta,
    /// How long a nod can be taken back before anything happens; zero for not at all. Whole seconds.
    pub undo: TimeDelta,
}

/// What one rule says of the calls that it fits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Only this tool; every tool where there is none.
    pub tool: Option<String>,
    /// Only calls that do this.
    pub when: When,
    /// Such a call is never made, whoever would agree; for this reason.
    pub never: Option<String>,
    /// See [`Terms`].
    pub decider: Option<Decider>,
    /// See [`Terms`].
    pub expire_after: Option<TimeDelta>,
    /// See [`Terms`].
    pub remind_before: Option<TimeDelta>,
    /// See [`Terms`].
    pub undo: Option<TimeDelta>,
}

/// What a call must do for a rule to fit; everything that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct When {
    /// It reaches more people than this.
    pub recipients_above: Option<u32>,
    /// Somebody whom it reaches has an address at one of these domains, or below one.
    pub recipients_at: Option<Vec<String>>,
    /// Somebody whom it reaches has (or nobody has) an address outside the account's own domain.
    pub outside_recipients: Option<bool>,
    /// Text from outside is (or is not) in view of whoever wrote it.
    pub outside_text: Option<bool>,
}

/// What the rules look at.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Whom it can reach.
    pub reach: Reach,
    /// On whose account (an address).
    pub account: &'a str,
    /// Everybody who would get something, as addresses.
    pub recipients: &'a [String],
    /// Whether text from outside was in view.
    pub outside_text: bool,
    /// Whether it changes or throws away a draft that Nod did not make in this conversation.
    pub overwrites: bool,
}

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It may be done now: nobody but its person sees anything of it.
    Run,
    /// It may be asked for, on these terms.
    Ask(Terms),
    /// It is not done at all; the reason is for the model and the person.
    Never(String),
}

impl Default for Policy {
    fn default() -> Self {
        let usual = Terms {
            decider: Decider::Owner,
            expire_after: TimeDelta::hours(24),
            remind_before: TimeDelta::hours(1),
            undo: TimeDelta::seconds(10),
        };
        Self { usual, rules: Vec::new() }
    }
}

/// Decides on a call. What only looks may run; what reaches others is asked for, on the usual terms overlaid by
/// each rule that fits. What changes the person's own account alone is theirs to decide: only a rule that names its
/// tool says on other terms. A *never* that fits is final, whatever the call reaches.
#[must_use]
pub fn decide(policy: &Policy, call: &Call<'_>) -> Ruling {
    if call.reach == Reach::Reads {
        return Ruling::Run;
    }
    let fitting = || policy.rules.iter().filter(|rule| rule.fits(call));
    if let Some(why) = fitting().find_map(|rule| rule.never.clone()) {
        return Ruling::Never(why);
    }
    // Once text from outside is in view, it may be that text that asks. A draft that Nod made is shown, and can be
    // thrown away; one of the person's own would be lost.
    let unasked = match call.reach {
        Reach::Reads => true,
        Reach::Drafts => !(call.outside_text && call.overwrites),
        Reach::OwnAccount => !call.outside_text,
        Reach::Others => false,
    };
    if unasked {
        return Ruling::Run;
    }
    let counts = |rule: &&Rule| call.reach == Reach::Others || rule.tool.is_some();
    Ruling::Ask(fitting().filter(counts).fold(policy.usual.clone(), |terms, rule| rule.over(terms)))
}

impl Rule {
    fn fits(&self, call: &Call<'_>) -> bool {
        let When { recipients_above, recipients_at, outside_recipients, outside_text } = &self.when;
        let above = |most: u32| call.recipients.len() > usize::try_from(most).unwrap_or(usize::MAX);
        self.tool.as_ref().is_none_or(|tool| tool == call.tool)
            && recipients_above.is_none_or(above)
            && recipients_at.as_ref().is_none_or(|domains| call.reaches(domains))
            && outside_recipients.is_none_or(|wanted| wanted == call.reaches_outside())
            && outside_text.is_none_or(|wanted| wanted == call.outside_text)
    }

    fn over(&self, terms: Terms) -> Terms {
        Terms {
            decider: self.decider.clone().unwrap_or(terms.decider),
            expire_after: self.expire_after.unwrap_or(terms.expire_after),
            remind_before: self.remind_before.unwrap_or(terms.remind_before),
            undo: self.undo.unwrap_or(terms.undo),
        }
    }
}

impl Call<'_> {
    fn reaches_outside(&self) -> bool {
        self.recipients.iter().any(|recipient| is_outside(recipient, self.account))
    }

    fn reaches(&self, domains: &[String]) -> bool {
        let below = |at: &str, named: &str| {
            at.strip_suffix(named).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let at = |recipient: &String| domains.iter().any(|d| below(&domain(recipient), &d.to_lowercase()));
        self.recipients.iter().any(at)
    }
}

impl Terms {
    /// How long from asking until the reminder; `None` where there is to be none, also where less than the lead
    /// time is there from the start.
    #[must_use]
    pub(crate) fn remind_after(&self) -> Option<TimeDelta> {
        (self.remind_before > TimeDelta::zero() && self.expire_after > self.remind_before)
            .then(|| self.expire_after - self.remind_before)
    }

    /// Of whom one has to agree beside the owner, where the rules want that.
    #[must_use]
    pub fn second(&self) -> Option<&Approvers> {
        match &self.decider {
            Decider::Owner => None,
            Decider::OwnerAnd(approvers) => Some(approvers),
        }
    }
}

impl Policy {
    /// The lists of people that its rules name, each once.
    #[must_use]
    pub fn lists(&self) -> Vec<&Approvers> {
        let mut lists: Vec<&Approvers> = Vec::new();
        for rule in &self.rules {
            if let Some(Decider::OwnerAnd(list)) = &rule.decider
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
