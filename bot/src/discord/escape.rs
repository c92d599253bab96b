//! Characters: what Discord would interpret is escaped or broken, so that a text is shown exactly as it is.
//!
//! A backslash disables Markdown's marks and is not shown. It does not stop `@everyone` from notifying or `<@1>` from
//! becoming a name, so these are broken by an invisible character.

/// Breaks what Discord would resolve; invisible to the reader.
pub(super) const BREAK: char = '\u{200B}';
/// Words that notify everyone. Discord requires no word end behind them.
const MASS_MENTIONS: [&str; 2] = ["everyone", "here"];

/// Escapes text outside code. `starts` says whether it begins a line (also after a mark that begins one).
pub(super) fn escape(text: &str, starts: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut starting = starts;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        if is_mark(c) || (starting && is_block_mark(c)) || (c == ':' && is_name_or_scheme(rest)) {
            out.push('\\');
        }
        if matches!(c, '.' | ')') && is_list_number(&text[..at], starts) {
            out.push('\\');
        }
        out.push(c);
        if (c == '<' && starts_discord_token(rest)) || (c == '@' && is_mass_mention(rest)) {
            out.push(BREAK);
        }
        starting = is_line_end(c) || (starting && (c.is_whitespace() || c == BREAK));
    }
    out
}

/// Returns whether a mark has a meaning anywhere in a line. `#` is one because a heading drops those at its end.
fn is_mark(c: char) -> bool {
    matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '#')
}

/// Returns whether a mark begins a list, a quote or small print.
fn is_block_mark(c: char) -> bool {
    matches!(c, '-' | '+' | '>')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\u{2028}' | '\u{2029}')
}

/// Returns whether a dot after this text makes it the number of a list item.
fn is_list_number(before: &str, starts: bool) -> bool {
    let (line, begins) = match before.rfind(is_line_end) {
        Some(at) => (before[at..].trim_start(), true),
        None => (before.trim_start(), starts),
    };
    begins && !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit())
}

/// Detects `:smile:`, which is a picture, and `https://`, a URL that would include the escapes and become a link.
fn is_name_or_scheme(after: &str) -> bool {
    let end = after.find(|c: char| !(c.is_alphanumeric() || "_+-~".contains(c))).unwrap_or(after.len());
    after.starts_with("//") || (end > 0 && after[end..].starts_with(':'))
}

/// `<@1>`, `<#1>`, `</ask:1>`, `<:a:1>`, `<a:b:1>`, `<t:1>`, `<id:browse>`, `<https://…>`.
fn starts_discord_token(after: &str) -> bool {
    let word = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    after.starts_with(['@', '#', '/', ':']) || (word > 0 && after[word..].starts_with(':'))
}

fn is_mass_mention(after: &str) -> bool {
    MASS_MENTIONS
        .iter()
        .any(|word| after.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)))
}

/// Breaks only mentions: for code, in which nothing else is resolved and every character counts when it is copied.
pub(super) fn break_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        out.push(c);
        let rest = &text[at + c.len_utf8()..];
        if (c == '@' && is_mass_mention(rest)) || (c == '<' && rest.starts_with('@')) {
            out.push(BREAK);
        }
    }
    out
}

/// Formats text as inline code. Discord has no escapes in it, so backticks are separated from each other and from the
/// surrounding ones.
pub(super) fn inline_code(text: &str) -> String {
    let text = break_mentions(&text.replace('\n', " "));
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let start = if text.starts_with('`') { BREAK.to_string() } else { String::new() };
    format!("``{start}{}``", text.replace('`', &format!("`{BREAK}")))
}

/// Formats text as a code block. Longer fences do not exist, so a run of backticks that would end it is broken.
pub(super) fn code_block(text: &str, language: &str) -> String {
    let mut inner = break_mentions(text);
    // Pairs first: what remains of three is two, separated from the third.
    while inner.contains("```") {
        inner = inner.replace("```", &format!("``{BREAK}`"));
    }
    // Discord drops line ends after the opening fence.
    let start = if inner.starts_with('\n') { BREAK.to_string() } else { String::new() };
    format!("```{language}\n{start}{inner}\n```")
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
