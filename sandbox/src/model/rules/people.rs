//! Finds the people that a sentence names: email addresses, mentions, and words that look like names.

/// Words that are never names, whatever precedes them.
pub(super) const NON_NAMES: [&str; 43] = [
    "i",
    "i'm",
    "i’m",
    "i'll",
    "i’ll",
    "i've",
    "i’ve",
    "i'd",
    "we",
    "we're",
    "we’re",
    "my",
    "our",
    "the",
    "that",
    "saying",
    "say",
    "about",
    "re",
    "regarding",
    "a",
    "an",
    "it",
    "it's",
    "there",
    "he",
    "she",
    "they",
    "you",
    "to",
    "whether",
    "if",
    "with",
    "this",
    "me",
    "us",
    "him",
    "her",
    "them",
    "from",
    "for",
    "on",
    "in",
];

/// Parses names, addresses and mentions at the beginning, joined by commas and "and"; returns them and the rest.
pub(super) fn recipients(text: &str) -> (Vec<String>, &str) {
    let mut all: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some((one, after)) = recipient(rest, all.is_empty()) {
        all.push(one);
        rest = after;
        let joined =
            ["and ", "& "].iter().find_map(|word| after.trim_start_matches([',', ' ']).strip_prefix(word));
        let comma = after.strip_prefix(',').map(str::trim_start);
        match joined.or(comma) {
            Some(next) if recipient(next, false).is_some() => rest = next,
            _ => break,
        }
    }
    (all, rest)
}

fn recipient(text: &str, first: bool) -> Option<(String, &str)> {
    let (word, mut rest) = word(text)?;
    let is_sure = |word: &str| word.contains('@') || word.starts_with(char::is_uppercase);
    let is_name = |word: &str| !NON_NAMES.contains(&word.to_lowercase().as_str());
    if !is_name(word) || !(first || is_sure(word)) {
        return None;
    }
    let mut name = word.to_owned();
    // "Bo Chen": surnames follow, while the words look like names.
    while !name.contains('@') {
        match self::word(rest) {
            Some((next, after))
                if next.starts_with(char::is_uppercase) && is_name(next) && rest.starts_with(' ') =>
            {
                name = format!("{name} {next}");
                rest = after;
            }
            _ => break,
        }
    }
    Some((name, rest))
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_whitespace() || ",:;()".contains(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then_some((word, rest))
}
