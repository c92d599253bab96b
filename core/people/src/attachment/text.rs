//! The text of a file, judged by its bytes: what a name or a media type claims is ignored. Pure.

/// What a text is, if its bytes do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Plain text.
    Plain,
    /// HTML without a beginning that says so.
    Html,
    /// Markdown.
    Markdown,
    /// Lines of separated values, such as CSV.
    Table,
}

impl TextFormat {
    /// Returns what the ending of a file's name, or else its media type, claims.
    #[must_use]
    pub fn of_file(name: &str, media_type: &str) -> Self {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.trim().to_lowercase());
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        match (ending.as_deref(), media_type.as_str()) {
            (Some("md" | "markdown" | "mdown"), _) => Self::Markdown,
            (Some("csv" | "tsv"), _) => Self::Table,
            (Some("html" | "htm" | "xhtml"), _) => Self::Html,
            (Some("txt" | "log"), _) => Self::Plain,
            (_, "text/markdown" | "text/x-markdown") => Self::Markdown,
            (_, "text/csv" | "text/tab-separated-values") => Self::Table,
            (_, "text/html" | "application/xhtml+xml") => Self::Html,
            _ => Self::Plain,
        }
    }
}

/// Returns the text, or the reason for none as the end of a sentence.
pub(super) fn extract_text(bytes: &[u8]) -> Result<String, String> {
    if bytes.starts_with(b"\xD0\xCF\x11\xE0") {
        return Err("it's an old or locked Office file. I can read DOCX, PDF and plain text".to_owned());
    }
    if is_image(bytes) {
        return Err("it is an image, and I read text only".to_owned());
    }
    let text = decode(bytes).ok_or_else(|| "it isn't text".to_owned())?;
    if text.trim().is_empty() {
        return Err("it's empty".to_owned());
    }
    let odd = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{C}')).count();
    if text.contains('\0') || odd * 100 > text.chars().count() {
        return Err("it isn't text".to_owned());
    }
    Ok(text)
}

pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(&[0x1F, 0x8B])
}

fn is_image(bytes: &[u8]) -> bool {
    let begins: [&[u8]; 4] = [b"\x89PNG", b"\xFF\xD8\xFF", b"GIF8", b"II*\0"];
    begins.iter().any(|begin| bytes.starts_with(begin))
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
        || (bytes.get(4..8) == Some(b"ftyp") && matches!(bytes.get(8..12), Some(b"heic" | b"avif")))
}

fn decode(bytes: &[u8]) -> Option<String> {
    let wide = |pair: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|two| pair([two[0], two[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
            std::str::from_utf8(bytes).ok().map(str::to_owned).or_else(|| decode_windows_1252(bytes))
        }
    }
}

/// Decodes bytes of no known encoding as Windows-1252 if only few are beyond ASCII. They mostly come from an old
/// western program, such as a spreadsheet's export.
#[must_use]
pub fn decode_windows_1252(bytes: &[u8]) -> Option<String> {
    // 0x80 to 0x9F; an unassigned byte is a control character, as in browsers.
    const MARKS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
    ];
    let beyond = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let letter = |byte: &u8| match byte {
        0x80..=0x9F => MARKS[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    (beyond * 3 < bytes.len()).then(|| bytes.iter().map(letter).collect())
}

/// Detects the sign-in page that a platform sends if it does not let us in. A file announced as HTML is not one.
pub(super) fn is_html_page(bytes: &[u8], kind: &str) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    !kind.to_ascii_lowercase().contains("html") && is_html(&head)
}

/// Returns whether a text begins as only HTML does.
pub(super) fn is_html(text: &str) -> bool {
    let head: String = text.trim_start().chars().take(15).collect::<String>().to_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_page_instead_of_a_file_is_detected_by_media_type() {
        let page = b"\n<!DOCTYPE html><html><body>Sign in</body></html>";
        assert!(is_html_page(page, "text/csv") && is_html_page(page, ""));
        assert!(
            !is_html_page(page, "text/html; charset=utf-8") && !is_html_page(page, "application/xhtml+xml")
        );
        assert!(!is_html_page(b"month,sum", "text/csv"));
    }

    #[test]
    fn format_is_told_by_the_name_where_bytes_do_not() {
        for (name, media_type, format) in [
            ("Plan.MD", "", TextFormat::Markdown),
            ("plan", "text/markdown; charset=utf-8", TextFormat::Markdown),
            ("sums.tsv", "text/plain", TextFormat::Table),
            ("sums", "text/csv", TextFormat::Table),
            ("page.htm", "", TextFormat::Html),
            ("notes.txt", "text/csv", TextFormat::Plain),
            ("md", "", TextFormat::Plain),
        ] {
            assert_eq!(TextFormat::of_file(name, media_type), format, "{name}");
        }
    }

    #[test]
    fn file_type_is_detected_from_bytes() {
        for (bytes, words) in [
            (&b"# Plan\n- one"[..], Some("# Plan\n- one")),
            (b"\xEF\xBB\xBFname,n\nBo,2", Some("name,n\nBo,2")),
            (b"\xFF\xFEh\0i\0", Some("hi")),
            (b"\xD0\xCF\x11\xE0rest", None),
            (b"\x89PNG\r\n\x1A\n", None),
            (b"Stra\xDFe;Gr\xF6\xDFe\nBo;5 \x80", Some("Straße;Größe\nBo;5 €")),
            (b"\x93\xFA\x96\x7B", None),
            (b"\xFFa\0b and more", None),
            (b"a\0b", None),
            (b"  \n", None),
            (b"\x01\x02\x03\x04", None),
        ] {
            assert_eq!(extract_text(bytes).ok().as_deref(), words, "{bytes:?}");
        }
    }
}
