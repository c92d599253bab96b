//! Converts Slack's message text to plain text: mentions, links and escapes become what the person wrote.

use serde_json::Value;

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct IncomingText {
    /// Without the mention of Nod; other mentions stay `<@U…>`, so that the core can look them up.
    pub text: String,
    pub mentions_nod: bool,
}

/// Returns the text of a message, or that of its blocks if it has none.
pub(super) fn parse_message(message: &Value, bot_user: &str) -> IncomingText {
    match message["text"].as_str().filter(|text| !text.trim().is_empty()) {
        Some(text) => parse_markup(text, bot_user),
        None => {
            let mut text = String::new();
            collect_block_text(&message["blocks"], &mut text);
            parse_markup(text.trim(), bot_user)
        }
    }
}

/// Parses Slack's markup.
pub(super) fn parse_markup(text: &str, bot_user: &str) -> IncomingText {
    let mut words = IncomingText::default();
    let mut rest = text;
    while let Some((before, token, after)) = next_token(rest) {
        words.text.push_str(&unescape(before));
        if !bot_user.is_empty() && is_mention_of(token, bot_user) {
            words.mentions_nod = true;
            rest = close_mention_gap(&mut words.text, after);
        } else {
            words.text.push_str(&unescape(&token_text(token)));
            rest = after;
        }
    }
    words.text.push_str(&unescape(rest));
    words.text = words.text.trim().to_owned();
    words
}

/// Splits into `before <token> after`, for the first token.
fn next_token(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('<')?;
    let length = text[start..].find('>')?;
    let token = &text[start + 1..start + length];
    Some((&text[..start], token, &text[start + length + 1..]))
}

fn is_mention_of(token: &str, user: &str) -> bool {
    token.strip_prefix('@').is_some_and(|id| id.split('|').next() == Some(user))
}

/// Closes the gap that the mention leaves: `@nod: do it` becomes `do it`, `hey @nod do it` becomes `hey do it`.
fn close_mention_gap<'t>(before: &mut String, after: &'t str) -> &'t str {
    let first = before.trim().is_empty();
    let after = if first { after.trim_start_matches([':', ',', ' ']) } else { after };
    if before.ends_with(' ') && after.starts_with(' ') {
        before.pop();
    }
    after
}

fn token_text(token: &str) -> String {
    let (head, label) = match token.split_once('|') {
        Some((head, label)) => (head, Some(label).filter(|label| !label.is_empty())),
        None => (token, None),
    };
    match head.chars().next() {
        Some('@') => format!("<{head}>"),
        Some('#') => label.map_or_else(|| format!("<{head}>"), |name| format!("#{name}")),
        Some('!') => special(&head[1..], label),
        _ if head.contains(':') => link(head, label),
        // Not a token of Slack: a `<` that a client did not escape.
        _ => format!("<{token}>"),
    }
}

fn special(head: &str, label: Option<&str>) -> String {
    match label {
        Some(label) if label.starts_with('@') => label.to_owned(),
        Some(label) if head.starts_with("date^") => label.to_owned(),
        Some(label) => format!("@{label}"),
        None => format!("@{}", head.split('^').next().unwrap_or(head)),
    }
}

fn link(target: &str, label: Option<&str>) -> String {
    let address = target.strip_prefix("mailto:").or_else(|| target.strip_prefix("tel:")).unwrap_or(target);
    let bare = |text: &str| {
        let text = text.trim_start_matches("https://").trim_start_matches("http://");
        text.trim_end_matches('/').to_lowercase()
    };
    match label {
        Some(label) if bare(label) != bare(address) => format!("{label} ({address})"),
        _ => address.to_owned(),
    }
}

fn unescape(text: &str) -> String {
    // Postgres does not store NUL.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace('\0', "\u{FFFD}")
}

/// Collects the text of blocks in Slack's markup. The JSON parser bounds the depth.
fn collect_block_text(value: &Value, out: &mut String) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_block_text(value, out)),
        Value::Object(object) => {
            let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
            match field("type") {
                "user" => out.push_str(&format!("<@{}>", field("user_id"))),
                "channel" => out.push_str(&format!("<#{}>", field("channel_id"))),
                "emoji" => out.push_str(&format!(":{}:", field("name"))),
                "broadcast" => out.push_str(&format!("@{}", field("range"))),
                "link" => out.push_str(&format!("<{}|{}>", field("url"), field("text"))),
                "text" | "plain_text" => out.push_str(&super::text::escape(field("text"))),
                "mrkdwn" => out.push_str(field("text")),
                kind => {
                    for name in ["text", "fields", "elements"] {
                        object.get(name).into_iter().for_each(|inner| collect_block_text(inner, out));
                    }
                    let line = kind.starts_with("rich_text_") || !kind.starts_with("rich_text");
                    if line && !out.is_empty() && !out.ends_with('\n') {
                        out.push('\n');
                    }
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_read_back() {
        for (slack, expected) in [
            ("<@UNOD> hi", "hi"),
            ("<@UNOD|nod>: hi", "hi"),
            ("hey <@UNOD> do it", "hey do it"),
            ("thanks <@UNOD>", "thanks"),
            ("tell <@U2|bo> I'm late", "tell <@U2> I'm late"),
            ("mail <mailto:bo@x.test|bo@x.test>", "mail bo@x.test"),
            ("mail <mailto:bo@x.test|Bo>", "mail Bo (bo@x.test)"),
            ("see <https://x.test/a?b=1&amp;c=2>", "see https://x.test/a?b=1&c=2"),
            ("see <http://x.test|x.test>", "see http://x.test"),
            ("see <https://x.test/a|the docs>", "see the docs (https://x.test/a)"),
            ("in <#C1|general> and <#C2>", "in #general and <#C2>"),
            ("<!here> <!subteam^S1|@devs> <!subteam^S2>", "@here @devs @subteam"),
            ("<!date^1700000000^{date}|Nov 14>", "Nov 14"),
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            ("1 < 2", "1 < 2"),
            ("<tel:+49123|+49123>", "+49123"),
            ("", ""),
        ] {
            assert_eq!(parse_markup(slack, "UNOD").text, expected, "{slack}");
        }
        assert!(parse_markup("x <@UNOD|nod>", "UNOD").mentions_nod);
        assert!(!parse_markup("&lt;@UNOD&gt; <@UNODE>", "UNOD").mentions_nod);
    }
}
