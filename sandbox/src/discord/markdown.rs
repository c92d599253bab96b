//! Discord's Markdown as a user reads it: escapes removed, mentions by name.

use chrono::DateTime;

use super::world::World;

/// How much of the notation is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// Only escapes and mentions.
    Names,
    /// Asterisks, code fences and link brackets too.
    All,
}

impl World {
    /// Renders what Nod wrote, without its notation.
    pub(super) fn read(&self, text: &str) -> String {
        self.lines(text, Undo::All)
    }

    /// Renders what users typed, as they typed it.
    pub(super) fn typed_text(&self, text: &str) -> String {
        self.lines(text, Undo::Names)
    }

    fn lines(&self, text: &str, undo: Undo) -> String {
        let (mut out, mut fenced) = (Vec::new(), false);
        for line in text.split('\n') {
            if let Some(shown) = parse_code_fence(line, &mut fenced) {
                match undo {
                    Undo::Names => out.push(line.to_owned()),
                    Undo::All => out.extend(shown),
                }
            } else if fenced {
                out.push(line.to_owned());
            } else {
                out.push(self.line(line, undo));
            }
        }
        out.join("\n")
    }

    fn line(&self, line: &str, undo: Undo) -> String {
        if let Some(note) = line.strip_prefix("-# ") {
            return format!("· {}", self.inline(note, undo));
        }
        if undo == Undo::All {
            for mark in ["### ", "## ", "# "] {
                if let Some(title) = line.strip_prefix(mark) {
                    return format!("# {}", self.inline(title, undo));
                }
            }
        }
        let (indent, words) = line.split_at(line.len() - line.trim_start().len());
        if let Some(item) = words.strip_prefix("- ") {
            return format!("{indent}• {}", self.inline(item, undo));
        }
        self.inline(line, undo)
    }

    fn inline(&self, line: &str, undo: Undo) -> String {
        let (mut out, mut rest) = (String::new(), line);
        while let Some(first) = rest.chars().next() {
            let (shown, taken) =
                self.render_leading_notation(rest, undo).unwrap_or((first.to_string(), first.len_utf8()));
            out.push_str(&shown);
            rest = &rest[taken..];
        }
        out
    }

    /// Returns the rendered notation at the start of `rest`, and its length.
    fn render_leading_notation(&self, rest: &str, undo: Undo) -> Option<(String, usize)> {
        if let Some(after) = rest.strip_prefix('\\') {
            let escaped = after.chars().next().filter(char::is_ascii_punctuation)?;
            return Some((escaped.to_string(), 2));
        }
        if rest.starts_with('<') {
            let end = rest.find('>')?;
            return Some((self.token(&rest[1..end])?, end + 1));
        }
        if undo == Undo::Names {
            return None;
        }
        if rest.starts_with("**") {
            return Some((String::new(), 2));
        }
        if let Some((words, _)) = rest.strip_prefix('*').and_then(|after| after.split_once('*'))
            && !words.starts_with(' ')
        {
            return Some((self.inline(words, undo), words.len() + 2));
        }
        let (label, after) = rest.strip_prefix('[')?.split_once("](")?;
        let (url, _) = after.split_once(')')?;
        let taken = label.len() + url.len() + 4;
        let url = url.trim_start_matches('<').trim_end_matches('>');
        Some((format!("{} ({url})", self.inline(label, undo)), taken))
    }

    /// Renders `@id`, `#id`, `t:unix:f` or a link between angle brackets.
    fn token(&self, inside: &str) -> Option<String> {
        if let Some(role) = inside.strip_prefix("@&") {
            return Some(format!("@role {role}"));
        }
        if let Some(user) = inside.strip_prefix('@') {
            return Some(format!("@{}", self.name(user.trim_start_matches('!'))));
        }
        if let Some(channel) = inside.strip_prefix('#') {
            let name = self.channels.get(channel).map_or(channel, |c| &c.name);
            return Some(format!("#{name}"));
        }
        if let Some(time) = inside.strip_prefix("t:") {
            let (seconds, style) = time.split_once(':').unwrap_or((time, "f"));
            let at = DateTime::from_timestamp(seconds.parse().ok()?, 0)?;
            let format = match style {
                "t" => "%H:%M UTC",
                // A relative time changes as it is read, so the moment itself stands for it.
                "f" | "F" | "R" => "%a %-d %b %Y, %H:%M UTC",
                // Other styles are left as written; how Discord shows them is not known here.
                _ => return None,
            };
            return Some(at.format(format).to_string());
        }
        (inside.starts_with("https://") || inside.starts_with("http://")).then(|| inside.to_owned())
    }
}

/// Returns `Some` if a line opens or closes a code block, with the part of it that is text.
fn parse_code_fence(line: &str, fenced: &mut bool) -> Option<Option<String>> {
    if *fenced {
        let text = line.strip_suffix("```")?;
        *fenced = false;
        return Some(Some(text.to_owned()).filter(|t| !t.is_empty()));
    }
    let rest = line.strip_prefix("```")?;
    if let Some(text) = rest.strip_suffix("```") {
        return Some(Some(text.to_owned()));
    }
    *fenced = true;
    // A single word is the language of the block.
    let language = rest.chars().all(|c| c.is_ascii_alphanumeric());
    Some(Some(rest.to_owned()).filter(|_| !language))
}
