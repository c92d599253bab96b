//! Extracts the text of HTML: mail bodies, event descriptions, signatures. A small text can be nested so that it takes
//! gigabytes; the limits of the process end that.

use html2text::config;
use html2text::render::TrivialDecorator;
use nod_contract::wire::{Cut, Done, Failure, Kind};

use crate::sink::Sink;

/// HTML beyond this is not rendered, because it would take long and is cut anyway.
const MAX_BYTES: usize = 1 << 20;
const COLUMNS: usize = 100;
const WIDE_COLUMNS: usize = 200;

pub(crate) fn read(kind: Kind, bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let html = String::from_utf8_lossy(bytes);
    let html = &html[..html.floor_char_boundary(MAX_BYTES)];
    let text = text(kind, html.as_bytes()).map_err(|_| Failure::Broken)?;
    let cut = (!sink.text(&text, None)).then_some(Cut::Size);
    Ok(Done { cut, ..Done::default() })
}

fn text(kind: Kind, html: &[u8]) -> Result<String, html2text::Error> {
    match kind {
        Kind::Description => config::plain_no_decorate().string_from_read(html, WIDE_COLUMNS),
        Kind::Signature => config::with_decorator(TrivialDecorator::new()).string_from_read(html, COLUMNS),
        _ => html2text::from_read(html, COLUMNS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::extract_text;

    #[test]
    fn html_is_read_as_text() {
        for (kind, html, text) in [
            (Kind::Html, "<p>Hello <b>Bo</b></p><script>x()</script>", "Hello **Bo**"),
            (Kind::Description, "Bring <b>the plan</b>", "Bring the plan"),
            (
                Kind::Signature,
                "<div dir=\"ltr\"><b>Ana Silva</b><br>Acme · <a href=\"https://acme.test\">acme.test</a></div>",
                "Ana Silva\nAcme · acme.test",
            ),
            (Kind::Html, "", ""),
        ] {
            let read = extract_text(kind, html.as_bytes());
            assert_eq!(read.map(|(words, cut)| (words.trim().to_owned(), cut)), Ok((text.to_owned(), None)));
        }
    }
}
