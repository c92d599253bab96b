//! Extracts the headings and the text of a Word document (DOCX), within limits: a small zip archive can unpack to
//! gigabytes.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use nod_contract::wire::{Cut, Done, Failure};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use zip::ZipArchive;

use crate::sink::Sink;

/// The archive entry that holds the text.
const TEXT: &str = "word/document.xml";
/// The archive entry that names the styles of paragraphs.
const STYLES: &str = "word/styles.xml";
/// The largest unpacked text, in bytes.
const MAX_UNPACKED_BYTES: u64 = 8 * 1024 * 1024;

/// Elements whose content is not the document's text: text moved away, copies for older programs, paragraph properties.
const SKIPPED_ELEMENTS: [&str; 3] = ["moveFrom", "Fallback", "pPr"];

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Failure::Unknown)?;
    // A document can do without styles, or with broken ones.
    let styles = unpack(&mut archive, STYLES).ok().and_then(|xml| heading_styles(&xml)).unwrap_or_default();
    let text = unpack(&mut archive, TEXT)?;
    let paragraphs = paragraphs(&text, &styles, sink.remaining_bytes()).ok_or(Failure::Broken)?;
    if paragraphs.iter().all(|paragraph| paragraph.text.trim().is_empty()) {
        return Err(Failure::Empty);
    }
    let is_long = paragraphs.iter().map(|one| one.text.len()).sum::<usize>() > sink.remaining_bytes();
    let (mut is_whole, mut words) = (true, String::new());
    for Paragraph { level, text } in paragraphs {
        let Some(level) = level.filter(|_| !text.trim().is_empty()) else {
            words.push_str(&text);
            continue;
        };
        is_whole = is_whole && sink.text(&words, None) && sink.heading(level, &text, None);
        words.clear();
    }
    is_whole = is_whole && sink.text(words.trim_end(), None);
    Ok(Done { cut: (is_long || !is_whole).then_some(Cut::Size), ..Done::default() })
}

fn unpack(archive: &mut Archive<'_>, name: &str) -> Result<String, Failure> {
    let packed = archive.by_name(name).map_err(|_| Failure::Unknown)?;
    let mut text = Vec::new();
    // The size that the archive states can be wrong.
    packed.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut text).map_err(|_| Failure::Broken)?;
    if text.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(Failure::Large);
    }
    String::from_utf8(text).map_err(|_| Failure::Broken)
}

/// Returns the styles that are headings, with their level. Their names are the same in every language, their ids are
/// not.
fn heading_styles(xml: &str) -> Option<HashMap<String, u8>> {
    let mut reader = Reader::from_str(xml);
    let (mut styles, mut open) = (HashMap::new(), String::new());
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) if tag.local_name().as_ref() == "style" => {
                open = attribute(&tag, "styleId").unwrap_or_default();
            }
            Event::Empty(tag) if tag.local_name().as_ref() == "name" => {
                let level = attribute(&tag, "val").and_then(|name| heading_level(&name));
                styles.extend(level.map(|level| (open.clone(), level)));
            }
            Event::Eof => return Some(styles),
            _ => {}
        }
    }
}

/// Returns the level of "heading 2" or "Heading2".
fn heading_level(style: &str) -> Option<u8> {
    let style = style.to_lowercase();
    if style == "title" {
        return Some(1);
    }
    let level = style.strip_prefix("heading")?.trim().parse().ok()?;
    (1..=9).contains(&level).then_some(level)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let all = tag.attributes().flatten();
    all.into_iter().find(|one| one.key.local_name().as_ref() == name).map(|one| one.value.into_owned())
}

/// A paragraph with its line end, and the level if it is a heading.
struct Paragraph {
    level: Option<u8>,
    text: String,
}

/// Returns the paragraphs, and stops a few bytes after `most`. Text that tracked changes deleted or moved away is left
/// out.
fn paragraphs(xml: &str, styles: &HashMap<String, u8>, most: usize) -> Option<Vec<Paragraph>> {
    let mut reader = Reader::from_str(xml);
    let (mut all, mut words, mut level, mut size) = (Vec::new(), String::new(), None, 0);
    // Whether the reader is inside a text element, and inside how many elements that are skipped.
    let (mut in_text, mut over) = (false, 0_u32);
    while size + words.len() <= most {
        let event = reader.read_event().ok()?;
        match &event {
            Event::Start(tag) if SKIPPED_ELEMENTS.contains(&tag.local_name().as_ref()) => over += 1,
            Event::End(tag) if SKIPPED_ELEMENTS.contains(&tag.local_name().as_ref()) => {
                over = over.saturating_sub(1)
            }
            Event::Eof => break,
            Event::Empty(tag) | Event::Start(tag) if tag.local_name().as_ref() == "pStyle" => {
                let style = attribute(tag, "val").unwrap_or_default();
                level = styles.get(&style).copied().or_else(|| heading_level(&style));
            }
            _ if over > 0 => continue,
            Event::Start(tag) if tag.local_name().as_ref() == "t" => in_text = true,
            Event::End(tag) => match tag.local_name().as_ref() {
                "t" => in_text = false,
                "p" => {
                    words.push('\n');
                    size += words.len();
                    all.push(Paragraph { level: level.take(), text: std::mem::take(&mut words) });
                }
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
    all.push(Paragraph { level: None, text: words });
    Some(all)
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
    use crate::tests::{MAX_OUTPUT_BYTES, extract_text, outline};

    fn zip_with(name: &str, content: &[u8]) -> Vec<u8> {
        zip_of(&[(name, content)])
    }

    fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap_or_else(|e| panic!("{e}"));
            archive.write_all(content).unwrap_or_else(|e| panic!("{e}"));
        }
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
    fn heading_styles_are_headings_in_every_language() {
        let paragraph = |style: &str, text: &str| {
            format!("<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
        };
        let body = paragraph("berschrift1", "Urlaub")
            + &paragraph("Normal", "25 Tage.")
            + &paragraph("Heading2", "Reisen")
            + &paragraph("Heading2", "");
        let styles =
            "<w:styles><w:style w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/></w:style></w:styles>";
        let file = zip_of(&[
            (STYLES, styles.as_bytes()),
            (TEXT, format!("<w:document><w:body>{body}</w:body></w:document>").as_bytes()),
        ]);
        let read = outline(Kind::Docx, &file);
        assert_eq!(read, Ok(["1|Urlaub", "25 Tage.\n", "2|Reisen"].map(str::to_owned).to_vec()));
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
