//! Dates in one form, as the numbers of their day, month and year: "31 March", "31. März" and "31.03." have 31 and 3.

/// How English, German, French and Spanish name the months; the last names are short ones.
const MONTHS: [&str; 12] = [
    "january januar jänner janvier enero jan",
    "february februar février febrero feb",
    "march märz mars marzo mar",
    "april avril abril apr",
    "May MAY mai mayo",
    "june juni juin junio jun",
    "july juli juillet julio jul",
    "august août agosto aug",
    "september septembre septiembre sept sep",
    "october oktober octobre octubre oct okt",
    "november novembre noviembre nov",
    "december dezember décembre diciembre dec dez",
];
/// What stands between a day and its month, or a month and its year: "31st of March", "marzo de 2026".
const LINKS: [&str; 7] = ["st", "nd", "rd", "th", "er", "of", "de"];
/// Behind these "1.2." is a date.
const BEFORE_DAYS: [&str; 10] = ["am", "ab", "bis", "dem", "den", "der", "seit", "vom", "zum", "und"];

/// Puts its number before the name of a month that has a day or a year beside it. The verb "may" has a small letter, so
/// that word comes as it was written.
pub(super) fn number_months(words: Vec<String>) -> Vec<String> {
    let mut numbered = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let month = month_number(word).filter(|_| has_day_or_year(&words, at));
        numbered.extend(month.map(|month| month.to_string()));
        // Lest the month be the Italian "never".
        let is_mai = month.is_some() && word == "mai";
        numbered.push(if is_mai { "may".to_owned() } else { word.to_lowercase() });
    }
    numbered
}

fn month_number(name: &str) -> Option<usize> {
    let has_name = |names: &&str| names.split(' ').any(|one| one == name);
    MONTHS.iter().position(has_name).map(|at| at + 1)
}

/// Returns whether a word is the month whose number stands before it.
pub(super) fn is_numbered_month(word: &str, number: &str) -> bool {
    let month = if word == "may" { Some(5) } else { month_number(word) };
    month.is_some_and(|month| month.to_string() == number)
}

fn has_day_or_year(words: &[String], at: usize) -> bool {
    let is_link = |word: &&String| LINKS.contains(&word.as_str());
    let before = words[..at].iter().rev().enumerate().find(|(n, word)| *n > 1 || !is_link(word));
    let after = words[at + 1..].iter().enumerate().find(|(n, word)| *n > 0 || !is_link(word));
    let number = |word: Option<(usize, &String)>| word.and_then(|(_, word)| word.parse::<u32>().ok());
    let is_day = |number: u32| (1..=31).contains(&number);
    number(before).is_some_and(is_day)
        || number(after).is_some_and(|number| is_day(number) || (1900..2100).contains(&number))
}

/// Returns the numbers of "31.03." or "31.03.26", written with the words and signs around it. "12.10." may be an amount at
/// the end of a sentence, so something has to tell that it is a day.
pub(super) fn parse_day(
    written: &str,
    chars: &[char],
    from: usize,
    before: Option<&String>,
) -> Option<Vec<String>> {
    let groups: Vec<&str> = written.split('.').collect();
    let numbers: Vec<u32> = groups.iter().map(|group| group.parse().ok()).collect::<Option<_>>()?;
    let are_pairs = groups.iter().all(|group| group.len() == 2);
    match numbers.as_slice() {
        [1..=31, 1..=12, _] if are_pairs => {
            Some(vec![numbers[0].to_string(), numbers[1].to_string(), format!("20{}", groups[2])])
        }
        [day @ 1..=31, month @ 1..=12] if groups[1].len() <= 2 => {
            let after = chars[from + written.len()..].strip_prefix(&['.'])?;
            let next = after.iter().find(|c| **c != ' ').copied().unwrap_or('\n');
            let last = chars[..from].iter().rev().find(|c| **c != ' ').copied().unwrap_or('\n');
            let is_dash = |c: char| ['-', '–', '—'].contains(&c);
            let is_told = groups[1].starts_with('0')
                || before.is_some_and(|word| BEFORE_DAYS.contains(&word.as_str()))
                || is_dash(next)
                || is_dash(last)
                || are_pairs && next.is_lowercase();
            let is_amount = ['€', '$', '£'].contains(&last);
            (is_told && !is_amount).then(|| vec![day.to_string(), month.to_string()])
        }
        _ => None,
    }
}
