//! Extracts the text of a Word document (DOCX), within limits: a small zip archive can unpack to gigabytes.

use std::io::{Cursor, Read};

use nod_contract::wire::{Cut, Done, Failure};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
use zip::ZipArchive;

use crate::sink::Sink;

/// The archive entry that holds the text.
const TEXT: &str = "word/document.xml";
/// The largest unpacked text, in bytes.
const MAX_UNPACKED_BYTES: u64 = 8 * 1024 * 1024;

/// Elements whose content is not the document's text: text moved away, copies for older programs, paragraph properties.
const SKIPPED_ELEMENTS: [&str; 3] = ["moveFrom", "Fallback", "pPr"];

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Failure::Unknown)?;
    let packed = archive.by_name(TEXT).map_err(|_| Failure::Unknown)?;
    let mut text = Vec::new();
    // The size that the archive states can be wrong.
    packed.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut text).map_err(|_| Failure::Broken)?;
    if text.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(Failure::Large);
    }
    let text = std::str::from_utf8(&text).ok();
    let words = text.and_then(|xml| paragraphs_text(xml, sink.remaining_bytes())).ok_or(Failure::Broken)?;
    let cut = (words.len() > sink.remaining_bytes()).then_some(Cut::Size);
    match words.trim() {
        "" => Err(Failure::Empty),
        words => {
            sink.text(words, None);
            Ok(Done { cut, ..Done::default() })
        }
    }
}

/// Returns paragraphs as lines, and stops a few bytes after `most`. Text that tracked changes deleted or moved away is
/// left out.
fn paragraphs_text(xml: &str, most: usize) -> Option<String> {
    let mut reader = Reader::from_str(xml);
    let mut words = String::new();
    // Whether the reader is inside a text element, and inside how many elements that are skipped.
    let (mut in_text, mut over) = (false, 0_u32);
    while words.len() <= most {
        let event = reader.read_event().ok()?;
        match &event {
            Event::Start(tag) if SKIPPED_ELEMENTS.contains(&tag.local_name().as_ref()) => over += 1,
            Event::End(tag) if SKIPPED_ELEMENTS.contains(&tag.local_name().as_ref()) => {
                over = over.saturating_sub(1)
            }
            Event::Eof => break,
            _ if over > 0 => continue,
            Event::Start(tag) if tag.local_name().as_ref() == "t" => in_text = true,
            Event::End(tag) => match tag.local_name().as_ref() {
                "t" => in_text = false,
                "p" => words.push('\n'),
                _ => {}
            },
            Event::Empty(tag) | Event::Start(tag) => match tag.local_name().as_ref() {
                "tab" => words.push('\t'),
                "br" | "cr" => words.push('\n'),
                "noBreakHyphen" => words.push('-'),
                _ => {}
            },
            Event::Text(text) if in_text => words.push_str(text),
            Event::CData(text) if in_text => words.push_str(text),
            Event::GeneralRef(name) if in_text => words.extend(letter(name)),
            _ => {}
        }
    }
    Some(words)
}

/// Resolves `&amp;` and `&#228;`. Entities that a document defines itself are not looked up.
fn letter(name: &BytesRef<'_>) -> Option<char> {
    if let Some(letter) = name.resolve_char_ref().ok().flatten() {
        return Some(letter);
    }
    match &**name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use nod_contract::wire::Kind;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::tests::{MAX_OUTPUT_BYTES, extract_text};

    fn zip_with(name: &str, content: &[u8]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file(name, SimpleFileOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        archive.write_all(content).unwrap_or_else(|e| panic!("{e}"));
        archive.finish().unwrap_or_else(|e| panic!("{e}")).into_inner()
    }

    fn document(body: &str) -> Vec<u8> {
        let xml =
            format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
        zip_with(TEXT, xml.as_bytes())
    }

    #[test]
    fn paragraphs_are_lines() {
        let body = "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr><w:r><w:t>Terms &amp; </w:t></w:r>\
                    <w:r><w:t xml:space=\"preserve\">price&#228;</w:t><w:br/>\
                    <w:t>net</w:t></w:r><w:del><w:r><w:delText>gross</w:delText></w:r></w:del></w:p>\
                    <w:moveFrom><w:r><w:t>Paid twice</w:t></w:r></w:moveFrom>\
                    <w:p><w:r><w:t>Due</w:t><w:tab/><w:t>Friday</w:t></w:r></w:p>";
        assert_eq!(
            extract_text(Kind::Docx, &document(body)),
            Ok(("Terms & priceä\nnet\nDue\tFriday".to_owned(), None))
        );
    }

    #[test]
    fn long_document_is_read_only_up_to_the_limit() {
        let read = extract_text(
            Kind::Docx,
            &document(&"<w:p><w:r><w:t>я</w:t></w:r></w:p>".repeat(MAX_OUTPUT_BYTES)),
        );
        assert_eq!(read.map(|(words, cut)| (words.len(), cut)), Ok((MAX_OUTPUT_BYTES, Some(Cut::Size))));
    }

    #[test]
    fn unreadable_document_gives_a_reason() {
        for (bytes, why) in [
            (document("<w:p/>"), Failure::Empty),
            (zip_with(TEXT, b"<w:p><w:t>a</w:x>"), Failure::Broken),
            (zip_with(TEXT, &vec![b' '; 9 * 1024 * 1024]), Failure::Large),
            (zip_with("readme.txt", b"hello"), Failure::Unknown),
            (b"PK\x03\x04rest".to_vec(), Failure::Unknown),
        ] {
            assert_eq!(extract_text(Kind::Docx, &bytes), Err(why));
        }
    }
}
