//! The part of a prompt that is the same in every turn, and what makes it worth knowing apart: it is stored once.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A text of the program that many prompts contain. It is stored once, for all organisations, so no person's words may
/// be in it: it is made of constants, or of the schema of a tool or an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct PromptText {
    digest: Uuid,
    body: String,
}

impl PromptText {
    /// Joins texts of the program; what was said or read has no static lifetime.
    #[must_use]
    pub fn new(parts: &[&'static str]) -> Arc<Self> {
        Self::with_digest(parts.concat())
    }

    /// Writes a schema, a tool's definition or a list of digests as JSON.
    #[must_use]
    pub fn from_json(value: &Value) -> Arc<Self> {
        Self::with_digest(value.to_string())
    }

    fn with_digest(body: String) -> Arc<Self> {
        let mut digest = [0; 16];
        digest.iter_mut().zip(Sha256::digest(&body)).for_each(|(byte, of_body)| *byte = of_body);
        Arc::new(Self { digest: Uuid::from_bytes(digest), body })
    }

    /// Returns the first 16 bytes of the text's SHA-256, by which records name it.
    #[must_use]
    pub fn digest(&self) -> Uuid {
        self.digest
    }

    /// Returns the text.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// The system text of a prompt: first what all prompts of its kind have in common, so that a provider can cache the
/// prefix, then what only this one says.
#[derive(Debug, Clone)]
pub struct SystemPrompt {
    fixed: Arc<PromptText>,
    own: String,
}

impl SystemPrompt {
    /// Creates a system text of its two parts.
    #[must_use]
    pub fn new(fixed: Arc<PromptText>, own: String) -> Self {
        Self { fixed, own }
    }

    /// Returns the part that all prompts of its kind have in common.
    #[must_use]
    pub fn fixed_part(&self) -> &Arc<PromptText> {
        &self.fixed
    }

    /// Returns the part that only this prompt has: the person, the time, what is remembered.
    #[must_use]
    pub fn own_part(&self) -> &str {
        &self.own
    }

    /// Returns the whole text, as the model gets it.
    #[must_use]
    pub fn text(&self) -> String {
        [self.fixed.body(), &self.own].concat()
    }
}

impl From<&'static str> for SystemPrompt {
    fn from(text: &'static str) -> Self {
        Self::new(PromptText::new(&[text]), String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_text_is_the_fixed_part_and_then_the_own() {
        let prompt = SystemPrompt::new(PromptText::new(&["You are Nod.", "\nFor:\n"]), "- Ana".to_owned());
        assert_eq!(prompt.text(), "You are Nod.\nFor:\n- Ana");
        assert_eq!(prompt.fixed_part(), SystemPrompt::from("You are Nod.\nFor:\n").fixed_part());
        assert_eq!(
            prompt.fixed_part().digest().simple().to_string(),
            hex::encode(&Sha256::digest(prompt.fixed_part().body())[..16])
        );
    }
}
