//! Where a sentence ends: not after "No." in "No. 5".

use unicode_segmentation::UnicodeSegmentation;

/// After these and a full stop a sentence goes on. Titles have a capital: "5 ms." ends one.
const ABBREVIATIONS: &str = "Mr Mrs Ms Dr Prof Hr Fr Sr Sra Mme approx ca cf vs resp bzw vgl incl inkl excl exkl zzgl sog \
    e.g i.e z.b d.h u.a i.d.r o.ä max min";
/// After these and a full stop a sentence goes on if a number follows.
const BEFORE_NUMBERS: &str =
    "no nos nr p pp pg s art sec para abs ch chap kap vol fig abb tab tel ext ver v app";
/// "am 3. März" goes on.
const GERMAN_MONTHS: &str =
    "januar jänner februar märz april mai juni juli august september oktober november dezember";

/// Returns the sentences of a text with everything between them.
pub(crate) fn split_sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut begin, mut segment_end) = (0, 0);
    for segment in text.split_sentence_bounds() {
        segment_end += segment.len();
        let end = segment_end + emphasis_end(&text[segment_end..]);
        if begin < segment_end && (end == text.len() || !continues(&text[begin..end], &text[end..])) {
            all.push(&text[begin..end]);
            begin = end;
        }
    }
    all
}

/// Returns how much of what follows a sentence ends its emphasis: "**" of "**We work.** Also".
fn emphasis_end(after: &str) -> usize {
    let rest = after.trim_start_matches(['*', '_']);
    let next = rest.trim_start_matches([' ', '\r']);
    let next = next.strip_prefix('\n').unwrap_or(next);
    match rest.len() < after.len() && (rest.is_empty() || next.len() < rest.len()) {
        true => after.len() - next.len(),
        false => 0,
    }
}

/// Returns whether what looks like the end of a sentence is an abbreviation or a German date.
fn continues(before: &str, after: &str) -> bool {
    if before.ends_with(['\n', '\r']) {
        return false;
    }
    let Some(before) = before.trim_end().strip_suffix('.') else { return false };
    let mut last = before.rsplit(char::is_whitespace);
    let is_bracket = |c: char| !c.is_alphanumeric();
    let word = last.next().unwrap_or_default().trim_start_matches(is_bracket);
    let earlier = last.next().unwrap_or_default().trim_start_matches(is_bracket);
    let lower = word.to_lowercase();
    let next = after.trim_start();
    let next_word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let is_listed = |list: &str| list.split_whitespace().any(|one| one == word || one == lower);
    let is_letter = |word: &str| word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    // "z." of "z. B."; "B." of it.
    let is_spaced = is_letter(word)
        && (word.chars().all(char::is_lowercase) || earlier.strip_suffix('.').is_some_and(is_letter));
    let is_day = (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    is_listed(ABBREVIATIONS)
        || is_spaced
        || is_listed(BEFORE_NUMBERS) && next.starts_with(|c: char| c.is_ascii_digit())
        || is_day && GERMAN_MONTHS.split_whitespace().any(|month| month == next_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        for (text, expected) in [
            ("See room No. 5. It is small.", vec!["See room No. 5. ", "It is small."]),
            ("Bring fruit, e.g. Apples. Or nuts.", vec!["Bring fruit, e.g. Apples. ", "Or nuts."]),
            ("It is on p. 4. Read it.", vec!["It is on p. 4. ", "Read it."]),
            ("Ask Mr. Brown (cf. Leave). He knows.", vec!["Ask Mr. Brown (cf. Leave). ", "He knows."]),
            ("It takes approx. 5 days. Or six.", vec!["It takes approx. 5 days. ", "Or six."]),
            ("Nehmt z. B. Freitag. Oder Montag.", vec!["Nehmt z. B. Freitag. ", "Oder Montag."]),
            ("Er endet z.B. Montag. Gut.", vec!["Er endet z.B. Montag. ", "Gut."]),
            ("Ab dem 3. März 2026. Gut.", vec!["Ab dem 3. März 2026. ", "Gut."]),
            ("May I? No. It costs 3.5 euros.", vec!["May I? ", "No. ", "It costs 3.5 euros."]),
            ("See p.\n4 follows.", vec!["See p.\n", "4 follows."]),
            ("It takes 5 ms. Then it ends.", vec!["It takes 5 ms. ", "Then it ends."]),
            ("We have 25. Everybody does.", vec!["We have 25. ", "Everybody does."]),
            ("**We work.** *So do I.*\n**Why?**", vec!["**We work.** ", "*So do I.*\n", "**Why?**"]),
            ("We work. **So** do I.", vec!["We work. ", "**So** do I."]),
            ("ends with e.g.", vec!["ends with e.g."]),
            ("", vec![]),
        ] {
            assert_eq!(split_sentences(text), expected, "{text}");
        }
    }
}
