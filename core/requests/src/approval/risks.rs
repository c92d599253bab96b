//! The risk lines of a request: computed, never written by a model.

use super::stopped;
use nod_contract::address::{is_outside, organisation_domain};
use nod_contract::outside::valid_email;
use nod_contract::privacy::Provenance;
use nod_contract::tool::Preview;

/// Returns the risk lines of an act, the gravest first: the card shows one and counts the others. `known` are the
/// recipients whom Nod reached on this person's behalf before, `minor` the lines that come after who gets it.
#[must_use]
pub fn risks(
    preview: &Preview,
    known: &[String],
    minor: Vec<String>,
    provenance: &Provenance,
) -> Vec<String> {
    let knows = |r: &&str| known.iter().any(|k| k.eq_ignore_ascii_case(r));
    let unknown: Vec<&str> =
        distinct(&preview.unknown_recipients).into_iter().filter(|r| !knows(r)).collect();
    let first = match &preview.asked_by {
        Some(by) => stopped::risk(&unknown, by),
        None => unknown_recipients_text(&unknown),
    };
    let mut lines: Vec<String> = first.into_iter().collect();
    lines.extend(preview.risks.iter().cloned());
    lines.extend(outside_lines(preview));
    lines.extend(minor);
    if preview.recipients.len() > 10 {
        lines.push(format!("{} recipients", preview.recipients.len()));
    }
    if let Provenance::Untrusted(sources) = provenance
        && !is_quiet(preview)
    {
        // The latest source might be the one that asks for this.
        lines.extend(sources.last().map(|latest| format!("Prepared after reading {latest}")));
    }
    lines
}

/// Returns whether outside text needs no line in front, because it cannot have chosen who gets this. Who wrote it does
/// not count: anybody can write a colleague's address into a mail. [Show all] names it in any case, and the request
/// waits for an approval all the same.
fn is_quiet(preview: &Preview) -> bool {
    preview.are_recipients_named && !preview.recipients.is_empty()
}

/// Returns whether a source is mail with an address of the account's own organisation: "an email from dana@acme.test".
pub(super) fn has_colleagues_address(source: &str, account: &str) -> bool {
    let address = source.strip_prefix("an email from ").and_then(valid_email);
    address.is_some_and(|address| !is_outside(address, account))
}

/// Returns who of the recipients is outside the organisation, and who gets a first mail from this account.
fn outside_lines(preview: &Preview) -> Vec<String> {
    let Preview { account, recipients, never_written_to: first, .. } = preview;
    let home = organisation_domain(account).unwrap_or_else(|| "your organisation".to_owned());
    let outside: Vec<&str> = distinct(recipients).into_iter().filter(|r| is_outside(r, account)).collect();
    let are_outside = match outside[..] {
        [] => return Vec::new(),
        [one] if distinct(first) == [one] => return vec![format!("First email to {one}, outside {home}")],
        [one] => format!("{one} is outside {home}"),
        [first, second] => format!("{first} and {second} are outside {home}"),
        [first, ..] => format!("{first} and {} others are outside {home}", outside.len() - 1),
    };
    let first = match distinct(first)[..] {
        [] => None,
        [one] => Some(format!("First email to {one}")),
        [one, ref more @ ..] => Some(format!("First email to {one} and {} more", more.len())),
    };
    first.into_iter().chain([are_outside]).collect()
}

/// Returns the line about recipients whom no user here has named.
fn unknown_recipients_text(unnamed: &[&str]) -> Option<String> {
    match *unnamed {
        [] => None,
        [one] => Some(format!("{one} came from something I read, not from you")),
        [first, ..] => {
            let more = unnamed.len() - 1;
            Some(format!("{first} and {more} more came from something I read, not from you"))
        }
    }
}

