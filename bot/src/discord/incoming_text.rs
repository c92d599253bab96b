//! The text of a message, without the mention of Nod.

use serde_json::Value;

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncomingText {
    pub text: String,
    pub mentions_nod: bool,
}

/// Parses Discord's notation. Mentions of others stay unchanged (`<@1>`), because the core uses the same form.
pub(super) fn read(content: &str, nod: &str) -> IncomingText {
    // Postgres does not store NUL.
    let content = content.replace('\0', "\u{FFFD}").replace("<@!", "<@");
    let mention = format!("<@{nod}>");
    let mentions_nod = content.contains(&mention);
    let mut text = content.replace(&format!("{mention} "), "").replace(&mention, "").trim().to_owned();
    if mentions_nod && let Some(rest) = text.strip_prefix([':', ',']) {
        text = rest.trim_start().to_owned();
    }
    IncomingText { text, mentions_nod }
}

/// Returns all the text of a message: its content and that of its components.
pub(super) fn parse_message(message: &Value, nod: &str) -> IncomingText {
    let mut lines = vec![message["content"].as_str().unwrap_or_default().to_owned()];
    texts(&message["components"], &mut lines);
    for embed in message["embeds"].as_array().into_iter().flatten() {
        lines.extend(["title", "description"].iter().filter_map(|f| embed[f].as_str().map(str::to_owned)));
    }
    lines.retain(|line| !line.trim().is_empty());
    read(&lines.join("\n"), nod)
}

/// Collects the texts. The JSON parser bounds the depth.
fn texts(components: &Value, out: &mut Vec<String>) {
    for component in components.as_array().into_iter().flatten() {
        if component["type"] == 10 {
            out.extend(component["content"].as_str().map(str::to_owned));
        }
        texts(&component["components"], out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mention_of_nod_goes_and_others_stay() {
        for (written, text, mentions_nod) in [
            ("<@1> hi", "hi", true),
            ("<@!1>: hi", "hi", true),
            ("hey <@1> do it", "hey do it", true),
            ("thanks <@1>", "thanks", true),
            ("tell <@2> I'm late", "tell <@2> I'm late", false),
            ("", "", false),
        ] {
            assert_eq!(read(written, "1"), IncomingText { text: text.to_owned(), mentions_nod }, "{written}");
        }
    }

    #[test]
    fn the_words_of_a_card_are_read() {
        let card = serde_json::json!({"content": "", "components": [
            {"type": 17, "components": [{"type": 10, "content": "Sent"}, {"type": 1, "components": []}]}]});
        assert_eq!(parse_message(&card, "1").text, "Sent");
    }
}
