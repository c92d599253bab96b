//! Documents and mails that are made to harm whoever reads them. A mail comes of a seed: the same one has the same bytes.

mod html;
mod letters;
mod pdf;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub use html::html_that_eats_memory;
pub use letters::{html_mail, nested_mail};
pub use pdf::{pdf_of, pdf_that_eats_memory, pdf_without_end};

/// What chance there is in a mail.
type Dice = ChaCha8Rng;

/// What harms in a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// HTML with marks in marks.
    Nested,
}

/// How many of a hundred mails are of a class.
const HUNDRED: [(Class, usize); 1] = [(Class::Nested, 100)];

/// A mail that is made to harm.
#[derive(Debug, Clone)]
pub struct Mail {
    /// How.
    pub class: Class,
    /// As it is sent.
    pub raw: Vec<u8>,
    /// The file that comes with it.
    pub file: Option<String>,
}

/// So many mails to somebody, in an order that the seed makes.
#[must_use]
pub fn mails(count: usize, to: &str, seed: u64) -> Vec<Mail> {
    let mut classes: Vec<Class> = HUNDRED
        .iter()
        .flat_map(|(class, share)| std::iter::repeat_n(*class, *share))
        .cycle()
        .take(count.next_multiple_of(100))
        .collect();
    classes.shuffle(&mut Dice::seed_from_u64(seed));
    classes.truncate(count);
    let mail = |(number, class)| mail(class, to, &mut Dice::seed_from_u64(seed + number), number);
    (1..).zip(classes).map(mail).collect()
}

fn mail(class: Class, to: &str, dice: &mut Dice, number: u64) -> Mail {
    let from = "Kim <kim@northwind.test>";
    let id = format!("{number}@hostile.test");
    match class {
        Class::Nested => Mail { class, raw: html_mail(to, from, &id, &id, &html::nested(dice)), file: None },
    }
}