fn distinct(all: &[String]) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for one in all {
        if !seen.iter().any(|s| s.eq_ignore_ascii_case(one)) {
            seen.push(one);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use nod_contract::tool::ActionLabels;

    /// As stored in a row of earlier versions.
    fn labels() -> ActionLabels {
        let words = json!({"approve": "", "doing": "", "done": "", "not_done": "", "thing": ""});
        serde_json::from_value(words).unwrap()
    }

    #[test]
    fn each_risk_has_its_line_and_the_gravest_comes_first() {
        struct Case {
            to: &'static [&'static str],
            known: &'static [&'static str],
            first: &'static [&'static str],
            unknown: &'static [&'static str],
            named: bool,
            source: Option<&'static str>,
            lines: &'static [&'static str],
        }
        const CASE: Case =
            Case { to: &[], known: &[], first: &[], unknown: &[], named: false, source: None, lines: &[] };
        let eve = Some("an email from eve@x.test");
        let table = [
            Case { to: &["bo@acme.test"], ..CASE },
            Case { to: &["bo@x.test"], lines: &["bo@x.test is outside acme.test"], ..CASE },
            Case {
                to: &["bo@x.test"],
                first: &["bo@x.test"],
                lines: &["First email to bo@x.test, outside acme.test"],
                ..CASE
            },
            Case {
                to: &["a@x.test", "b@y.test"],
                lines: &["a@x.test and b@y.test are outside acme.test"],
                ..CASE
            },
            Case {
                to: &["a@x.test", "a@X.test", "b@y.test", "c@z.test"],
                first: &["b@y.test", "B@y.test"],
                lines: &["First email to b@y.test", "a@x.test and 2 others are outside acme.test"],
                ..CASE
            },
            Case {
                to: &["a@x.test", "b@y.test"],
                first: &["a@x.test", "b@y.test"],
                lines: &["First email to a@x.test and 1 more", "a@x.test and b@y.test are outside acme.test"],
                ..CASE
            },
            // Who was named here needs no line in front; a colleague's address may be forged.
            Case { to: &["bo@acme.test"], named: true, source: eve, ..CASE },
            Case {
                to: &["bo@acme.test"],
                source: Some("an email from Dana@ACME.test"),
                lines: &["Prepared after reading an email from Dana@ACME.test"],
                ..CASE
            },
            Case {
                to: &["bo@acme.test"],
                source: eve,
                lines: &["Prepared after reading an email from eve@x.test"],
                ..CASE
            },
            // Nobody is named, since nobody gets it: the source itself is what to look at.
            Case {
                named: true,
                source: eve,
                lines: &["Prepared after reading an email from eve@x.test"],
                ..CASE
            },
            Case {
                named: true,
                source: Some("the document dana@acme.test.pdf and more"),
                lines: &["Prepared after reading the document dana@acme.test.pdf and more"],
                ..CASE
            },
            Case {
                to: &["a@x.test"],
                unknown: &["a@x.test"],
                source: eve,
                lines: &[
                    "a@x.test came from something I read, not from you",
                    "a@x.test is outside acme.test",
                    "Prepared after reading an email from eve@x.test",
                ],
                ..CASE
            },
            Case {
                to: &["a@acme.test", "b@acme.test"],
                known: &["A@acme.test"],
                unknown: &["a@acme.test", "b@acme.test", "B@acme.test"],
                source: eve,
                lines: &[
                    "b@acme.test came from something I read, not from you",
                    "Prepared after reading an email from eve@x.test",
                ],
                ..CASE
            },
        ];
        for case in table {
            let owned = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            let preview = Preview {
                account: "ana@acme.test".to_owned(),
                recipients: owned(case.to),
                never_written_to: owned(case.first),
                unknown_recipients: owned(case.unknown),
                are_recipients_named: case.named,
                ..Preview::new(Value::Null, "", labels())
            };
            let provenance = Provenance::from_sources(case.source);
            assert_eq!(risks(&preview, &owned(case.known), Vec::new(), &provenance), case.lines);
        }
    }

    #[test]
    fn only_a_senders_address_is_a_colleagues() {
        for (source, is) in [
            ("an email from dana@acme.test", true),
            ("an email from ana@ACME.test", true),
            ("an email from eve@x.test", false),
            ("the document evil.test/x/@acme.test", false),
            ("the file notes dana@acme.test", false),
            ("an email from eve dana@acme.test", false),
        ] {
            assert_eq!(has_colleagues_address(source, "ana@acme.test"), is, "{source}");
        }
    }

    #[test]
    fn an_acts_own_risk_comes_before_who_gets_it_and_a_minor_one_after() {
        let to: Vec<String> = (0..11).map(|n| format!("{n}@x.test")).collect();
        let preview = Preview {
            account: "ana@acme.test".to_owned(),
            recipients: to,
            risks: vec!["It goes elsewhere".to_owned()],
            ..Preview::new(Value::Null, "", labels())
        };
        let lines = risks(&preview, &[], vec!["Clashes with “Review”".to_owned()], &Provenance::Trusted);
        let outside = "0@x.test and 10 others are outside acme.test";
        assert_eq!(lines, ["It goes elsewhere", outside, "Clashes with “Review”", "11 recipients"]);
    }
}
