//! Cuts a Markdown file at its headings. The text between them stays as it was written.

use nod_contract::wire::{Cut, Done, Failure};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::sink::Sink;

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::Broken)?;
    // Without the option, what stands above a file's text between two lines of `---` would be a heading.
    let events = Parser::new_ext(text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS).into_offset_iter();
    let (mut is_whole, mut from) = (true, 0);
    let mut open: Option<(u8, String)> = None;
    for (event, range) in events {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, .. }), _) => {
                is_whole &= text.get(from..range.start).is_none_or(|text| sink.text(text, None));
                from = from.max(range.end);
                open = Some((level as u8, String::new()));
            }
            (Event::End(TagEnd::Heading(_)), _) => {
                let (level, words) = open.take().unwrap_or_default();
                is_whole &= sink.heading(level, &words, None);
            }
            (Event::Text(words) | Event::Code(words), Some((_, heading))) => heading.push_str(&words),
            (Event::SoftBreak | Event::HardBreak, Some((_, heading))) => heading.push(' '),
            _ => {}
        }
        if !is_whole {
            break;
        }
    }
    is_whole = is_whole && sink.text(&text[from..], None);
    Ok(Done { cut: (!is_whole).then_some(Cut::Size), ..Done::default() })
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Kind;

    use super::*;
    use crate::tests::{blocks, outline};

    #[test]
    fn headings_are_not_found_in_code() {
        for (file, outlined) in [
            (
                "# Leave\n25 days.\n## At *sea* `now` ##\nNone.",
                &["1|Leave", "25 days.\n", "2|At sea now", "None."][..],
            ),
            (
                "Leave\n=====\n25 days.\n\nTravel\n---\nBy train.",
                &["1|Leave", "25 days.\n\n", "2|Travel", "By train."],
            ),
            ("```sh\n# no heading\n```\n    # nor this\n", &["```sh\n# no heading\n```\n    # nor this\n"]),
            ("#hashtag\n####### seven\n", &["#hashtag\n####### seven\n"]),
            ("---\ntitle: Plan\n---\nText", &["---\ntitle: Plan\n---\nText"]),
            (
                "# <b>Leave</b> & [more](https://a.test)\n#\n- # In a list",
                &["1|Leave & more", "- ", "1|In a list"],
            ),
        ] {
            assert_eq!(outline(Kind::Markdown, file.as_bytes()).unwrap(), outlined, "{file:?}");
        }
    }

    #[test]
    fn ten_thousand_headings_are_cut_at_the_limit() {
        let (read, cut) = blocks(Kind::Markdown, "# h\n".repeat(40_000).as_bytes()).unwrap();
        assert_eq!((read.len(), cut), (2_000, Some(Cut::Size)));
        let long = format!("# {}", "word ".repeat(1_000_000));
        assert_eq!(outline(Kind::Markdown, long.as_bytes()).unwrap()[0].len(), "1|".len() + 1_024);
    }
}
