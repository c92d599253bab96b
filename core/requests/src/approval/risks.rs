//! The risk lines of a request: computed, never written by a model.

use nod_contract::address::{is_outside, organisation_domain};
use nod_contract::outside::Source;
use nod_contract::privacy::Provenance;
use nod_contract::tool::Preview;

/// Returns the risk lines of an act. `known` are the recipients whom Nod reached on this person's behalf before;
/// `unknown_recipients` of the preview occur only in outside text.
#[must_use]
pub fn risks(preview: &Preview, known: &[String], provenance: &Provenance) -> Vec<String> {
    let Preview { account, recipients, unknown_recipients: unnamed, .. } = preview;
    let brings = &preview.labels.recipient_noun;
    let home = organisation_domain(account).unwrap_or_else(|| "your organisation".to_owned());
    let mut lines = Vec::new();
    let outside: Vec<&str> = distinct(recipients).into_iter().filter(|r| is_outside(r, account)).collect();
    match outside[..] {
        [] => {}
        [one] => lines.push(format!("{one} is outside {home}")),
        [first, second] => lines.push(format!("{first} and {second} are outside {home}")),
        [first, ..] => lines.push(format!("{first} and {} others are outside {home}", outside.len() - 1)),
    }
    let knows = |r: &&str| known.iter().any(|k| k.eq_ignore_ascii_case(r));
    let new: Vec<&str> = distinct(recipients).into_iter().filter(|r| !knows(r)).collect();
    match new[..] {
        [] => {}
        [one] => lines.push(format!("Nod's first {brings} to {one}")),
        [first, ..] => lines.push(format!("Nod's first {brings} to {first} and {} more", new.len() - 1)),
    }
    lines.extend(unknown_recipients_text(distinct(unnamed).into_iter().filter(|r| !knows(r)).collect()));
    if recipients.len() > 10 {
        lines.push(format!("{} recipients", recipients.len()));
    }
    if let Provenance::Untrusted(sources) = provenance {
        // The latest source might be the one that asks for this.
        let from = sources.last().map_or("outside", Source::as_str);
        lines.push(match sources.len().saturating_sub(1) {
            0 => format!("Prepared after reading {from}"),
            more => format!("Prepared after reading {from}, and {more} more before it"),
        });
    }
    lines
}

/// Returns the line about recipients whom no user here has named, whether or not they are known.
pub(super) fn unknown_recipients_line(preview: &Preview) -> Option<String> {
    unknown_recipients_text(distinct(&preview.unknown_recipients))
}

fn unknown_recipients_text(unnamed: Vec<&str>) -> Option<String> {
    match unnamed[..] {
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
    fn each_risk_has_its_line() {
        let ours = Provenance::Trusted;
        let mail = Provenance::untrusted("mail from eve@x.test");
        type Lines<'a> = &'a [&'a str];
        let table: [(Lines<'_>, Lines<'_>, Lines<'_>, &Provenance, Lines<'_>); 7] = [
            (&["bo@acme.test"], &["BO@acme.test"], &[], &ours, &[]),
            (&["bo@acme.test"], &[], &[], &ours, &["Nod's first mail to bo@acme.test"]),
            (
                &["bo@x.test"],
                &[],
                &[],
                &mail,
                &[
                    "bo@x.test is outside acme.test",
                    "Nod's first mail to bo@x.test",
                    "Prepared after reading mail from eve@x.test",
                ],
            ),
            (
                &["a@x.test", "b@y.test"],
                &["a@x.test", "b@y.test"],
                &[],
                &ours,
                &["a@x.test and b@y.test are outside acme.test"],
            ),
            (
                &["a@x.test", "a@X.test", "b@y.test", "c@z.test"],
                &["a@x.test"],
                &[],
                &ours,
                &["a@x.test and 2 others are outside acme.test", "Nod's first mail to b@y.test and 1 more"],
            ),
            (
                &["a@acme.test", "b@acme.test"],
                &["a@acme.test", "b@acme.test"],
                &["a@acme.test"],
                &mail,
                &["Prepared after reading mail from eve@x.test"],
            ),
            (
                &["a@acme.test", "b@acme.test"],
                &[],
                &["a@acme.test", "b@acme.test", "B@acme.test"],
                &mail,
                &[
                    "Nod's first mail to a@acme.test and 1 more",
                    "a@acme.test and 1 more came from something I read, not from you",
                    "Prepared after reading mail from eve@x.test",
                ],
            ),
        ];
        for (to, known, unnamed, provenance, wanted) in table {
            let owned = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            let preview = Preview {
                account: "ana@acme.test".to_owned(),
                recipients: owned(to),
                unknown_recipients: owned(unnamed),
                ..Preview::new(Value::Null, "", labels())
            };
            assert_eq!(risks(&preview, &owned(known), provenance), owned(wanted));
        }
    }
}
