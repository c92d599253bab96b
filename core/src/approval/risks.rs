//! What to be careful about: computed, never written by a model.

use crate::privacy::Provenance;

/// The risk lines of an act by `account` that reaches `recipients`, of whom `known` got something from Nod
/// on this person's behalf before.
#[must_use]
pub(crate) fn risks(
    account: &str,
    recipients: &[String],
    known: &[String],
    provenance: &Provenance,
) -> Vec<String> {
    let home = domain(account);
    let mut lines = Vec::new();
    let outside: Vec<&str> = distinct(recipients).into_iter().filter(|r| domain(r) != home).collect();
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
        [one] => lines.push(format!("Nod's first mail to {one}")),
        [first, ..] => lines.push(format!("Nod's first mail to {first} and {} more", new.len() - 1)),
    }
    if recipients.len() > 10 {
        lines.push(format!("{} recipients", recipients.len()));
    }
    if let Provenance::Outside(sources) = provenance {
        let from = sources.first().map_or("outside", String::as_str);
        let more = sources.len().saturating_sub(1);
        let and = if more == 0 { String::new() } else { format!(" and {more} more") };
        lines.push(format!("this run has read outside text: {from}{and}"));
    }
    lines
}

fn domain(address: &str) -> String {
    address.rsplit('@').next().unwrap_or_default().to_lowercase()
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
    use super::*;

    #[test]
    fn each_risk_has_its_line() {
        let ours = Provenance::Ours;
        let mail = Provenance::outside("mail from eve@x.test");
        type Lines<'a> = &'a [&'a str];
        let table: [(Lines<'_>, Lines<'_>, &Provenance, Lines<'_>); 5] = [
            (&["bo@acme.test"], &["BO@acme.test"], &ours, &[]),
            (&["bo@acme.test"], &[], &ours, &["Nod's first mail to bo@acme.test"]),
            (
                &["bo@x.test"],
                &[],
                &mail,
                &[
                    "bo@x.test is outside acme.test",
                    "Nod's first mail to bo@x.test",
                    "this run has read outside text: mail from eve@x.test",
                ],
            ),
            (
                &["a@x.test", "b@y.test"],
                &["a@x.test", "b@y.test"],
                &ours,
                &["a@x.test and b@y.test are outside acme.test"],
            ),
            (
                &["a@x.test", "a@X.test", "b@y.test", "c@z.test"],
                &["a@x.test"],
                &ours,
                &["a@x.test and 2 others are outside acme.test", "Nod's first mail to b@y.test and 1 more"],
            ),
        ];
        for (to, known, provenance, wanted) in table {
            let owned = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            assert_eq!(risks("ana@acme.test", &owned(to), &owned(known), provenance), owned(wanted));
        }
    }
}
