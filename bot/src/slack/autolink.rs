//! Turns bare URLs in text into links: rich text links nothing by itself.

use crate::text::first_address;

use super::markdown::address;
use super::rich::Run;

/// Returns the runs with every `http://…` and `https://…` in them as a link.
pub(super) fn linked(runs: Vec<Run>) -> Vec<Run> {
    runs.into_iter()
        .flat_map(|run| if run.link.is_some() || run.look.code { vec![run] } else { parted(run) })
        .collect()
}

fn parted(run: Run) -> Vec<Run> {
    let mut out = Vec::new();
    let mut rest = run.text.as_str();
    while let Some((before, found)) = first_address(rest) {
        let Some(url) = address(found) else { break };
        let plain = |text: &str| Run { text: text.to_owned(), ..run.clone() };
        out.extend((!before.is_empty()).then(|| plain(before)));
        out.push(Run { text: url.clone(), look: run.look, link: Some(url), moment: None });
        rest = &rest[before.len() + found.len()..];
    }
    out.extend((!rest.is_empty()).then(|| Run { text: rest.to_owned(), ..run.clone() }));
    out
}
