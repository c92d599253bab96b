//! Text that Nod puts around other text.

use crate::outside::Source;

/// Formats 100000 as "100,000".
pub fn group_digits(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<String> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| group.iter().map(|b| char::from(*b)).collect())
        .collect();
    groups.join(",")
}

/// How many sources a marker names.
pub(crate) const NAMED: usize = 3;

/// Fences untrusted text between markers that it cannot forge. The most recent sources are named.
pub fn fence_untrusted<S: AsRef<str>>(content: &str, sources: &[S], marker: &str) -> String {
    let more = sources.len().saturating_sub(NAMED);
    let named = sources[more..].iter().map(|source| Source::new(source.as_ref()).into());
    let from =
        named.chain((more > 0).then(|| format!("and {more} more"))).collect::<Vec<String>>().join("; ");
    format!("outside {marker} begins ({from})\n{content}\noutside {marker} ends")
}
