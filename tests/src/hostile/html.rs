//! Hostile HTML bodies of mails.

use rand::Rng;

use super::{Dice, names};

/// Small HTML that exhausts memory: each of `paragraphs` paragraphs repeats all of the `marks` open tags.
#[must_use]
pub fn html_that_eats_memory(marks: usize, paragraphs: usize) -> String {
    let marks: String = (0..marks).map(|n| format!("<b a={n}>")).collect();
    format!("<p>{marks}{}", "</p><p>x".repeat(paragraphs))
}

/// Nested tags.
pub(super) fn nested(dice: &mut Dice) -> String {
    match dice.random_range(0..4) {
        0 => html_that_eats_memory(dice.random_range(1_000..3_000), dice.random_range(5_000..20_000)),
        1 => "<div>".repeat(dice.random_range(1_000..60_000)) + "x",
        2 => "<ul><li>x".repeat(dice.random_range(100..2_000)),
        _ => "<blockquote><pre>".repeat(dice.random_range(100..2_000)) + "x",
    }
}

/// Tags with too many or too long attributes, or that are never closed.
pub(super) fn attributes(dice: &mut Dice) -> String {
    let many = dice.random_range(1_000..50_000);
    match dice.random_range(0..5) {
        0 => format!("<a {}>x</a>", (0..many).map(|n| format!("a{n}={n} ")).collect::<String>()),
        1 => format!("<a href=\"https://{}\">x</a>", "a".repeat(10 * many)),
        2 => "<img alt=x src=cid:x ".repeat(many),
        3 => format!("<p style=\"{}\">x", "color:red;".repeat(many)),
        _ => "<!--".repeat(many) + "<![CDATA[",
    }
}

/// Nested tables, and tables that are wider or longer than they declare.
pub(super) fn tables(dice: &mut Dice) -> String {
    let many = dice.random_range(10..500);
    let span = dice.random_range(1_000..1_000_000_000);
    match dice.random_range(0..4) {
        0 => "<table><tr><td>x".repeat(many),
        1 => format!("<table>{}", format!("<tr><td colspan={span}>x<td rowspan={span}>y").repeat(many)),
        2 => format!("<table><tr>{}", "<td>x".repeat(100 * many)),
        _ => format!("<table>{}", "<tr><td>x<td><td>".repeat(20 * many)),
    }
}

/// Character references by name and number, valid or not.
pub(super) fn entities(dice: &mut Dice) -> String {
    const NAMES: [&str; 7] = [
        "&#x10FFFF;",
        "&#99999999999999999999;",
        "&#0;",
        "&nbsp",
        "&amp;amp;",
        "&CounterClockwiseContourIntegral;",
        "&",
    ];
    let mut html = String::from("<p>");
    for _ in 0..dice.random_range(1_000..30_000) {
        html.push_str(NAMES[dice.random_range(0..NAMES.len())]);
    }
    html + &names::tricks(dice, 1_000)
}

/// Ten megabytes of HTML.
pub(super) fn large(dice: &mut Dice) -> String {
    const SIZE: usize = 10 * 1024 * 1024;
    let piece = ["<p>So he said.</p>\r\n", "<b>", "<tr><td>x", "words "][dice.random_range(0..4)];
    piece.repeat(SIZE / piece.len())
}
