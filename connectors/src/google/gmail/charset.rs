//! Character sets whose bytes are valid UTF-8 but mean something else: seven-bit sets that switch alphabets by escapes,
//! and UTF-16, where half of the bytes are zero in most languages.

use mail_parser::decoders::charsets::map::charset_decoder;

/// Decodes a part that names such a character set, if its bytes can be in that set.
pub(super) fn like_utf8(name: &str, bytes: &[u8]) -> Option<String> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let wide = ["utf-16", "utf16", "csutf16", "ucs-2", "csunicode", "iso-10646-ucs-2"];
    if wide.iter().any(|start| name.starts_with(start)) {
        return bytes.contains(&0).then(|| charset_decoder(name.as_bytes()).map(|read| read(bytes)))?;
    }
    if !bytes.is_ascii() {
        return None;
    }
    match name.as_str() {
        // RFC 1843
        "hz-gb-2312" | "hz" => {
            decode_shifted(bytes, b"~{", b"~}", "gb2312").map(|text| text.replace("~~", "~"))
        }
        // RFC 1557
        "iso-2022-kr" | "csiso2022kr" => {
            let bytes = bytes.strip_prefix(b"\x1b$)C").unwrap_or(bytes);
            decode_shifted(bytes, b"\x0e", b"\x0f", "euc-kr")
        }
        "utf-7" | "csutf7" | "unicode-1-1-utf-7" => charset_decoder(b"utf-7").map(|read| read(bytes)),
        _ if name.starts_with("iso-2022-jp") || name == "csiso2022jp" => {
            charset_decoder(b"iso-2022-jp").map(|read| read(bytes))
        }
        _ => None,
    }
}

/// Decodes ASCII with a double-byte section between two marks; there each byte lacks the eighth bit that it has in
/// `of`.
fn decode_shifted(bytes: &[u8], opens: &[u8], closes: &[u8], of: &str) -> Option<String> {
    let (mut whole, mut rest, mut within) = (Vec::with_capacity(bytes.len()), bytes, false);
    while let Some(&first) = rest.first() {
        let mark = if within { closes } else { opens };
        if let Some(after) = rest.strip_prefix(mark) {
            (within, rest) = (!within, after);
            continue;
        }
        // A line break also ends the section.
        within &= first != b'\n';
        let eighth = if within && first.is_ascii_graphic() { 0x80 } else { 0 };
        whole.push(first | eighth);
        rest = &rest[1..];
    }
    charset_decoder(of.as_bytes()).map(|read| read(&whole))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn named_charset_wins_over_detection() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for (name, bytes, text) in [
            ("ISO-2022-JP", b"\x1b$B$3$s$K$A$O\x1b(B Bo".to_vec(), "こんにちは Bo"),
            ("hz-gb-2312", b"~{<:Ky2;S{~} ~~ ok".to_vec(), "己所不欲 ~ ok"),
            ("iso-2022-kr", b"\x1b$)C\x0e>H3g\x0f Bo\n\x0e>H\x0f".to_vec(), "안녕 Bo\n안"),
            ("utf-7", b"Gr+APwA3w-e".to_vec(), "Grüße"),
            ("utf-16le", utf16("Grüße, Bo"), "Grüße, Bo"),
        ] {
            assert_eq!(like_utf8(name, &bytes).as_deref(), Some(text), "{name}");
        }
        // It is labelled with the set, but is not in it.
        assert_eq!(like_utf8("iso-2022-jp", "Grüße".as_bytes()), None);
        assert_eq!(like_utf8("utf-16", b"plain"), None);
        assert_eq!(like_utf8("us-ascii", b"plain"), None);
    }
}
