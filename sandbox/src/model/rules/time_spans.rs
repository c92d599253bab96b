//! Finds the words that say when something is and how long it takes. They are passed on unchanged; the tools interpret
//! them.

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const BEGINNINGS: [&str; 8] = ["today", "tomorrow", "tonight", "next", "this", "noon", "midnight", "now"];
/// Words that end a time.
const ENDS: [&str; 9] = ["about", "for", "regarding", "re", "with", "because", "called", "named", "titled"];
const UNITS: [(&str, u64); 8] = [
    ("minutes", 1),
    ("minute", 1),
    ("mins", 1),
    ("min", 1),
    ("hours", 60),
    ("hour", 60),
    ("hrs", 60),
    ("h", 60),
];

/// Returns the text before a time, the time, and the text after it; all text is before if no time is named.
pub(super) fn around_time(text: &str) -> (&str, &str, &str) {
    let words: Vec<(usize, &str)> = words_with_offsets(text).collect();
    let Some(first) = (0..words.len()).find(|at| starts_with_time(&words[*at..])) else {
        return (text.trim(), "", "");
    };
    let last = words[first..].iter().position(|(_, word)| ENDS.contains(&normalize_word(word).as_str()));
    // "on" adds nothing.
    let named = if normalize_word(words[first].1) == "on" { first + 1 } else { first };
    let (from, to) = (words[first].0, last.map_or(text.len(), |last| words[first + last].0));
    let time = text[words[named].0..to].trim().trim_matches(',');
    (text[..from].trim(), time, text[to..].trim())
}

/// Returns whether the text begins with a time.
pub(super) fn is_time(text: &str) -> bool {
    starts_with_time(&words_with_offsets(text).collect::<Vec<_>>())
}

/// Returns whether the text names a day, not only a time of day.
pub(super) fn names_day(time: &str) -> bool {
    let is_day = |word: &str| {
        let known = ["today", "tomorrow", "tonight", "next", "this", "week", "day"].contains(&word);
        known
            || matches_calendar_name(&DAYS, word)
            || matches_calendar_name(&MONTHS, word)
            || word.contains(['-', '/', '.'])
    };
    words_with_offsets(time).any(|(_, word)| is_day(&normalize_word(word)))
}

/// Returns whether the text begins like "Fri 6 Mar", as Nod writes days.
pub(super) fn is_formatted_day(text: &str) -> bool {
    let mut words = text.split(' ');
    let day = words.next().unwrap_or_default().to_lowercase();
    DAYS.contains(&day.as_str()) && words.next().is_some_and(|date| date.parse::<u8>().is_ok())
}

/// Splits "Friday at 3 pm" into day and time of day, each if named.
pub(super) fn split_day_and_hour(time: &str) -> (Option<String>, Option<String>) {
    let words: Vec<&str> = time.split_whitespace().map(|word| word.trim_matches([',', '.'])).collect();
    let word = |at: usize| words.get(at).map(|word| word.to_lowercase()).unwrap_or_default();
    let half = |at: usize| ["am", "pm"].contains(&word(at).as_str());
    // "12 March" begins with a day.
    let is_hour = |at: &usize| {
        let after = at.checked_sub(1).map(word).unwrap_or_default();
        let is_said =
            word(*at).parse::<u8>().is_err() || half(at + 1) || ["at", "from"].contains(&after.as_str());
        is_said && !hours(&word(*at)).is_empty()
    };
    let Some(at) = (0..words.len()).find(is_hour) else { return (extract_day(&words), None) };
    let after = if half(at + 1) { at + 2 } else { at + 1 };
    (extract_day(&[&words[..at], &words[after..]].concat()), Some(word(at) + &words[at + 1..after].concat()))
}

fn extract_day(words: &[&str]) -> Option<String> {
    let more = ["at", "on", "from", "the", "meeting", "event", "one"];
    let day: Vec<&str> =
        words.iter().copied().filter(|word| !more.contains(&word.to_lowercase().as_str())).collect();
    Some(day.join(" ")).filter(|day| names_day(day))
}

