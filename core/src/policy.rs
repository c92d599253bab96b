//! The rules about asking for a nod, as data: who decides, how long a request waits, when its person is
//! reminded, how long they can take it back, and what is never done. One pure function reads them.

use chrono::TimeDelta;

/// The rules of this installation: what holds everywhere, and what single rules say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Where no rule says otherwise.
    pub usual: Terms,
    /// In order: of those that fit, a later one outweighs an earlier one.
    pub rules: Vec<Rule>,
}

/// Who may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decider {
    /// The person whose account it is.
    Owner,
}

/// On which terms a nod is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Who may decide.
    pub decider: Decider,
    /// How long the request waits.
    pub expire_after: TimeDelta,
    /// How long before that its person is reminded, once; zero for never.
    pub remind_before: TimeDelta,
    /// How long a nod can be taken back before anything happens; zero for not at all. Whole seconds.
    pub undo: TimeDelta,
}

/// What one rule says of the calls that it fits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct When {
    /// It reaches more people than this.
    pub recipients_above: Option<u32>,
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

/// Decides on a call: the usual terms, overlaid by each rule that fits. A *never* that fits is final.
#[must_use]
pub fn decide(policy: &Policy, call: &Call<'_>) -> Ruling {
    let mut terms = policy.usual;
    for rule in policy.rules.iter().filter(|rule| rule.fits(call)) {
        if let Some(why) = &rule.never {
            return Ruling::Never(why.clone());
        }
        terms.decider = rule.decider.unwrap_or(terms.decider);
        terms.expire_after = rule.expire_after.unwrap_or(terms.expire_after);
        terms.remind_before = rule.remind_before.unwrap_or(terms.remind_before);
        terms.undo = rule.undo.unwrap_or(terms.undo);
    }
    Ruling::Ask(terms)
}

impl Rule {
    fn fits(&self, call: &Call<'_>) -> bool {
        let When { recipients_above, outside_recipients, outside_text } = self.when;
        let above = |most: u32| call.recipients.len() > usize::try_from(most).unwrap_or(usize::MAX);
        self.tool.as_ref().is_none_or(|tool| tool == call.tool)
            && recipients_above.is_none_or(above)
            && outside_recipients.is_none_or(|wanted| wanted == call.reaches_outside())
            && outside_text.is_none_or(|wanted| wanted == call.outside_text)
    }
}

impl Call<'_> {
    fn reaches_outside(&self) -> bool {
        let domain = |address: &str| address.rsplit('@').next().unwrap_or_default().to_lowercase();
        self.recipients.iter().any(|recipient| domain(recipient) != domain(self.account))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "gmail_send_email";

    fn policy() -> Policy {
        let mail = |when: When| Rule { tool: Some(MAIL.to_owned()), when, ..Rule::default() };
        let rules = vec![
            Rule { undo: Some(TimeDelta::seconds(30)), ..mail(When::default()) },
            Rule {
                expire_after: Some(TimeDelta::hours(2)),
                ..mail(When { outside_recipients: Some(true), ..When::default() })
            },
            Rule {
                undo: Some(TimeDelta::seconds(60)),
                ..mail(When { outside_text: Some(true), ..When::default() })
            },
            Rule {
                never: Some("no mass mail".to_owned()),
                ..mail(When { recipients_above: Some(2), ..When::default() })
            },
            Rule {
                remind_before: Some(TimeDelta::zero()),
                tool: Some("other".to_owned()),
                ..Rule::default()
            },
        ];
        Policy { rules, ..Policy::default() }
    }

    #[test]
    fn the_rules_that_fit_say_on_which_terms() {
        // The tool, whom it reaches, outside text → hours until it expires, minutes before that, seconds to undo.
        type Wanted = Result<(i64, i64, i64), &'static str>;
        let table: [(&str, &[&str], bool, Wanted); 7] = [
            (MAIL, &["bo@acme.test"], false, Ok((24, 60, 30))),
            (MAIL, &["bo@ACME.test"], true, Ok((24, 60, 60))),
            (MAIL, &["bo@acme.test", "eve@x.test"], false, Ok((2, 60, 30))),
            (MAIL, &["eve@x.test"], true, Ok((2, 60, 60))),
            (MAIL, &["a@acme.test", "b@acme.test", "c@acme.test"], false, Err("no mass mail")),
            ("other", &["a@x.test", "b@acme.test", "c@acme.test"], true, Ok((24, 0, 10))),
            ("third", &[], false, Ok((24, 60, 10))),
        ];
        for (tool, to, outside_text, wanted) in table {
            let recipients: Vec<String> = to.iter().map(|a| (*a).to_owned()).collect();
            let call = Call { tool, account: "ana@acme.test", recipients: &recipients, outside_text };
            let ruled = match decide(&policy(), &call) {
                Ruling::Never(why) => Err(why),
                Ruling::Ask(terms) => {
                    let Terms { decider: Decider::Owner, expire_after, remind_before, undo } = terms;
                    Ok((expire_after.num_hours(), remind_before.num_minutes(), undo.num_seconds()))
                }
            };
            assert_eq!(ruled, wanted.map_err(str::to_owned), "{tool} {to:?} {outside_text}");
        }
    }

    #[test]
    fn a_reminder_needs_more_time_than_its_lead() {
        let usual = Policy::default().usual;
        for (expire, remind, wanted) in [(24, 1, Some(23)), (2, 1, Some(1)), (1, 1, None), (24, 0, None)] {
            let terms = Terms {
                expire_after: TimeDelta::hours(expire),
                remind_before: TimeDelta::hours(remind),
                ..usual
            };
            assert_eq!(terms.remind_after(), wanted.map(TimeDelta::hours), "{expire} h, {remind} h before");
        }
    }
}
