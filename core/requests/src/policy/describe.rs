//! The rules as people read them: one line each, in the order in which they are applied.

use chrono::TimeDelta;

use super::{Conditions, Decider, Policy, Rule};

/// Describes the rules in force, the default terms first.
#[must_use]
pub fn describe(policy: &Policy) -> Vec<String> {
    let usual = &policy.default_terms;
    let rule = Rule {
        decider: Some(usual.decider.clone()),
        expire_after: Some(usual.expire_after),
        remind_before: Some(usual.remind_before),
        undo_window: Some(usual.undo_window),
        ..Rule::default()
    };
    std::iter::once(&rule).chain(&policy.rules).map(line).collect()
}

fn line(rule: &Rule) -> String {
    // A `never` applies to every call; other terms apply to calls that reach no others only if they name the tool.
    let every = if rule.forbid.is_some() { "everything" } else { "anything that reaches other people" };
    let tool = rule.tool.as_deref().unwrap_or(every);
    format!("{tool}{}: {}", conditions(&rule.when), terms(rule))
}

fn conditions(when: &Conditions) -> String {
    let Conditions {
        recipients_above,
        recipient_domains: recipients_at,
        external_recipients: outside_recipients,
        untrusted_content: outside_text,
    } = when;
    let all = [
        recipients_above.map(|most| format!("to more than {most} people")),
        recipients_at.as_ref().map(|domains| format!("to someone at {}", domains.join(" or "))),
        outside_recipients.map(|some| format!("to {} outside", if some { "somebody" } else { "nobody" })),
        outside_text
            .map(|seen| format!("{} having read text from outside", if seen { "with" } else { "without" })),
    ];
    all.into_iter().flatten().map(|condition| format!(", {condition}")).collect()
}

fn terms(rule: &Rule) -> String {
    if let Some(why) = &rule.forbid {
        return format!("never ({why})");
    }
    let terms = [
        rule.decider.as_ref().map(|decider| match decider {
            Decider::Owner => "the account's owner approves".to_owned(),
            Decider::OwnerAndOneOf(list) => format!("the owner approves, then one of {}", list.name),
        }),
        rule.expire_after.map(|after| format!("waits {}", length(after))),
        rule.remind_before.map(|before| match before.is_zero() {
            true => "no reminder".to_owned(),
            false => format!("a reminder {} before", length(before)),
        }),
        rule.undo_window.map(|undo| match undo.is_zero() {
            true => "no time to undo".to_owned(),
            false => format!("{} to undo", length(undo)),
        }),
    ];
    let terms: Vec<String> = terms.into_iter().flatten().collect();
    if terms.is_empty() { "as usual".to_owned() } else { terms.join(", ") }
}

/// Formats a duration as "24h", "90m" or "10s".
fn length(time: TimeDelta) -> String {
    match time.num_seconds() {
        s if s != 0 && s % 3600 == 0 => format!("{}h", s / 3600),
        s if s != 0 && s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ApproverList;
    use nod_people::named::Named;

    #[test]
    fn rules_are_described_in_order_of_precedence() {
        let people = vec![Named::Email("bo@acme.test".to_owned())];
        let legal = Decider::OwnerAndOneOf(ApproverList { name: "legal".to_owned(), people });
        let rules = vec![
            Rule {
                tool: Some("gmail_send_email".to_owned()),
                when: Conditions {
                    external_recipients: Some(true),
                    untrusted_content: Some(false),
                    ..Conditions::default()
                },
                decider: Some(legal),
                undo_window: Some(TimeDelta::zero()),
                ..Rule::default()
            },
            Rule {
                when: Conditions {
                    recipients_above: Some(20),
                    recipient_domains: Some(vec!["x.test".to_owned(), "y.test".to_owned()]),
                    ..Conditions::default()
                },
                forbid: Some("no mass mail".to_owned()),
                ..Rule::default()
            },
        ];
        assert_eq!(
            describe(&Policy { rules, ..Policy::default() }),
            [
                "anything that reaches other people: the account's owner approves, waits 24h, a reminder 1h \
                 before, 10s to undo",
                "gmail_send_email, to somebody outside, without having read text from outside: the owner \
                 approves, then one of legal, no time to undo",
                "everything, to more than 20 people, to someone at x.test or y.test: never (no \
                 mass mail)",
            ]
        );
    }
}
