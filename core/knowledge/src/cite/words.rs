//! The form in which words and numbers of an answer and a passage are compared.

use unicode_normalization::UnicodeNormalization;

use super::dates::{number_months, parse_day};
use super::numerals::{parse_numeral, replace_numerals};

/// Signs that are words.
const SIGNS: [(char, &str); 4] = [('%', "percent"), ('€', "euro"), ('$', "dollar"), ('£', "pound")];
const HYPHENS: [char; 2] = ['-', '\u{2010}'];
/// Stands for the spaces that can separate thousands, as the usual space cannot: it also separates columns.
const NARROW_SPACE: char = '\u{1}';

/// Returns the words of a text: lower case, without hyphens, each number in one form (1000, 3.5, 14:00, 30 for
/// "thirty", 31 and 3 for "31 March").
pub(crate) fn compared_words(text: &str) -> Vec<String> {
    let chars = normalised_chars(text);
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at) {
        if c.is_ascii_digit() {
            let (numbers, end) = take_number(&chars, at, words.last());
            words.extend(numbers);
            at = end;
        } else if c.is_alphanumeric() {
            let (parts, end) = take_word(&chars, at);
            parts.into_iter().for_each(|part| push_word(&mut words, part));
            at = end;
        } else {
            let sign = SIGNS.iter().find(|(sign, _)| sign == c);
            words.extend(sign.map(|(_, word)| (*word).to_owned()));
            at += 1;
        }
    }
    // The digits of "May five people come" are no day.
    replace_numerals(number_months(words))
}

pub(super) fn has_digit(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit())
}

fn normalised_chars(text: &str) -> Vec<char> {
    let text = text
        .replace(['\u{a0}', '\u{202f}', '\u{2009}'], "\u{1}")
        .replace("\u{ad}\r\n", "")
        .replace("\u{ad}\n", "");
    // "don't" and "don’t" are one word, and 1'000 is one number.
    text.nfkc().filter(|c| !['\'', '’', '\u{ad}'].contains(c)).collect()
}

fn push_word(words: &mut Vec<String>, word: String) {
    match word.as_str() {
        "prozent" | "pct" => words.push("percent".to_owned()),
        "cent" if words.last().is_some_and(|before| before == "per" || before == "pour") => {
            words.pop();
            words.push("percent".to_owned());
        }
        _ => words.push(word),
    }
}

/// Reads a word. "well-known" is the same word when a line ends after its hyphen, so hyphens are dropped; but "two-week" is
/// a number and a word.
fn take_word(chars: &[char], from: usize) -> (Vec<String>, usize) {
    let (mut parts, mut at, mut is_broken) = (vec![String::new()], from, false);
    loop {
        let word = chars[at..].iter().take_while(|c| c.is_alphanumeric());
        let length = word.clone().count();
        parts.last_mut().into_iter().for_each(|part| part.extend(word.clone()));
        at += length;
        let Some(next) = skip_hyphen(chars, at) else { break };
        is_broken |= next > at + 1;
        parts.push(String::new());
        at = next;
    }
    let joined = parts.concat();
    // "may" is a verb, "May" a month.
    let lower =
        |word: String| if ["May", "MAY"].contains(&word.as_str()) { word } else { word.to_lowercase() };
    let has_number = parts.len() > 1 && !is_broken && parse_numeral(&parts[0].to_lowercase()).is_some();
    match has_number && parse_numeral(&joined.to_lowercase()).is_none() {
        true => (parts.into_iter().map(lower).collect(), at),
        false => (vec![lower(joined)], at),
    }
}

/// Returns where a word goes on after a hyphen, in the same line or the next.
fn skip_hyphen(chars: &[char], at: usize) -> Option<usize> {
    chars.get(at).filter(|c| HYPHENS.contains(c))?;
    let spaces = chars[at + 1..].iter().take_while(|c| c.is_whitespace()).count();
    let next = at + 1 + spaces;
    let joined = spaces == 0 || chars[at + 1..next].contains(&'\n');
    chars.get(next).filter(|c| joined && c.is_alphabetic()).map(|_| next)
}

/// Reads a number with what is part of it: "2 pm" is 14:00.
fn take_number(chars: &[char], from: usize, before: Option<&String>) -> (Vec<String>, usize) {
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let is_separator = |at: usize| chars.get(at).is_some_and(|c| ['.', ',', ':', NARROW_SPACE].contains(c));
    let mut end = from;
    while is_digit(end) || is_separator(end) && is_digit(end + 1) {
        end += 1;
    }
    let written: String = chars[from..end].iter().collect();
    if let Some(day) = parse_day(&written, chars, from, before) {
        return (day, end);
    }
    let numbers = normalised_number(&written);
    if let [number] = numbers.as_slice()
        && let Some((time, end)) = take_time(number, chars, end)
    {
        return (vec![time], end);
    }
    (numbers, end)
}

