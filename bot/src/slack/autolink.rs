//! Turns bare URLs in text into links: rich text links nothing by itself.

use crate::text::first_address;

use super::markdown::address;
use super::rich_text::Span;

/// Returns the runs with every `http://…` and `https://…` in them as a link.
pub(super) fn link_urls(runs: Vec<Span>) -> Vec<Span> {
    runs.into_iter()
        .flat_map(|run| if run.link.is_some() || run.style.code { vec![run] } else { link_urls_in(run) })
        .collect()
}

fn link_urls_in(run: Span) -> Vec<Span> {
    let mut out = Vec::new();
    let mut rest = run.text.as_str();
    while let Some((before, found)) = first_address(rest) {
        let Some(url) = address(found) else { break };
        let plain = |text: &str| Span { text: text.to_owned(), ..run.clone() };
        out.extend((!before.is_empty()).then(|| plain(before)));
        out.push(Span { text: url.clone(), style: run.style, link: Some(url), moment: None });
        rest = &rest[before.len() + found.len()..];
    }
    out.extend((!rest.is_empty()).then(|| Span { text: rest.to_owned(), ..run.clone() }));
    out
}
