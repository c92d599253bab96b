//! The rules about asking for a nod, as data: who decides, how long a request waits, when its person is
//! reminded, how long they can take it back, and what is never done. One pure function reads them.
//!
//! The account's owner always decides; a rule can only ask for one more person. Nothing is done on somebody's
//! account against them.

mod own;
pub(crate) mod sql;
mod words;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

pub use own::{Own, OwnRules};
pub use words::told;

use crate::tool::Reach;

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

/// Somebody whom a rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// By the address that a platform tells of them.
    Address(String),
    /// By what a platform calls them.
    User {
        /// The platform.
        platform: String,
        /// The platform's id.
        user: String,
    },
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
/// each rule that fits. A *never* that fits is final, also for what changes the person's own account alone.
#[must_use]
pub fn decide(policy: &Policy, call: &Call<'_>) -> Ruling {
    if call.reach == Reach::Reads {
        return Ruling::Run;
    }
    let fitting = || policy.rules.iter().filter(|rule| rule.fits(call));
    if let Some(why) = fitting().find_map(|rule| rule.never.clone()) {
        return Ruling::Never(why);
    }
    // Once text from outside is in view, it may be that text that asks. A draft is shown, and can be thrown away.
    if call.reach == Reach::Drafts || call.reach == Reach::OwnAccount && !call.outside_text {
        return Ruling::Run;
    }
    Ruling::Ask(fitting().fold(policy.usual.clone(), |terms, rule| rule.over(terms)))
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

fn domain(address: &str) -> String {
    address.rsplit('@').next().unwrap_or_default().to_lowercase()
}

impl Call<'_> {
    fn reaches_outside(&self) -> bool {
        self.recipients.iter().any(|recipient| domain(recipient) != domain(self.account))
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
    pub fn remind_after(&self) -> Option<TimeDelta> {
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
mod tests {
    use super::*;

    const MAIL: &str = "gmail_send_email";
    const DRAFT: &str = "gmail_create_draft";

    fn legal() -> Decider {
        let people = vec![Named::Address("bo@acme.test".to_owned())];
        Decider::OwnerAnd(Approvers { name: "legal".to_owned(), people })
    }

    fn policy() -> Policy {
        let mail = |when: When| Rule { tool: Some(MAIL.to_owned()), when, ..Rule::default() };
        let any = |when: When| Rule { when, ..Rule::default() };
        let outside = || When { outside_recipients: Some(true), ..When::default() };
        let at = |domain: &str| Some(vec![domain.to_owned()]);
        let rules = vec![
            Rule { undo: Some(TimeDelta::seconds(30)), ..mail(When::default()) },
            Rule { expire_after: Some(TimeDelta::hours(2)), decider: Some(legal()), ..mail(outside()) },
            Rule {
                decider: Some(Decider::Owner),
                ..mail(When { recipients_at: at("partner.test"), ..When::default() })
            },
            Rule {
                undo: Some(TimeDelta::seconds(60)),
                ..mail(When { outside_text: Some(true), ..When::default() })
            },
            Rule {
                never: Some("no mass mail".to_owned()),
                ..any(When { recipients_above: Some(2), ..When::default() })
            },
            Rule {
                never: Some("not to them".to_owned()),
                ..any(When { recipients_at: at("Rival.test"), ..When::default() })
            },
            Rule {
                remind_before: Some(TimeDelta::zero()),
                tool: Some("other".to_owned()),
                ..Rule::default()
            },
            // A later rule does not make good what an earlier one never allows.
            Rule {
                undo: Some(TimeDelta::seconds(5)),
                ..mail(When { recipients_above: Some(2), ..When::default() })
            },
        ];
        Policy { rules, ..Policy::default() }
    }

    /// Which tool, how far it reaches, to whom, whether outside text was in view → who decides, hours until it
    /// expires, minutes before that, seconds to undo.
    #[test]
    fn the_rules_that_fit_say_on_which_terms() {
        use Reach::{Drafts, Others, OwnAccount, Reads};
        let (run, never) = (Ok(None), |why| Err::<Option<(bool, i64, i64, i64)>, _>(why));
        let ask = |two, hours, before, undo| Ok(Some((two, hours, before, undo)));
        let many: &[&str] = &["a@acme.test", "b@acme.test", "c@acme.test"];
        let table = [
            (MAIL, Others, &["bo@acme.test"][..], false, ask(false, 24, 60, 30)),
            (MAIL, Others, &["bo@ACME.test"], true, ask(false, 24, 60, 60)),
            (MAIL, Others, &["bo@acme.test", "eve@x.test"], false, ask(true, 2, 60, 30)),
            (MAIL, Others, &["eve@x.test"], true, ask(true, 2, 60, 60)),
            // A later rule that fits outweighs an earlier one, in what it says.
            (MAIL, Others, &["eve@partner.test"], false, ask(false, 2, 60, 30)),
            (MAIL, Others, &["eve@eu.partner.test"], false, ask(false, 2, 60, 30)),
            (MAIL, Others, &["eve@notpartner.test"], false, ask(true, 2, 60, 30)),
            (MAIL, Others, many, false, never("no mass mail")),
            (MAIL, Others, &["bo@acme.test", "spy@rival.test"], false, never("not to them")),
            ("other", Others, &["a@x.test", "b@acme.test"], true, ask(false, 24, 0, 10)),
            ("third", Others, &[], false, ask(false, 24, 60, 10)),
            // What nobody else sees is not asked for; what is never done is not done there either.
            (DRAFT, Drafts, &["eve@x.test"], true, run),
            (DRAFT, Drafts, many, false, never("no mass mail")),
            ("gmail_label", OwnAccount, &[], false, run),
            // It may be the text from outside that asks.
            ("gmail_label", OwnAccount, &[], true, ask(false, 24, 60, 10)),
            ("gmail_list_recent", Reads, many, true, run),
        ];
        for (tool, reach, to, outside_text, wanted) in table {
            let recipients: Vec<String> = to.iter().map(|a| (*a).to_owned()).collect();
            let call = Call { tool, reach, account: "ana@acme.test", recipients: &recipients, outside_text };
            let ruled = match decide(&policy(), &call) {
                Ruling::Run => Ok(None),
                Ruling::Never(why) => Err(why),
                Ruling::Ask(terms) => {
                    let two = terms.second().is_some_and(|list| list.name == "legal");
                    let Terms { expire_after, remind_before, undo, .. } = terms;
                    Ok(Some((two, expire_after.num_hours(), remind_before.num_minutes(), undo.num_seconds())))
                }
            };
            assert_eq!(ruled, wanted.map_err(str::to_owned), "{tool} {reach:?} {to:?} {outside_text}");
        }
    }

    #[test]
    fn rules_laid_after_others_never_allow_what_those_forbid() {
        let mut both = policy();
        both.rules.push(Rule { decider: Some(Decider::Owner), ..Rule::default() });
        let to = |address: &str| {
            let (recipients, reach) = (&[address.to_owned()], Reach::Others);
            let call = Call { tool: MAIL, reach, account: "ana@acme.test", recipients, outside_text: false };
            decide(&both, &call)
        };
        assert_eq!(to("spy@rival.test"), Ruling::Never("not to them".to_owned()));
        assert!(matches!(to("eve@x.test"), Ruling::Ask(terms) if terms.second().is_none()));
    }

    #[test]
    fn rules_are_read_from_rows_as_they_were_written() {
        let rules = policy().rules;
        let row = serde_json::to_value(&rules).unwrap();
        assert_eq!(serde_json::from_value::<Vec<Rule>>(row).unwrap(), rules);
    }

    #[test]
    fn a_reminder_needs_more_time_than_its_lead() {
        let usual = Policy::default().usual;
        for (expire, remind, wanted) in [(24, 1, Some(23)), (2, 1, Some(1)), (1, 1, None), (24, 0, None)] {
            let terms = Terms {
                expire_after: TimeDelta::hours(expire),
                remind_before: TimeDelta::hours(remind),
                ..usual.clone()
            };
            assert_eq!(terms.remind_after(), wanted.map(TimeDelta::hours), "{expire} h, {remind} h before");
        }
    }
}
