//! Hides reasoning that is in the text itself, between tags: no user reads it.

/// Closes reasoning without an opening tag, because the prompt's template contained that tag.
pub(super) const CLOSE: &str = "</think>";

/// The tags that mark reasoning at the beginning of an answer.
const TAGS: [(&str, &str); 4] = [
    ("<think>", CLOSE),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];

/// Hides reasoning while an answer is streamed.
#[derive(Debug)]
pub(super) enum ReasoningFilter {
    /// All text so far might be the beginning of a tag.
    Undecided(String),
    /// Within reasoning: its text so far, its closing tag, and whether a tag opened it.
    Reasoning { held: String, end: &'static str, opened: bool },
    /// In the answer.
    Visible,
}

impl Default for ReasoningFilter {
    fn default() -> Self {
        Self::new(false)
    }
}

impl ReasoningFilter {
    /// Creates it; `leading_reasoning` if reasoning comes first without an opening tag.
    pub(super) fn new(aloud: bool) -> Self {
        if aloud {
            Self::Reasoning { held: String::new(), end: CLOSE, opened: false }
        } else {
            Self::Undecided(String::new())
        }
    }

    /// Returns the visible text of the next piece.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut held = match std::mem::replace(self, Self::Visible) {
            Self::Visible => return piece.to_owned(),
            Self::Undecided(held) => held,
            Self::Reasoning { mut held, end, opened } => {
                held.push_str(piece);
                let Some((_, after)) = held.split_once(end) else {
                    *self = Self::Reasoning { held, end, opened };
                    return String::new();
                };
                *self = Self::Undecided(String::new());
                let after = after.to_owned();
                return self.push(&after);
            }
        };
        held.push_str(piece);
        let begins = held.trim_start();
        if let Some((open, end)) = TAGS.iter().find(|(open, _)| begins.starts_with(open)) {
            let rest = begins[open.len()..].to_owned();
            *self = Self::Reasoning { held: String::new(), end, opened: true };
            return self.push(&rest);
        }
        if TAGS.iter().any(|(open, _)| open.starts_with(begins)) {
            *self = Self::Undecided(held);
            return String::new();
        }
        begins.to_owned()
    }

    /// Returns whether text arrived, but not the closing tag of the expected reasoning.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self, Self::Reasoning { held, opened: false, .. } if !held.is_empty())
    }

    /// Returns the hidden text that turned out not to be reasoning, after the last piece.
    pub(super) fn held_text(&self) -> &str {
        match self {
            Self::Undecided(held) | Self::Reasoning { held, opened: false, .. } => held,
            Self::Reasoning { .. } | Self::Visible => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(aloud: bool, text: &str) -> String {
        let mut veil = ReasoningFilter::new(aloud);
        let mut shown = String::new();
        for c in text.chars() {
            shown.push_str(&veil.push(&c.to_string()));
        }
        shown + veil.held_text()
    }

    #[test]
    fn reasoning_is_filtered_at_any_chunk_boundary() {
        assert_eq!(read(false, "<think>hm, <b>\n</think>\n\nHello."), "Hello.");
        assert_eq!(read(false, " <thought>a</thought><think>b</think> Hi"), "Hi");
        assert_eq!(read(false, "What <think> means"), "What <think> means");
        assert_eq!(read(false, "<thin ice>"), "<thin ice>");
        assert_eq!(read(false, "<think>never ended"), "");
        assert_eq!(read(false, "<"), "<");
        assert_eq!(read(true, "hm\n</think>\nHello."), "Hello.");
        assert_eq!(read(true, "No thought at all."), "No thought at all.");
    }
}
