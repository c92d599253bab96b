//! URLs: which can become a link, and whether a link's text is honest about its target.

use url::Url;

use super::limits;

/// What RFC 3986 allows; parentheses would end a masked link, and an apostrophe is dropped at its end.
const PLAIN: &str = "-._~:/?#@!$&*+,;=%";

/// Returns the URL in linkable form: http or https, the host in ASCII, special characters percent-encoded. `None` if it
/// has a user name before the host, which could be mistaken for another host.
pub(super) fn address(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    let bare = url.username().is_empty() && url.password().is_none();
    let host = url.host_str().is_some_and(|host| !host.contains(['[', '@', '(', ')', '\'', '*', '!', '$']));
    let url = percent_encode(url.as_str());
    (web && bare && host && url.len() <= limits::LINK).then_some(url)
}

/// Returns a URL's host.
pub(super) fn host(address: &str) -> String {
    Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// Percent-encodes everything that has a meaning to Discord or none in a URL.
fn percent_encode(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut fragment = false;
    for (at, c) in url.char_indices() {
        let rest = &url[at + c.len_utf8()..];
        let keep = match c {
            '#' => !std::mem::replace(&mut fragment, true),
            '%' => rest.len() > 1 && rest.bytes().take(2).all(|b| b.is_ascii_hexdigit()),
            // Discord's own path of DM channels.
            '@' => rest.starts_with("me/") && out == "https://discord.com/channels/",

            c => c.is_ascii_alphanumeric() || PLAIN.contains(c),
        };
        if keep {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|b| out.push_str(&format!("%{b:02X}")));
        }
    }
    out
}

/// Returns whether the text is just this URL.
pub(super) fn is_same_url(words: &str, address: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim();
        let text =
            ["https://", "http://", "mailto:"].iter().find_map(|s| text.strip_prefix(s)).unwrap_or(text);
        text.trim_end_matches('/').to_owned()
    };
    bare(words) == bare(address)
}

/// Returns whether a text looks like a URL: it has a scheme, or it is a name with a dot and an ending.
pub(super) fn looks_like_url(words: &str) -> bool {
    let apart = |c: char| c.is_whitespace() || "()<>[]{},;\"'".contains(c);
    words.contains("://") || words.split(apart).any(is_dotted)
}

fn is_dotted(word: &str) -> bool {
    // Other scripts have their own dots, and browsers accept some of them.
    let dot = |c: char| matches!(c, '.' | '。' | '．' | '｡' | '․');
    let word = word.split(['/', '?', '#', ':', '／']).next().unwrap_or(word);
    let labels: Vec<&str> = word.split(dot).filter(|label| !label.is_empty()).collect();
    let ending = labels.last().is_some_and(|l| l.chars().count() > 1 && l.chars().any(char::is_alphabetic));
    (labels.len() > 1 && ending) || labels.len() > 3
}
