//! Word documents.

use std::io::{Cursor, Write};

use rand::Rng;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::Dice;

const TEXT: &str = "word/document.xml";

/// A document that unpacks to far more than its size, or whose text is no valid document.
pub(super) fn bomb(dice: &mut Dice) -> Vec<u8> {
    let many = dice.random_range(1_000..100_000);
    match dice.random_range(0..5) {
        0 => packed(TEXT, &vec![b' '; dice.random_range(8..40) << 20]),
        1 => packed(TEXT, format!("<w:document>{}", "<w:p>".repeat(many)).as_bytes()),
        2 => packed(TEXT, format!("<w:p><w:t>{}", "&amp;&#x10FFFF;&nothing;".repeat(many)).as_bytes()),
        3 => packed(TEXT, format!("<w:p {}>", "w:a=\"x\" ".repeat(many)).as_bytes()),
        _ => {
            let mut cut = packed(TEXT, format!("<w:p><w:t>{}</w:t></w:p>", "x ".repeat(many)).as_bytes());
            cut.truncate(dice.random_range(30..cut.len()));
            cut
        }
    }
}

fn packed(name: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let written = archive.start_file(name, SimpleFileOptions::default()).and_then(|()| {
        archive.write_all(content)?;
        archive.finish()
    });
    written.unwrap_or_else(|e| panic!("{e}")).into_inner()
}
