use super::super::rich_text::join_blocks;
use super::*;

fn render(markdown: &str) -> String {
    join_blocks(&parse_markdown(markdown))
}

#[test]
fn blocks_read_as_they_were_written() {
    for (markdown, expected) in [
        ("# Head\ntext", "# Head\ntext"),
        ("#### Low\ntext", "**Low**\ntext"),
        ("a\nb\n\nc", "a\nb\n\nc"),
        ("- a\n- b\n  - c\n- d", "- a\n- b\n  - c\n- d"),
        ("4. a\n5. b\n   more", "4. a\n5. b\n   more"),
        ("42.", "42\\."),
        ("> one\n> two\n\nthree", "> one\n> two\n\nthree"),
        ("> a\n> ```\n> b\n> ```", "> a\n> ```\n> b\n> ```"),
        ("```rust\nfn main() {}\n```", "```rust\nfn main() {}\n```"),
        ("- [x] done", "- ☑ done"),
        ("| a | long |\n|---|---|\n| 1 | **2** |", "```\na  long\n─  ────\n1  2\n```"),
        ("a **b _c_** ~~d~~ `e*`", "a **b** ***c*** ~~d~~ `e*`"),
        ("**a***b*", "**a**\u{200B}*b*"),
        ("**a\nb**", "**a**\n**b**"),
        ("<b>hi</b>", "<b>hi<\u{200B}/b>"),
    ] {
        assert_eq!(render(markdown), expected, "{markdown}");
    }
}

#[test]
fn output_cannot_mention_or_forge_markup() {
    for (markdown, expected) in [
        ("@everyone `@here` *@*everyone", "@\u{200B}everyone `@\u{200B}here` \\*@\\*everyone"),
        ("<@1> <@&2> <#3>", "<\u{200B}@1> <\u{200B}@&2> <\u{200B}\\#3>"),
        (
            "</ask:1> <t:1:R> <id:browse> <a:b:1>",
            "<\u{200B}/ask:1> <\u{200B}t\\:1:R> id:browse <\u{200B}a\\:b:1>",
        ),
        ("||secret||", r"\|\|secret\|\|"),
        ("-# small", r"\-\# small"),
        ("a\n\\>>> all", "a\n\\>>> all"),
        ("<\\@1>", "<\u{200B}@1>"),
        ("&#64;everyone", "@\u{200B}everyone"),
        ("[x](https://a.test/@everyone)", "[x](https://a.test/%40everyone) (a.test)"),
    ] {
        assert_eq!(render(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_tell_where_they_lead() {
    for (markdown, expected) in [
        ("[docs](https://x.test/a_(b))", "[docs](https://x.test/a_%28b%29) (x.test)"),
        ("[https://x.test/a](https://x.test/a)", "<https://x.test/a>"),
        ("see https://x.test/a_b_c, then", "see <https://x.test/a_b_c>, then"),
        ("[bank.test](https://evil.test/)", "bank.test (<https://evil.test/>)"),
        ("[https://bank.test](https://evil.test/)", "<https://bank.test/> (<https://evil.test/>)"),
        ("[sign in](https://bank.test@evil.test/)", r"sign in (https\://bank.test@evil.test/)"),
        ("[press](javascript:alert)", "press (javascript:alert)"),
        ("[bo](mailto:bo@x.test)", "bo (bo@x.test)"),
        ("![pic](https://x.test/p.png)", "[pic](https://x.test/p.png) (x.test)"),
        ("[раypal](https://раypal.test/)", "[раypal](https://xn--ypal-43d9g.test/) (xn--ypal-43d9g.test)"),
        ("[a **b**](https://x.test)", "[a b](https://x.test/) (x.test)"),
    ] {
        assert_eq!(render(markdown), expected, "{markdown}");
    }
}
