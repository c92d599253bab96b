//! A passage, prepared to be compared: its sentences, and the rows of its lists and tables with the line above them.

use std::collections::HashSet;
use std::ops::Range;

use super::Source;
use super::markers::list_prefix;
use super::polarity::{common_negation, split_parts};
use super::quote::is_negation;
use super::words::{compared_words, has_digit};
use crate::chunk::sentences;
use crate::language::{Language, detect_language, stem_all};

/// A shorter line is no line of a paragraph that goes on in the next: it is a title, or the row of a table.
const MIN_WRAPPED_CHARS: usize = 40;
/// The same before a line that begins like a sentence of its own.
const MIN_FULL_CHARS: usize = 60;
/// What separates the cells of a row. A line with these does not go on in the next.
const CELL_MARKS: [char; 4] = [':', ';', '|', '\t'];

/// "Everybody flies" is the opposite of "nobody flies" all the same.
const QUANTIFIERS: [&str; 8] =
    ["everybody", "everyone", "all", "every", "anybody", "anyone", "jeder", "alle"];

/// A passage, prepared to be compared.
pub(super) struct Passage<'a> {
    pub(super) words: Vec<String>,
    pub(super) language: Option<Language>,
    pub(super) sentences: Vec<Sentence<'a>>,
    pub(super) page: Option<String>,
    /// What stands in its title and its place.
    pub(super) place_stems: HashSet<String>,
    pub(super) place_numbers: HashSet<String>,
}

impl<'a> Passage<'a> {
    pub(super) fn new(source: &Source<'a>) -> Self {
        let (mut sentences, words) = read_sentences(source.text);
        let language = detect_language(&words);
        add_stems(&mut sentences, &words, language);
        // An answer may name the document, the page and the heading.
        let mut place = compared_words(source.place);
        let has_page = source.place.starts_with("p. ") && place.len() > 1;
        let page = has_page.then(|| place.drain(..2).nth(1)).flatten();
        place.extend(compared_words(source.title));
        let place_stems = stem_all(&place, language);
        let place_numbers = place.into_iter().filter(|word| has_digit(word)).collect();
        Self { words, language, sentences, page, place_stems, place_numbers }
    }
}

impl Passage<'_> {
    /// Returns whether what it says in these words is that something is not so, or that it is so; `None` if it says both, says
    /// it in other words than these, or if it is unclear.
    pub(super) fn find_negation(&self, ranges: &[Range<usize>], content: &[String]) -> Option<bool> {
        let has_negation = |words: &[String]| words.iter().any(|word| is_negation(word));
        if self.place_stems.iter().any(|stem| is_negation(stem)) {
            return None;
        }
        let (mut parts, mut there) = (Vec::new(), HashSet::new());
        for sentence in &self.sentences {
            let mut at = sentence.range.start;
            for part in split_parts(sentence.text, self.language) {
                let own = at..at + part.length;
                at = own.end;
                if ranges.iter().any(|range| own.start < range.end && range.start < own.end) {
                    // "Not covered:" denies what is listed below it.
                    if sentence
                        .head
                        .is_some_and(|head| has_negation(&self.words[self.sentences[head].range.clone()]))
                    {
                        return None;
                    }
                    there.extend(stem_all(self.words.get(own)?, self.language));
                    parts.push(part);
                }
            }
        }
        let is_said = |word: &String| {
            QUANTIFIERS.contains(&word.as_str())
                || stem_all(std::slice::from_ref(word), self.language).iter().all(|stem| there.contains(stem))
        };
        common_negation(&parts).filter(|_| content.iter().all(is_said))
    }
}

/// A sentence of a passage, or a line of a list or a table.
pub(super) struct Sentence<'a> {
    pub(super) text: &'a str,
    /// Where its words are among those of the passage.
    pub(super) range: Range<usize>,
    /// The line above the list or the table that it is a row of.
    pub(super) head: Option<usize>,
    pub(super) numbers: HashSet<String>,
    /// Its words and those of its head.
    pub(super) stems: HashSet<String>,
}

impl Sentence<'_> {
    pub(super) fn has_number(&self, number: &str) -> bool {
        self.numbers.contains(number) || self.has_hour(number)
    }

    /// Returns whether a number is an hour that is spelled in another way: "at 2" is true of 14:00, and 9:00 stands in
    /// "9–17 Uhr".
    fn has_hour(&self, number: &str) -> bool {
        let times = || self.numbers.iter().filter_map(|number| number.split_once(':'));
        let is_hour =
            |hour: u32| times().any(|(h, _)| h.parse().is_ok_and(|h: u32| hour == h || hour == h % 12));
        let is_bare = |hour: u32| self.numbers.contains(&hour.to_string()) && times().next().is_some();
        match number.strip_suffix(":00") {
            Some(hour) => hour.parse().is_ok_and(|hour: u32| is_bare(hour) || is_bare(hour % 12)),
            None => number.parse().is_ok_and(is_hour),
        }
    }
}

