//! Text that Nod puts around other text.

use crate::outside::Source;

/// Returns the words of a button as they can be typed: in any case, with or without a full stop at their end.
#[must_use]
pub fn normalize_label(text: &str) -> String {
    text.trim().trim_end_matches(['!', '.']).trim_end().to_lowercase()
}

/// Writes the first letter as at the beginning of a sentence.
#[must_use]
pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

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

/// Returns a Markdown table whose cells show these texts as they are.
pub fn markdown_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape_markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let titles: Vec<String> = head.iter().map(|title| (*title).to_owned()).collect();
    let rule = vec!["---"; head.len()].join(" | ");
    let rows: String = rows.iter().map(|cells| line(cells)).collect();
    format!("{}| {rule} |\n{rows}", line(&titles))
}

/// Escapes a text so that Markdown shows it as it is, in one line.
fn escape_markdown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
