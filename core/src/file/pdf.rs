//! The words of a PDF file, within bounds: such files are packed, and a small one may unpack to gigabytes or keep a
//! reader busy for ever.

use std::time::Instant;

use lopdf::{Document, LoadOptions};

use super::{MOST_KEPT, PATIENCE};

/// Pages that are read.
const MOST_PAGES: usize = 200;
/// Bytes that one page, or one packed part of the file, may unpack to.
const MOST_UNPACKED: usize = 8 * 1024 * 1024;

/// The words, or why there are none, as the end of a sentence.
pub(super) fn words(bytes: &[u8]) -> Result<String, String> {
    let begun = Instant::now();
    let options = LoadOptions { max_decompressed_size: Some(MOST_UNPACKED), ..LoadOptions::default() };
    let unreadable = |_| "it is no PDF that I can read".to_owned();
    let file = Document::load_mem_with_options(bytes, options).map_err(unreadable)?;
    if file.is_encrypted() {
        return Err("it is locked with a password".to_owned());
    }
    let pages = file.get_pages();
    let mut words = String::new();
    let mut left_out = pages.len() > MOST_PAGES;
    for page in pages.keys().take(MOST_PAGES) {
        // A page that cannot be read does not hide the others.
        match file.extract_text_with_limit(&[*page], MOST_UNPACKED) {
            Ok(text) => words.push_str(text.trim()),
            Err(_) => left_out = true,
        }
        words.push('\n');
        if words.len() > MOST_KEPT {
            break;
        }
        if begun.elapsed() > PATIENCE / 2 {
            left_out = true;
            break;
        }
    }
    if words.trim().is_empty() {
        return Err("there is no text in it that I can read; it may be a scan".to_owned());
    }
    if left_out {
        words.push_str("(not every page could be read)");
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use lopdf::content::{Content, Operation};
    use lopdf::{Object, Stream, dictionary};

    use super::*;

    /// A file with these contents of pages, packed.
    fn file(pages: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Document::with_version("1.5");
        let root = file.new_object_id();
        let font =
            file.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" });
        let resources = file.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
        let kids: Vec<Object> = pages
            .iter()
            .map(|content| {
                let content = file.add_object(Stream::new(dictionary! {}, content.clone()));
                file.add_object(dictionary! {
                    "Type" => "Page", "Parent" => root, "Contents" => content, "Resources" => resources,
                    "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
                })
                .into()
            })
            .collect();
        let count = i64::try_from(kids.len()).unwrap_or_default();
        file.objects.insert(
            root,
            Object::Dictionary(dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count }),
        );
        let catalog = file.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
        file.trailer.set("Root", catalog);
        file.compress();
        let mut bytes = Vec::new();
        file.save_to(&mut bytes).unwrap_or_else(|e| panic!("{e}"));
        bytes
    }

    fn page(words: &str) -> Vec<u8> {
        let operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("Tj", vec![Object::string_literal(words)]),
            Operation::new("ET", vec![]),
        ];
        Content { operations }.encode().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn pages_are_read_in_order() {
        let read = words(&file(&[page("The plan"), page("is late.")]));
        assert_eq!(read.as_deref(), Ok("The plan\nis late.\n"));
    }

    #[test]
    fn a_page_that_would_unpack_to_too_much_is_left_out() {
        let bomb = b" ".repeat(MOST_UNPACKED + 1);
        let packed = file(&[page("The plan"), bomb]);
        assert!(packed.len() < 100_000, "it is a small file");
        assert_eq!(words(&packed).as_deref(), Ok("The plan\n\n(not every page could be read)"));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (bytes, why) in [
            (b"%PDF-1.7 rest".to_vec(), "it is no PDF that I can read"),
            (file(&[page("")]), "there is no text in it that I can read; it may be a scan"),
        ] {
            assert_eq!(words(&bytes), Err(why.to_owned()));
        }
    }
}
