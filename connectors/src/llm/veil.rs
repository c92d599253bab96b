//! Thoughts that stand in the text itself, between tags: nobody reads them.

/// What ends a thought that nothing opened, since the prompt's template opened it.
pub(super) const CLOSE: &str = "</think>";

/// How thoughts are marked at the beginning of an answer.
const TAGS: [(&str, &str); 4] = [
    ("<think>", CLOSE),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];

/// Hides thoughts while an answer comes in pieces.
#[derive(Debug)]
pub(super) enum Veil {
    /// Nothing but what may become a tag has come.
    Beginning(String),
    /// In a thought; what has come of it, its end, and whether a tag opened it.
    Hidden { held: String, end: &'static str, opened: bool },
    /// In the answer.
    Lifted,
}

impl Default for Veil {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Veil {
    /// `aloud` where a thought comes first without a tag before it.
    pub(super) fn new(aloud: bool) -> Self {
        if aloud {
            Self::Hidden { held: String::new(), end: CLOSE, opened: false }
        } else {
            Self::Beginning(String::new())
        }
    }

    /// What of the next piece may be read.
    pub(super) fn lift(&mut self, piece: &str) -> String {
        let mut held = match std::mem::replace(self, Self::Lifted) {
            Self::Lifted => return piece.to_owned(),
            Self::Beginning(held) => held,
            Self::Hidden { mut held, end, opened } => {
                held.push_str(piece);
                let Some((_, after)) = held.split_once(end) else {
                    *self = Self::Hidden { held, end, opened };
                    return String::new();
                };
                *self = Self::Beginning(String::new());
                let after = after.to_owned();
                return self.lift(&after);
            }
        };
        held.push_str(piece);
        let begins = held.trim_start();
        if let Some((open, end)) = TAGS.iter().find(|(open, _)| begins.starts_with(open)) {
            let rest = begins[open.len()..].to_owned();
            *self = Self::Hidden { held: String::new(), end, opened: true };
            return self.lift(&rest);
        }
        if TAGS.iter().any(|(open, _)| open.starts_with(begins)) {
            *self = Self::Beginning(held);
            return String::new();
        }
        begins.to_owned()
    }

    /// Words came, and the end of the thought before them has not.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self, Self::Hidden { held, opened: false, .. } if !held.is_empty())
    }

    /// What was held back and turned out to be no thought, once nothing more comes.
    pub(super) fn rest(&self) -> &str {
        match self {
            Self::Beginning(held) | Self::Hidden { held, opened: false, .. } => held,
            Self::Hidden { .. } | Self::Lifted => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(aloud: bool, text: &str) -> String {
        let mut veil = Veil::new(aloud);
        let mut shown = String::new();
        for c in text.chars() {
            shown.push_str(&veil.lift(&c.to_string()));
        }
        shown + veil.rest()
    }

    #[test]
    fn thoughts_are_hidden_however_they_are_cut() {
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
