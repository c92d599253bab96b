//! Splits text into words, numbers and signs. What a reader cannot see or distinguish (zero-width characters, similar
//! digits of other scripts) is rejected, because a person approves what they see.

use super::TimeError;

/// No phrase about a time needs more.
const MAX_INPUT_CHARS: usize = 200;

/// A piece of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, in lower case.
    Word(String),
    /// The value, and the number of digits (0 if written in letters).
    Number(i64, usize),
    /// Anything else.
    Sign(char),
    /// `Europe/Berlin`
    Zone(String),
}

/// Replaces typographic signs with the usual ones.
pub(super) fn normalize(text: &str) -> Result<String, TimeError> {
    let text = text.trim();
    if text.chars().count() > MAX_INPUT_CHARS {
        return Err(TimeError::not_understood("That's too long for a time. Try “Friday at 15:00”."));
    }
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '–' | '—' | '−' | '‐' | '‑' => clean.push('-'),
            '’' | '‘' => clean.push('\''),
            '\u{a0}' | '\u{202f}' | '\u{2009}' | '\t' | '\n' | '\r' => clean.push(' '),
            '(' | ')' | '“' | '”' | '"' => clean.push(' '),
            c if c.is_ascii() && !c.is_ascii_control() => clean.push(c),
            c if c.is_alphabetic() => clean.push(c),
            c if c.is_numeric() => {
                return Err(TimeError::not_understood("Please use plain digits (0 to 9) for a time."));
            }
            _ => {
                return Err(TimeError::not_understood(
                    "Some characters in that aren't part of a time I can read.",
                ));
            }
        }
    }
    let clean = clean.trim();
    if clean.is_empty() {
        Err(TimeError::not_understood("I can't tell when that is."))
    } else {
        Ok(clean.to_owned())
    }
}

/// Splits normalized text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, TimeError> {
    let mut tokens = Vec::new();
    for chunk in text.split_whitespace() {
        let chunk = chunk.trim_end_matches([',', ';', '!', '?']);
        let named = chunk.starts_with(char::is_alphabetic);
        if named && chunk.contains('/') {
            tokens.push(Token::Zone(chunk.to_owned()));
            continue;
        }
        let chunk =
            chunk.to_lowercase().replace("p.m.", "pm").replace("a.m.", "am").replace("o'clock", "oclock");
        tokenize_chunk(&chunk, &mut tokens)?;
    }
    Ok(tokens)
}

fn tokenize_chunk(chunk: &str, tokens: &mut Vec<Token>) -> Result<(), TimeError> {
    let mut rest = chunk;
    while let Some(first) = rest.chars().next() {
        let of = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let end = if first.is_ascii_digit() {
            of(|c| c.is_ascii_digit())
        } else if first.is_alphabetic() {
            of(|c| c.is_alphabetic() || c == '\'')
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at(end);
        tokens.push(match first {
            c if c.is_ascii_digit() => number(piece)?,
            c if c.is_alphabetic() => word(piece.trim_end_matches("'s").trim_end_matches('\'')),
            c => Token::Sign(c),
        });
        rest = after;
    }
    Ok(())
}

fn number(digits: &str) -> Result<Token, TimeError> {
    match digits.parse() {
        Ok(value) if digits.len() <= 6 => Ok(Token::Number(value, digits.len())),
        _ => Err(TimeError::not_understood(format!("“{digits}” isn't a time."))),
    }
}

fn word(word: &str) -> Token {
    let numbers =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let tens = [("fifteen", 15), ("twenty", 20), ("thirty", 30), ("forty", 40), ("fifty", 50), ("sixty", 60)];
    let small = numbers.iter().position(|n| *n == word).and_then(|at| i64::try_from(at + 1).ok());
    let large = tens.iter().find(|(n, _)| *n == word).map(|(_, value)| *value);
    match small.or(large) {
        Some(value) => Token::Number(value, 0),
        None => Token::Word(word.to_owned()),
    }
}
