//! Documents that nobody wrote: words as frequent as in a language, in sentences, under headings.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const VOCABULARY: usize = 30_000;
const HEADINGS: usize = 10;
/// Under one heading, so many that they are one chunk.
const WORDS: usize = 320;
const WORDS_OF_SENTENCE: usize = 16;
const WORDS_OF_QUESTION: usize = 6;

/// Writes the same documents each time.
pub struct Library {
    dice: ChaCha8Rng,
    words: Vec<String>,
}

impl Library {
    pub fn new() -> Self {
        let mut dice = ChaCha8Rng::seed_from_u64(29);
        let words = (0..VOCABULARY).map(|_| invent_word(&mut dice)).collect();
        Self { dice, words }
    }

    /// Writes documents into a folder.
    pub fn write(&mut self, folder: &Path, count: usize) {
        for number in 0..count {
            let mut text = String::new();
            for _ in 0..HEADINGS {
                write!(text, "# {}\n\n", self.write_words(2)).unwrap();
                for _ in 0..WORDS / WORDS_OF_SENTENCE {
                    write!(text, "{}. ", self.write_words(WORDS_OF_SENTENCE)).unwrap();
                }
                text.push_str("\n\n");
            }
            std::fs::write(folder.join(format!("document-{number:05}.md")), text).unwrap();
        }
    }

    pub fn write_question(&mut self) -> String {
        self.write_words(WORDS_OF_QUESTION)
    }

    /// Writes words, of which the n-th is n times as rare as the first.
    fn write_words(&mut self, count: usize) -> String {
        let Self { dice, words } = self;
        let word = |_| &*words[(VOCABULARY as f64).powf(dice.random::<f64>()) as usize - 1];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }
}

fn invent_word(dice: &mut ChaCha8Rng) -> String {
    let mut word = String::new();
    for _ in 0..dice.random_range(2..=4) {
        for letters in ["bdfgklmnprstvz", "aeiou"] {
            let at = dice.random_range(0..letters.len());
            word.push_str(&letters[at..=at]);
        }
    }
    word
}
