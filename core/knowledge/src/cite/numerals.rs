//! Numbers that are written as words: "thirty", "fünfundzwanzig". English, German, French and Spanish.
//!
//! "One" and its like are articles. What is another word in a language that is read here stays a word: Dutch "onze" (our),
//! Portuguese "dos" (of the), French "neuf" (new) and "sept" (an English month), English "once" and "seize".

/// From two to nineteen.
const SMALL: [&str; 18] = [
    "two zwei deux",
    "three drei trois tres",
    "four vier quatre cuatro",
    "five fünf cinq cinco",
    "six sechs seis",
    "seven sieben siete",
    "eight acht huit ocho",
    "nine neun nueve",
    "ten zehn dix diez",
    "eleven elf",
    "twelve zwölf douze doce",
    "thirteen dreizehn treize trece",
    "fourteen vierzehn quatorze catorce",
    "fifteen fünfzehn quinze quince",
    "sixteen sechzehn dieciséis",
    "seventeen siebzehn dixsept diecisiete",
    "eighteen achtzehn dixhuit dieciocho",
    "nineteen neunzehn dixneuf diecinueve",
];
/// From twenty to ninety.
const TENS: [&str; 8] = [
    "twenty zwanzig vingt veinte",
    "thirty dreißig dreissig trente treinta",
    "forty vierzig quarante cuarenta",
    "fifty fünfzig cinquante cincuenta",
    "sixty sechzig soixante sesenta",
    "seventy siebzig setenta",
    "eighty achtzig ochenta",
    "ninety neunzig noventa",
];
/// What follows a ten in one word, though it is no number by itself.
const ENDINGS: [(&str, u32); 6] = [("one", 1), ("ein", 1), ("uno", 1), ("dós", 2), ("trés", 3), ("séis", 6)];
const SCALES: [(&str, u32); 4] = [("hundred", 100), ("hundert", 100), ("thousand", 1000), ("tausend", 1000)];

/// Returns the number that one word is.
pub(super) fn parse_numeral(word: &str) -> Option<u32> {
    parse_small(word).or_else(|| parse_ten(word)).or_else(|| parse_compound(word))
}

fn parse_small(word: &str) -> Option<u32> {
    SMALL.iter().zip(2..).find(|(names, _)| has_name(names, word)).map(|(_, number)| number)
}

fn parse_ten(word: &str) -> Option<u32> {
    TENS.iter().zip(2..).find(|(names, _)| has_name(names, word)).map(|(_, tens)| 10 * tens)
}

fn has_name(names: &str, word: &str) -> bool {
    names.split(' ').any(|name| name == word)
}

/// Parses "twentyfive", "fünfundzwanzig", "veinticinco", "zweihundert".
fn parse_compound(word: &str) -> Option<u32> {
    let ending = |word: &str| {
        let listed = ENDINGS.iter().find(|(ending, _)| *ending == word).map(|(_, number)| *number);
        listed.or_else(|| parse_small(word))
    };
    let in_tens = |(names, tens): (&&str, u32)| {
        names.split(' ').find_map(|name| {
            let rest = word.strip_prefix(name).or_else(|| word.strip_suffix(name)?.strip_suffix("und"));
            Some(10 * tens + ending(rest?)?)
        })
    };
    let scaled = SCALES.iter().find_map(|(name, scale)| Some(scale * parse_small(word.strip_suffix(name)?)?));
    let compound = || TENS.iter().zip(2..).find_map(in_tens);
    scaled.or_else(|| word.strip_prefix("veinti").and_then(ending).map(|rest| 20 + rest)).or_else(compound)
}

/// Replaces the numbers that are written as words by their digits.
pub(super) fn replace_numerals(words: Vec<String>) -> Vec<String> {
    let mut replaced = Vec::with_capacity(words.len());
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        let (word, length) =
            take_numeral(rest).map_or((word.clone(), 1), |(n, length)| (n.to_string(), length));
        replaced.push(word);
        rest = after.get(length - 1..).unwrap_or_default();
    }
    replaced
}

/// Reads a number at the beginning, and returns how many words it takes.
fn take_numeral(words: &[String]) -> Option<(u32, usize)> {
    let scale_at = |at: usize| {
        let word = words.get(at)?;
        SCALES.iter().find(|(name, _)| name == word).map(|(_, scale)| *scale)
    };
    let spelled = take_hundredth(words);
    // "5 thousand", and "a hundred".
    let digits = || words.first()?.parse().ok().map(|number| (number, 1));
    let (first, length) = spelled.or_else(digits).unwrap_or((1, 0));
    let Some(scale) = scale_at(length) else { return spelled };
    let (number, length) = (u32::checked_mul(first, scale)?, length + 1);
    // "Two hundred and fifty", but not "a hundred, two hundred".
    let and = usize::from(words.get(length).is_some_and(|word| word == "and"));
    let rest = words.get(length + and..).and_then(take_hundredth);
    let rest = rest.filter(|(rest, more)| *rest < scale && scale_at(length + and + more).is_none());
    Some(rest.map_or((number, length), |(rest, more)| (number.saturating_add(rest), length + and + more)))
}

/// Reads a number below a hundred, or one that is a single word: "twenty five", "treinta y cinco".
fn take_hundredth(words: &[String]) -> Option<(u32, usize)> {
    let number = parse_numeral(words.first()?)?;
    let and = usize::from(words.get(1).is_some_and(|word| word == "y"));
    let unit = words.get(1 + and).and_then(|word| parse_small(word)).filter(|unit| *unit < 10);
    Some(match unit.filter(|_| number < 100 && number % 10 == 0 && number >= 20) {
        Some(unit) => (number + unit, 2 + and),
        None => (number, 1),
    })
}