/// Returns the words for digits and separators: one number, or those of a list or a date.
fn normalised_number(written: &str) -> Vec<String> {
    if let Some((hour, minute)) = written.split_once(':') {
        return match parse_time(hour, minute) {
            Some((hour, minute)) => vec![format!("{hour}:{minute:02}")],
            None => written.split(':').flat_map(normalised_number).collect(),
        };
    }
    let groups: Vec<&str> = written.split(|c: char| !c.is_ascii_digit()).collect();
    let separators: Vec<char> = written.chars().filter(|c| !c.is_ascii_digit()).collect();
    let Some((last_separator, earlier)) = separators.split_last() else {
        // "05" is the fifth of a month.
        return vec![written.strip_prefix('0').filter(|rest| rest.len() == 1).unwrap_or(written).to_owned()];
    };
    let (last, whole) = groups.split_last().unwrap_or((&"", &[]));
    let are_alike = earlier.windows(2).all(|pair| pair[0] == pair[1]);
    let repeats = earlier.first().is_none_or(|separator| separator == last_separator);
    match (last_separator, earlier) {
        _ if are_alike && repeats && are_thousands(&groups) => vec![groups.concat()],
        ('.' | ',', [_, ..]) if are_alike && !repeats && are_thousands(whole) => {
            vec![decimal(&whole.concat(), last)]
        }
        ('.', []) => vec![decimal(whole[0], last)],
        (',', []) if last.len() <= 2 || whole[0] == "0" => vec![decimal(whole[0], last)],
        // The day of "14.03.2026" stays a number of its own; 1.2.3 is a version.
        ('.', ['.']) if last.len() == 4 => groups.into_iter().flat_map(normalised_number).collect(),
        ('.', _) if are_alike && repeats => vec![written.to_owned()],
        _ => written.split([',', NARROW_SPACE]).flat_map(normalised_number).collect(),
    }
}

/// Returns whether the groups of a number are those of thousands: "1", "000".
fn are_thousands(groups: &[&str]) -> bool {
    let Some((first, rest)) = groups.split_first() else { return false };
    (1..=3).contains(&first.len()) && !first.starts_with('0') && rest.iter().all(|group| group.len() == 3)
}

