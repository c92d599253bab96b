//! The words of a Word document (DOCX), within bounds: it is a packed archive, and a small one may unpack to gigabytes.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
use zip::ZipArchive;

use super::MOST_KEPT;
use super::text::PACKED;

/// Where the text lies.
const TEXT: &str = "word/document.xml";
/// Bytes that the text may unpack to.
const MOST_UNPACKED: u64 = 8 * 1024 * 1024;

/// What stands in here is not what the document says: moved away, or once more for older programs.
const PASSED_OVER: [&str; 3] = ["moveFrom", "Fallback", "pPr"];

/// The words, or why there are none, as the end of a sentence.
pub(super) fn words(bytes: &[u8]) -> Result<String, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| PACKED.to_owned())?;
    let packed = archive.by_name(TEXT).map_err(|_| PACKED.to_owned())?;
    let mut text = Vec::new();
    // What the archive says of its size may be wrong.
    packed.take(MOST_UNPACKED + 1).read_to_end(&mut text).map_err(|_| UNREADABLE.to_owned())?;
    if text.len() as u64 > MOST_UNPACKED {
        return Err(format!("its text is larger than {} MB", MOST_UNPACKED / 1024 / 1024));
    }
    let text = std::str::from_utf8(&text).ok();
    match text.and_then(spoken).ok_or_else(|| UNREADABLE.to_owned())?.trim() {
        "" => Err("there is no text in it".to_owned()),
        words => Ok(words.to_owned()),
    }
}

/// Paragraphs as lines. What was struck out or moved away while changes were recorded is left out.
fn spoken(xml: &str) -> Option<String> {
    let mut reader = Reader::from_str(xml);
    let (mut words, mut kept) = (String::new(), 0);
    // In a text; in how many things that are passed over.
    let (mut in_text, mut over) = (false, 0_u32);
    while kept <= MOST_KEPT {
        let event = reader.read_event().ok()?;
        match &event {
            Event::Start(tag) if PASSED_OVER.contains(&tag.local_name().as_ref()) => over += 1,
            Event::End(tag) if PASSED_OVER.contains(&tag.local_name().as_ref()) => {
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
            Event::Text(text) if in_text => add(&mut words, &mut kept, text),
            Event::CData(text) if in_text => add(&mut words, &mut kept, text),
            Event::GeneralRef(name) if in_text => words.extend(letter(name)),
            _ => {}
        }
    }
    Some(words)
}

fn add(words: &mut String, kept: &mut usize, text: &str) {
    words.push_str(text);
    *kept += text.chars().count();
}

/// `&amp;`, `&#228;`; what a document names itself is not looked up.
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

const UNREADABLE: &str = "it is no Word document that I can read";

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn packed(name: &str, content: &[u8]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file(name, SimpleFileOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        archive.write_all(content).unwrap_or_else(|e| panic!("{e}"));
        archive.finish().unwrap_or_else(|e| panic!("{e}")).into_inner()
    }

    fn document(body: &str) -> Vec<u8> {
        let xml =
            format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
        packed(TEXT, xml.as_bytes())
    }

    #[test]
    fn paragraphs_are_lines() {
        let body = "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr><w:r><w:t>Terms &amp; </w:t></w:r>\
                    <w:r><w:t xml:space=\"preserve\">price&#228;</w:t><w:br/>\
                    <w:t>net</w:t></w:r><w:del><w:r><w:delText>gross</w:delText></w:r></w:del></w:p>\
                    <w:moveFrom><w:r><w:t>Paid twice</w:t></w:r></w:moveFrom>\
                    <w:p><w:r><w:t>Due</w:t><w:tab/><w:t>Friday</w:t></w:r></w:p>";
        assert_eq!(words(&document(body)).as_deref(), Ok("Terms & priceä\nnet\nDue\tFriday"));
    }

    #[test]
    fn of_a_long_one_no_more_is_read_than_is_kept() {
        let read = words(&document(&"<w:p><w:r><w:t>я</w:t></w:r></w:p>".repeat(MOST_KEPT + 9)));
        assert_eq!(read.map(|words| words.matches('я').count()), Ok(MOST_KEPT + 1));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (bytes, why) in [
            (document("<w:p/>"), "there is no text in it"),
            (packed(TEXT, b"<w:p><w:t>a</w:x>"), UNREADABLE),
            (packed(TEXT, &vec![b' '; 9 * 1024 * 1024]), "its text is larger than 8 MB"),
            (packed("readme.txt", b"hello"), PACKED),
            (b"PK\x03\x04rest".to_vec(), PACKED),
        ] {
            assert_eq!(words(&bytes), Err(why.to_owned()));
        }
    }
}
