use super::*;

const MAIL: &str = "gmail_send_email";
const DRAFT: &str = "gmail_create_draft";
const DISCARD: &str = "gmail_discard_draft";

fn legal() -> Decider {
    let people = vec![Named::Email("bo@acme.test".to_owned())];
    Decider::OwnerAndOneOf(ApproverList { name: "legal".to_owned(), people })
}

fn policy() -> Policy {
    let mail = |when: Conditions| Rule { tool: Some(MAIL.to_owned()), when, ..Rule::default() };
    let any = |when: Conditions| Rule { when, ..Rule::default() };
    let outside = || Conditions { external_recipients: Some(true), ..Conditions::default() };
    let at = |domain: &str| Some(vec![domain.to_owned()]);
    let rules = vec![
        Rule { undo_window: Some(TimeDelta::seconds(30)), ..mail(Conditions::default()) },
        Rule { expire_after: Some(TimeDelta::hours(2)), decider: Some(legal()), ..mail(outside()) },
        Rule {
            decider: Some(Decider::Owner),
            ..mail(Conditions { recipient_domains: at("partner.test"), ..Conditions::default() })
        },
        Rule {
            undo_window: Some(TimeDelta::seconds(60)),
            ..mail(Conditions { untrusted_content: Some(true), ..Conditions::default() })
        },
        Rule {
            forbid: Some("no mass mail".to_owned()),
            ..any(Conditions { recipients_above: Some(2), ..Conditions::default() })
        },
        Rule {
            forbid: Some("not to them".to_owned()),
            ..any(Conditions { recipient_domains: at("Rival.test"), ..Conditions::default() })
        },
        Rule { remind_before: Some(TimeDelta::zero()), tool: Some("other".to_owned()), ..Rule::default() },
        // A call that reaches no other people is decided by the owner, unless a rule names the tool.
        Rule {
            decider: Some(legal()),
            ..any(Conditions {
                untrusted_content: Some(true),
                external_recipients: Some(false),
                ..Conditions::default()
            })
        },
        Rule { expire_after: Some(TimeDelta::hours(1)), tool: Some("named".to_owned()), ..Rule::default() },
        // A later rule does not lift what an earlier one forbids.
        Rule {
            undo_window: Some(TimeDelta::seconds(5)),
            ..mail(Conditions { recipients_above: Some(2), ..Conditions::default() })
        },
    ];
    Policy { rules, ..Policy::default() }
}