/// Returns the clock times that "3", "3pm" or "15:00" can mean; empty if it is not a time of day.
pub(super) fn hours(hour: &str) -> Vec<String> {
    let end = hour.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(hour.len());
    let (clock, half) = hour.split_at(end);
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "00"));
    let is_minute = minute.len() == 2 && minute.parse().is_ok_and(|minute: u8| minute < 60);
    let all: &[u8] = match (hour.parse::<u8>(), half) {
        (Ok(12), "am") => &[0],
        (Ok(12), "pm") => &[12],
        (Ok(hour @ 1..=11), "am") => &[hour],
        (Ok(hour @ 1..=11), "pm") => &[hour + 12],
        // "3" and "3:00" can be either half of the day; "03:00" cannot.
        (Ok(hour @ 1..=11), "") if !clock.starts_with('0') => &[hour, hour + 12],
        (Ok(hour @ 0..=23), "") => &[hour],
        (Err(_), "noon") => &[12],
        (Err(_), "midnight") => &[0],
        _ => &[],
    };
    all.iter().filter(|_| is_minute).map(|hour| format!("{hour:02}:{minute}")).collect()
}

/// Parses "for an hour", "45 minutes": returns the minutes, and the text without them.
pub(super) fn split_off_duration(text: &str) -> (Option<u64>, String) {
    let words: Vec<(usize, &str)> = words_with_offsets(text).collect();
    for at in 0..words.len() {
        let before = at.checked_sub(1).map(|before| normalize_word(words[before].1)).unwrap_or_default();
        // "in an hour" is a time, not a duration.
        let Some((minutes, taken)) = parse_duration(&words[at..]).filter(|_| before != "in") else {
            continue;
        };
        let first = if before == "for" { at - 1 } else { at };
        let rest = words.get(at + taken).map_or("", |(after, _)| &text[*after..]);
        return (Some(minutes), format!("{} {rest}", text[..words[first].0].trim_end()).trim().to_owned());
    }
    (None, text.to_owned())
}

/// Returns the minutes, and how many words express them.
fn parse_duration(words: &[(usize, &str)]) -> Option<(u64, usize)> {
    let word = |at: usize| words.get(at).map(|(_, word)| normalize_word(word)).unwrap_or_default();
    let unit = |word: &str| UNITS.iter().find(|(name, _)| *name == word).map(|(_, minutes)| *minutes);
    match (word(0).as_str(), word(1).as_str(), word(2).as_str()) {
        ("half", "an", "hour") => Some((30, 3)),
        ("a", "half", "hour") => Some((30, 3)),
        ("an", "hour", "and") if word(3) == "a" && word(4) == "half" => Some((90, 5)),
        ("an" | "one", "hour", _) => Some((60, 2)),
        ("two", "hours", _) => Some((120, 2)),
        (first, second, _) => {
            let joined = first.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0);
            match joined {
                Some(at) => {
                    let (number, name) = first.split_at(at);
                    Some((number.parse::<u64>().ok()? * unit(name.trim_start_matches('-'))?, 1))
                }
                None => Some((first.parse::<u64>().ok()? * unit(second)?, 2)),
            }
        }
    }
}

fn starts_with_time(words: &[(usize, &str)]) -> bool {
    let word = |at: usize| words.get(at).map(|(_, word)| normalize_word(word)).unwrap_or_default();
    let is_date = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || matches_calendar_name(&DAYS, word)
            || matches_calendar_name(&MONTHS, word)
            || BEGINNINGS.contains(&word)
    };
    let first = word(0);
    match first.as_str() {
        "on" | "at" | "from" | "between" | "the" => is_date(&word(1)) || (first != "the" && word(1) == "the"),
        "in" => ["a", "an", "two", "three", "the"].contains(&word(1).as_str()) || is_date(&word(1)),
        _ => is_date(&first),
    }
}

/// Matches "Fri", "Friday", "fridays": names and their common forms, not "friend" or "market".
fn matches_calendar_name(names: &[&str], word: &str) -> bool {
    const TAILS: [&str; 20] = [
        "", "s", "day", "days", "sday", "nesday", "rsday", "rs", "r", "urday", "uary", "ruary", "ch", "il",
        "e", "y", "ust", "tember", "ober", "ember",
    ];
    names.iter().any(|name| word.strip_prefix(name).is_some_and(|tail| TAILS.contains(&tail)))
}

fn normalize_word(word: &str) -> String {
    word.trim_matches([',', '.', '?', '!', ';']).to_lowercase()
}

/// Returns the words, each with its offset.
fn words_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}
