//! HTML as it stands in mail.

use rand::Rng;

use super::Dice;

/// Small, and more memory than there is: so many open marks that each of so many paragraphs repeats all of them.
#[must_use]
pub fn html_that_eats_memory(marks: usize, paragraphs: usize) -> String {
    let marks: String = (0..marks).map(|n| format!("<b a={n}>")).collect();
    format!("<p>{marks}{}", "</p><p>x".repeat(paragraphs))
}

/// Marks in marks, of one of the kinds that readers have been seen to fall over.
pub(super) fn nested(dice: &mut Dice) -> String {
    match dice.random_range(0..4) {
        0 => html_that_eats_memory(dice.random_range(400..3_000), dice.random_range(500..20_000)),
        1 => "<div>".repeat(dice.random_range(1_000..60_000)) + "x",
        2 => "<ul><li>x".repeat(dice.random_range(100..2_000)),
        _ => format!("{}x", "<blockquote><pre>".repeat(dice.random_range(100..2_000))),
    }
}