/// Returns the sentences of a text that have words, and these words.
fn read_sentences(text: &str) -> (Vec<Sentence<'_>>, Vec<String>) {
    let (mut all, mut words): (Vec<Sentence<'_>>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut head, mut is_line_start, mut is_after_blank) = (None, true, false);
    for text in join_lines(text) {
        let begin = words.len();
        words.extend(compared_words(text));
        let own = &words[begin..];
        if own.is_empty() {
            is_after_blank |= text.trim().is_empty();
            continue;
        }
        let at = all.len();
        let numbers: HashSet<String> = own.iter().filter(|word| has_digit(word)).cloned().collect();
        let is_item = is_item(text);
        if is_line_start {
            let is_apart = is_after_blank && !is_item && head.is_some_and(|head| head + 1 < at);
            head = head.filter(|_| !is_apart && is_row(text));
        }
        let is_title = trim_end_marks(text).ends_with(':');
        let is_first_row = is_line_start && head.is_none() && is_row(text) && !is_item && numbers.is_empty();
        let above = head.filter(|_| !is_title);
        if is_title || is_first_row {
            head = Some(at);
        }
        all.push(Sentence { text, range: begin..words.len(), head: above, numbers, stems: HashSet::new() });
        (is_line_start, is_after_blank) = (text.ends_with('\n'), false);
    }
    (all, words)
}

/// Stems the words of all sentences.
fn add_stems(all: &mut [Sentence<'_>], words: &[String], language: Option<Language>) {
    for at in 0..all.len() {
        let (before, rest) = all.split_at_mut(at);
        let Some(sentence) = rest.first_mut() else { continue };
        sentence.stems = stem_all(&words[sentence.range.clone()], language);
        // Heads have none themselves.
        sentence.stems.extend(sentence.head.iter().flat_map(|head| before[*head].stems.iter().cloned()));
    }
}

/// Returns whether a line is one of a list or a table: it does not end as a sentence does.
fn is_row(line: &str) -> bool {
    is_item(line) || line.contains(['|', '\t']) || !trim_end_marks(line).ends_with(['.', '!', '?', '…'])
}

fn is_item(line: &str) -> bool {
    list_prefix(line.trim_start()) > 0
}

/// Returns a line without what closes its emphasis or its quotes.
fn trim_end_marks(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_whitespace() || "*_\"”)".contains(c))
}

/// Returns the sentences of a text; one that goes on in the next line is one.
fn join_lines(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut begin, mut end, mut line_chars) = (0, 0, 0);
    let mut pieces = sentences(text).into_iter().peekable();
    while let Some(piece) = pieces.next() {
        end += piece.len();
        line_chars += piece.chars().count();
        if !pieces.peek().is_some_and(|next| goes_on(piece, line_chars, next)) {
            all.push(&text[begin..end]);
            begin = end;
        }
        if piece.ends_with('\n') {
            line_chars = 0;
        }
    }
    all
}

fn goes_on(piece: &str, line_chars: usize, next: &str) -> bool {
    let (body, next) = (piece.trim_end(), next.trim_start());
    let Some(first) = next.chars().next().filter(|_| piece.ends_with('\n')) else { return false };
    if body.ends_with(['-', '\u{2010}', '\u{ad}']) && first.is_alphabetic() {
        return true;
    }
    let least = if first.is_lowercase() { MIN_WRAPPED_CHARS } else { MIN_FULL_CHARS };
    let is_open = body.ends_with(|c: char| c.is_alphanumeric() || ",)".contains(c));
    line_chars >= least && is_open && first.is_alphanumeric() && !is_item(next) && !body.contains(CELL_MARKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_line_above_their_list_or_table() {
        for (text, expected) in [
            ("Leave:\n\n- A: 25\n\n- B: 10\n\nWe sing.", vec![None, Some(0), Some(0), None]),
            ("**Leave:**\n  A 25\n  B 10\nWe sing. All of us", vec![None, Some(0), Some(0), None, None]),
            ("- A: 25\n- B: 10", vec![None, None]),
            ("| A | B |\n|---|---|\n| 1 | 2 |\n\nCity Days\nRome 30", vec![None, Some(0), None, Some(2)]),
            ("Staff:\n- 25 days.\nInterns:\n- 10 days.", vec![None, Some(0), None, Some(2)]),
        ] {
            let heads: Vec<_> = read_sentences(text).0.iter().map(|sentence| sentence.head).collect();
            assert_eq!(heads, expected, "{text}");
        }
    }

    #[test]
    fn a_sentence_goes_on_in_the_next_line() {
        let long = "All of the people who work here have 25 days\nof leave, if they want";
        let title = "What all of the people who work in this house have: leave\nof 25 days";
        for (text, count) in [
            (long.to_owned(), 1),
            (long.replace("\nof", "\n- of"), 2),
            (long.replace("\nof", "\nOf"), 2),
            (format!("Really, {}", long.replace("25 days\nof leave", "25 days in every year\nOf leave")), 1),
            (title.to_owned(), 2),
            ("staff 25\ninterns 10".to_owned(), 2),
            ("infor-\nmation".to_owned(), 1),
        ] {
            assert_eq!(read_sentences(&text).0.len(), count, "{text}");
        }
    }
}
