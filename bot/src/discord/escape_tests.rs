use proptest::prelude::*;

use super::*;

/// Reads text outside code as Discord does: a backslash before a mark is not shown.
fn read(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out.replace(BREAK, "")
}

#[test]
fn marks_are_letters() {
    for (text, expected) in [
        ("*a* _b_ ~~c~~ `d` ||e|| [f](g)", r"\*a\* \_b\_ \~\~c\~\~ \`d\` \|\|e\|\| \[f\](g)"),
        ("# a\n> b\n>>> c\n- d\n-# e\n  1. f", "\\# a\n\\> b\n\\>>> c\n\\- d\n\\-\\# e\n  1\\. f"),
        ("a - b > c, 1. d + e", "a - b > c, 1. d + e"),
        ("C:\\dir at 10:30", r"C:\\dir at 10:30"),
        (":smile: https://x.test/a_b", r"\:smile: https\://x.test/a\_b"),
        ("bo@here.test @Everyone @ana", "bo@\u{200B}here.test @\u{200B}Everyone @ana"),
        (
            "<@1> <#2> </a:3> <t:4> <a:b:5> <id:home> a < b <b>",
            "<\u{200B}@1> <\u{200B}\\#2> <\u{200B}/a:3> <\u{200B}t:4> <\u{200B}a\\:b:5> <\u{200B}id:home> a < b <b>",
        ),
    ] {
        assert_eq!(escape(text, true), expected);
        assert_eq!(read(&escape(text, true)), text);
    }
}

#[test]
fn code_keeps_its_letters_and_ends_where_it_ends() {
    assert_eq!(code_block("a <div>\n@ana", ""), "```\na <div>\n@ana\n```");
    assert_eq!(inline_code("a"), "`a`");
    for text in ["```", "a\n```\n@everyone", "``````", "`", "\n\nx", "<@1>"] {
        let block = code_block(text, "");
        let inner = block.strip_prefix("```\n").and_then(|rest| rest.strip_suffix("\n```")).unwrap_or("?");
        assert!(!inner.contains("```") && !inner.contains("@everyone") && !inner.contains("<@"), "{block}");
        assert_eq!(inner.replace(BREAK, ""), text);
    }
    assert_eq!(inline_code("`a``b`"), "``\u{200B}`\u{200B}a`\u{200B}`\u{200B}b`\u{200B}``");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_reads_as_it_is(text in "([*_~`|<>@#:/.+\\-\\\\\\[\\]() \n0-9a-c]|everyone|here|https://|é|🚀){0,60}") {
        let markup = escape(&text, true);
        prop_assert_eq!(read(&markup), text);
        for loud in ["@everyone", "@here", "<@", "<#", "</", "s://", "<:"] {
            prop_assert!(!markup.contains(loud), "{} in {}", loud, markup);
        }
        for line in markup.lines().map(str::trim_start) {
            prop_assert!(!line.starts_with(['#', '-', '+', '>', '*']), "{}", line);
        }
    }
}
