use super::*;

fn rendered_text(markdown: &str) -> String {
    parse_markdown(markdown).iter().map(TextBlock::to_plain_text).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn text_styles_nest() {
    let [TextBlock::Text(runs)] = &parse_markdown("a **b _c_** ~~d~~ `e*`")[..] else {
        panic!("one line of text")
    };
    let look = |text: &str| runs.iter().find(|run| run.text == text).map(|run| run.style);
    assert_eq!(look("b "), Some(TextStyle { bold: true, ..TextStyle::default() }));
    assert_eq!(look("c"), Some(TextStyle { bold: true, italic: true, ..TextStyle::default() }));
    assert_eq!(look("d"), Some(TextStyle { strike: true, ..TextStyle::default() }));
    assert_eq!(look("e*"), Some(TextStyle { code: true, ..TextStyle::default() }));
}

#[test]
fn blocks_read_as_they_were_written() {
    for (markdown, expected) in [
        ("# Head\ntext", "Head\n\ntext"),
        ("- a\n- b\n  - c\n- d", "• a\n• b\n\n  • c\n\n• d"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("4. a\n5. b", "4. a\n\n5. b"),
        ("1. a\n   ```\n   x\n   ```\n2. b", "1. a\n\nx\n\n2. b"),
        ("> one\n> two\n>\n> - three", "> one\n> two\n> • three"),
        ("```rust\nfn main() {}\n```", "fn main() {}"),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
        ("a\nb", "a\nb"),
        ("<b>hi</b> <!channel>", "<b>hi</b> <!channel>"),
        ("- \n\nafter", "after"),
        ("snake_case_name 2*3*4", "snake_case_name 234"),
        ("| a | long |\n|---|---|\n| 1 | **2** |", "a  long\n─  ────\n1  2"),
    ] {
        assert_eq!(rendered_text(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_tell_where_they_lead() {
    for (markdown, expected) in [
        ("[docs](https://x.test/a)", "docs (https://x.test/a)"),
        ("[https://x.test/a](https://x.test/a)", "https://x.test/a"),
        ("<https://x.test/a>", "https://x.test/a"),
        ("[https://bank.test](https://evil.test/)", "https://bank.test/ (https://evil.test/)"),
        ("[press](javascript:alert)", "press (javascript:alert)"),
        ("[bo](mailto:bo@x.test)", "bo (bo@x.test)"),
        ("<bo@x.test>", "bo@x.test"),
        ("![pic](https://x.test/p.png)", "pic (https://x.test/p.png)"),
        ("[раypal](https://xn--ypal-53d.test/)", "раypal (https://xn--ypal-53d.test/)"),
        ("see https://x.test/a_b_c, then", "see https://x.test/a_b_c, then"),
        ("(https://x.test/a)", "(https://x.test/a)"),
    ] {
        assert_eq!(rendered_text(markdown), expected, "{markdown}");
    }
}

#[test]
fn only_known_schemes_are_links() {
    let links = |markdown: &str| -> Vec<String> {
        let runs = parse_markdown(markdown).into_iter().flat_map(|part| match part {
            TextBlock::Text(runs) => runs,
            _ => Vec::new(),
        });
        runs.filter_map(|run| run.link).collect()
    };
    assert_eq!(links("[a](slack://open) [b](data:x) [c](/rel) [d](#x)"), Vec::<String>::new());
    assert_eq!(links("https://ex.test/ä `https://code.test`"), ["https://ex.test/%C3%A4"]);
}