/// Returns a decimal number; 12.00 is 12.
fn decimal(whole: &str, fraction: &str) -> String {
    if fraction == "00" { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn parse_time(hour: &str, minute: &str) -> Option<(u32, u32)> {
    let hour = hour.parse().ok().filter(|hour| *hour <= 24)?;
    let minute = minute.parse().ok().filter(|m| minute.len() == 2 && *m < 60)?;
    Some((hour, minute))
}

/// Returns the time that a number is together with the word behind it, "pm" or "Uhr", and where that word ends.
fn take_time(number: &str, chars: &[char], at: usize) -> Option<(String, usize)> {
    let (hour, minute) = number.split_once([':', '.']).unwrap_or((number, "00"));
    let (hour, minute) = parse_time(hour, minute)?;
    let begin = at + chars[at..].iter().take_while(|c| **c == ' ' || **c == NARROW_SPACE).count();
    for word in ["a.m", "p.m", "am", "pm", "uhr"] {
        let end = begin + word.len();
        let is_here = chars
            .get(begin..end)
            .is_some_and(|here| here.iter().map(char::to_ascii_lowercase).eq(word.chars()));
        if !is_here || chars.get(end).is_some_and(|c| c.is_alphanumeric()) {
            continue;
        }
        let hour = match word.as_bytes()[0] {
            b'u' => hour,
            _ if hour == 0 || hour > 12 => return None,
            b'p' => hour % 12 + 12,
            _ => hour % 12,
        };
        return Some((format!("{hour}:{minute:02}"), end));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join_words(text: &str) -> String {
        compared_words(text).join(" ")
    }

    #[test]
    fn numbers_have_one_form() {
        for (written, expected) in [
            ("1,000 1.000 1000 1'000 1\u{a0}000", "1000 1000 1000 1000 1000"),
            ("1,234,567 1.234.567", "1234567 1234567"),
            ("1,000.50 1.000,50", "1000.50 1000.50"),
            ("3.5 3,5 0.125 0,125 3.1415", "3.5 3.5 0.125 0.125 3.1415"),
            ("1.2.3 10.4.2.1", "1.2.3 10.4.2.1"),
            ("12.00 12", "12 12"),
            ("14:00 2 pm 2pm 2 p.m. 2:00 pm 14 Uhr 14.00 Uhr", "14:00 14:00 14:00 14:00 14:00 14:00 14:00"),
            ("12 am 12 pm 2.30 pm 9:05", "0:00 12:00 14:30 9:05"),
            ("25% 25 % 25 percent 25 per cent 25 Prozent", &["25 percent"; 5].join(" ")),
            ("14.03.2026 2026-03-05 31/03/2026 14.03.26", "14 3 2026 2026 3 5 31 3 2026 14 3 2026"),
            ("bis 31.03. und am 1.2. um", "bis 31 3 und am 1 2 um"),
            ("01.01.–31.12. 1.5.–31.12.", "1 1 31 12 1 5 31 12"),
            ("It costs €12.10. Or 3.50. See 7.2. So", "it costs euro 12.10 or 3.50 see 7.2 so"),
            ("1, 2 and 3. 25.", "1 2 and 3 25"),
            ("1,2,3 10:15:20 16:9", "1 2 3 10 15 20 16 9"),
            ("5km 1st a4 €25", "5 km 1 st a4 euro 25"),
            ("99 ampere 25 am Ort", "99 ampere 25 am ort"),
        ] {
            assert_eq!(join_words(written), expected, "{written}");
        }
    }

    #[test]
    fn number_words_are_their_digits() {
        for (written, expected) in [
            ("two Twelve thirteen thirty ninety", "2 12 13 30 90"),
            ("twenty-five twenty five twenty-\nfive twenty-one", "25 25 25 21"),
            ("thirty-day two-week six-pack", "30 day 2 week 6 pack"),
            ("zwei fünf zwölf dreißig fünfundzwanzig einundzwanzig", "2 5 12 30 25 21"),
            ("deux trois vingt-cinq soixante-douze dix-sept", "2 3 25 72 17"),
            ("tres veinte veinticinco veintidós treinta y cinco", "3 20 25 22 35"),
            ("a hundred, two hundred, two hundred and fifty", "a 100 200 250"),
            ("hundert zweihundert zweitausend two thousand 5 thousand", "100 200 2000 2000 5000"),
            ("a hundred and more", "a 100 and more"),
            // Articles, and words that are others in another language.
            ("one ein eine un una uno", "one ein eine un una uno"),
            ("once onze dos neuf sept a dozen seize", "once onze dos neuf sept a dozen seize"),
            ("ten-\nant often weight tension", "tenant often weight tension"),
        ] {
            assert_eq!(join_words(written), expected, "{written}");
        }
    }

    #[test]
    fn months_beside_a_day_or_a_year_have_their_number() {
        for (written, expected) in [
            ("March 31, 31 March 31. März", "3 march 31 31 3 march 31 3 märz"),
            ("31 mars; 1er août; 31 de marzo de 2026", "31 3 mars 1 er 8 août 31 de 3 marzo de 2026"),
            ("31st of March March 31st", "31 st of 3 march 3 march 31 st"),
            ("Dec 24 Sept 2026 3 Okt", "12 dec 24 9 sept 2026 3 10 okt"),
            ("March 2026 in March, im März", "3 march 2026 in march im märz"),
            (
                "May 5 5 May 5th of May 5. Mai 5 mai 2026",
                "5 may 5 5 5 may 5 th of 5 may 5 5 may 5 5 may 2026",
            ),
            ("Only 5 may carry over. You may 25", "only 5 may carry over you may 25"),
            ("May I? non mai", "may i non mai"),
        ] {
            assert_eq!(join_words(written), expected, "{written}");
        }
    }

    #[test]
    fn words_are_joined_where_lines_end() {
        for (written, expected) in [
            ("infor-\nmation infor-  \n mation", "information information"),
            ("infor\u{ad}mation infor\u{ad}\nmation", "information information"),
            ("well-known well-\nknown", "wellknown wellknown"),
            ("10-\n12 COVID-19", "10 12 covid 19"),
            ("Urlaubs- und Reisetage", "urlaubs und reisetage"),
            ("Don’t “fly” – ﬁle", "dont fly file"),
            ("-", ""),
        ] {
            assert_eq!(join_words(written), expected, "{written}");
        }
    }
}