/// Tool, reach, recipients, whether outside text was in view → whether two must approve, hours until it expires,
/// minutes from the reminder to the expiry, seconds to undo.
#[test]
fn matching_rules_set_the_terms() {
    use Reach::{Drafts, Others, OwnAccount, Reads};
    let (run, never) = (Ok(None), |why| Err::<Option<(bool, i64, i64, i64)>, _>(why));
    let ask = |two, hours, before, undo| Ok(Some((two, hours, before, undo)));
    let many: &[&str] = &["a@acme.test", "b@acme.test", "c@acme.test"];
    let table = [
        (MAIL, Others, &["bo@acme.test"][..], false, ask(false, 24, 60, 30)),
        (MAIL, Others, &["bo@ACME.test"], true, ask(true, 24, 60, 60)),
        (MAIL, Others, &["bo@acme.test", "eve@x.test"], false, ask(true, 2, 60, 30)),
        (MAIL, Others, &["eve@x.test"], true, ask(true, 2, 60, 60)),
        // A later rule that matches overrides the terms that it sets.
        (MAIL, Others, &["eve@partner.test"], false, ask(false, 2, 60, 30)),
        (MAIL, Others, &["eve@eu.partner.test"], false, ask(false, 2, 60, 30)),
        (MAIL, Others, &["eve@notpartner.test"], false, ask(true, 2, 60, 30)),
        (MAIL, Others, many, false, never("no mass mail")),
        (MAIL, Others, &["bo@acme.test", "spy@rival.test"], false, never("not to them")),
        ("other", Others, &["a@x.test", "b@acme.test"], true, ask(false, 24, 0, 10)),
        ("third", Others, &[], false, ask(false, 24, 60, 10)),
        ("third", Others, &[], true, ask(true, 24, 60, 10)),
        // A call that only its user sees needs no approval, but what is forbidden is forbidden there too.
        (DRAFT, Drafts, &["eve@x.test"], true, run),
        (DRAFT, Drafts, many, false, never("no mass mail")),
        ("gmail_label", OwnAccount, &[], false, run),
        // The text from outside might be what asks for this.
        ("gmail_label", OwnAccount, &[], true, ask(false, 24, 60, 10)),
        ("named", OwnAccount, &[], true, ask(false, 1, 60, 10)),
        // The person's own draft is not lost because of a text from outside.
        (DISCARD, Drafts, &[], false, run),
        (DISCARD, Drafts, &[], true, ask(false, 24, 60, 10)),
        ("gmail_list_recent", Reads, many, true, run),
    ];
    for (tool, reach, to, outside_text, wanted) in table {
        let recipients: Vec<String> = to.iter().map(|a| (*a).to_owned()).collect();
        let (account, overwrites) = ("ana@acme.test", tool == DISCARD);
        let call = PolicyInput {
            tool,
            reach,
            account,
            recipients: &recipients,
            has_untrusted_content: outside_text,
            overwrites_user_draft: overwrites,
        };
        let ruled = match decide(&policy(), &call) {
            Ruling::Allow => Ok(None),
            Ruling::Forbid(why) => Err(why),
            Ruling::Ask(terms) => {
                let two = terms.co_approvers().is_some_and(|list| list.name == "legal");
                let Terms { expire_after, remind_before, undo_window: undo, .. } = terms;
                Ok(Some((two, expire_after.num_hours(), remind_before.num_minutes(), undo.num_seconds())))
            }
        };
        assert_eq!(ruled, wanted.map_err(str::to_owned), "{tool} {reach:?} {to:?} {outside_text}");
    }
}

#[test]
fn later_rules_cannot_allow_what_earlier_rules_forbid() {
    let mut both = policy();
    both.rules.push(Rule { decider: Some(Decider::Owner), ..Rule::default() });
    let to = |address: &str| {
        let (recipients, reach) = (&[address.to_owned()], Reach::Others);
        let (tool, account, outside_text, overwrites) = (MAIL, "ana@acme.test", false, false);
        decide(
            &both,
            &PolicyInput {
                tool,
                reach,
                account,
                recipients,
                has_untrusted_content: outside_text,
                overwrites_user_draft: overwrites,
            },
        )
    };
    assert_eq!(to("spy@rival.test"), Ruling::Forbid("not to them".to_owned()));
    assert!(matches!(to("eve@x.test"), Ruling::Ask(terms) if terms.co_approvers().is_none()));
}

#[test]
fn public_mail_domain_is_never_internal() {
    for (account, address, outside) in [
        ("ana@acme.test", "Bo@ACME.test", false),
        ("ana@acme.test", "bo@eu.acme.test", true),
        ("ana@acme.test", "bo@gmail.com", true),
        ("ana@gmail.com", "bo@gmail.com", true),
        ("ana@gmail.com", "Ana@gmail.com", false),
        ("ana@yahoo.co.uk", "bo@yahoo.co.uk", true),
        ("ana@gmx.de", "bo@gmx.de", true),
        ("ana@mail.gmx-tools.test", "bo@mail.gmx-tools.test", false),
    ] {
        assert_eq!(is_outside(address, account), outside, "{address} for {account}");
    }
}

#[test]
fn rules_round_trip_through_json() {
    let rules = policy().rules;
    let row = serde_json::to_value(&rules).unwrap();
    assert_eq!(serde_json::from_value::<Vec<Rule>>(row).unwrap(), rules);
}

#[test]
fn a_reminder_needs_more_time_than_its_lead() {
    let usual = Policy::default().default_terms;
    for (expire, remind, wanted) in [(24, 1, Some(23)), (2, 1, Some(1)), (1, 1, None), (24, 0, None)] {
        let terms = Terms {
            expire_after: TimeDelta::hours(expire),
            remind_before: TimeDelta::hours(remind),
            ..usual.clone()
        };
        assert_eq!(terms.remind_after(), wanted.map(TimeDelta::hours), "{expire} h, {remind} h before");
    }
}
