//! Extracts the text of a PDF file, page by page. Such files are compressed: a small one can unpack to gigabytes, or
//! keep its reader busy forever; the limits of the process end that.

use lopdf::{Document, LoadOptions};
use nod_contract::wire::{Cut, Done, Failure};

use crate::sink::Sink;

/// The largest unpacked size of one page, or of one compressed part of the file, in bytes.
const MAX_UNPACKED_BYTES: usize = 8 * 1024 * 1024;

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let options = LoadOptions { max_decompressed_size: Some(MAX_UNPACKED_BYTES), ..LoadOptions::default() };
    let file = Document::load_mem_with_options(bytes, options).map_err(|_| Failure::Broken)?;
    if file.is_encrypted() {
        return Err(Failure::Locked);
    }
    // The library reads what is there of a file whose end is missing, and nobody would know what was not.
    if !has_end(bytes) {
        return Err(Failure::Truncated);
    }
    let pages = file.get_pages();
    let mut cut = (pages.len() > sink.most_pages).then_some(Cut::Pages);
    let mut blank = true;
    for page in pages.keys().take(sink.most_pages) {
        // A page that cannot be read does not hide the others.
        let text = file.extract_text_with_limit(&[*page], MAX_UNPACKED_BYTES).unwrap_or_else(|_| {
            cut = Some(Cut::Pages);
            String::new()
        });
        blank = blank && text.trim().is_empty();
        if !sink.text(&format!("{}\n", text.trim()), Some(*page)) {
            cut = Some(Cut::Size);
            break;
        }
        if sink.is_late() {
            cut = Some(Cut::Time);
            break;
        }
    }
    match blank {
        true => Err(Failure::Scan),
        false => Ok(Done { pages: Some(pages.len()), title: None, cut }),
    }
}

/// Returns whether the place of the table of contents stands at the end, where every reader looks for it.
fn has_end(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"startxref";
    bytes[bytes.len().saturating_sub(4096)..].windows(MARK.len()).any(|found| found == MARK)
}

#[cfg(test)]
mod tests {
    use lopdf::content::{Content, Operation};
    use lopdf::{Object, Stream, dictionary};
    use nod_contract::wire::Kind;

    use super::*;
    use crate::tests::extract_text;

    /// Builds a compressed file with these page contents.
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
        let read = extract_text(Kind::Pdf, &file(&[page("The plan"), page("is late.")]));
        assert_eq!(read, Ok(("The plan\nis late.\n".to_owned(), None)));
    }

    #[test]
    fn oversized_page_is_skipped() {
        let bomb = b" ".repeat(MAX_UNPACKED_BYTES + 1);
        let packed = file(&[page("The plan"), bomb]);
        assert!(packed.len() < 100_000, "it is a small file");
        assert_eq!(extract_text(Kind::Pdf, &packed), Ok(("The plan\n\n".to_owned(), Some(Cut::Pages))));
    }

    #[test]
    fn unreadable_pdf_gives_a_reason() {
        for (bytes, why) in [(b"%PDF-1.7 rest".to_vec(), Failure::Broken), (file(&[page("")]), Failure::Scan)]
        {
            assert_eq!(extract_text(Kind::Pdf, &bytes), Err(why));
        }
    }

    /// What is left of a longer file can be read, or not; it is never taken for the whole.
    #[test]
    fn pdf_without_its_end_is_not_read() {
        let whole = file(&[page("The plan"), page("is late.")]);
        for length in (100..whole.len() - 30).step_by(10) {
            let read = extract_text(Kind::Pdf, &whole[..length]);
            assert!(matches!(read, Err(Failure::Broken | Failure::Truncated)), "{length}: {read:?}");
        }
    }
}
