//! What the rules remember of a conversation: a line per message, and what users asked to be remembered.

use serde_json::{Value, json};

/// What is neither noted nor asked in enough words to be looked up.
const UNKNOWN: &str = "I don't know. If a document says it, ask with more of its words.";

/// Answers the summariser's prompt: numbered messages, `[3] Ana Silva: …`, and known facts, `(1) Name: Bob`.
pub(super) fn summarise(request: &Value) -> Value {
    let prompt = prompt(request);
    let messages: Vec<(u64, &str, &str)> = prompt.lines().filter_map(message).collect();
    let noted: Vec<(u64, &str)> = prompt.lines().filter_map(parse_known_fact).collect();
    let new = new_from(&prompt);
    let facts: Vec<Value> = messages
        .iter()
        .filter(|(number, speaker, _)| *number >= new && *speaker != "Nod")
        .filter_map(|(number, _, text)| fact(*number, text))
        .collect();
    let forget = messages
        .iter()
        .filter(|(number, speaker, _)| *number >= new && *speaker != "Nod")
        .find_map(|(_, _, text)| find_fact_to_forget(text, &noted));
    json!({
        "summary": summary(&prompt, &messages),
        "goal": null,
        "facts": facts,
        "forget": forget.into_iter().collect::<Vec<_>>(),
    })
}

fn prompt(request: &Value) -> String {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == "user");
    last.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

fn message(line: &str) -> Option<(u64, &str, &str)> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (speaker, text) = rest.split_once(": ")?;
    Some((number.parse().ok()?, speaker, text.trim()))
}

fn parse_known_fact(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.strip_prefix('(')?.split_once(") ")?;
    Some((number.parse().ok()?, rest))
}

fn new_from(prompt: &str) -> u64 {
    let at = prompt.split("New from message [").nth(1).and_then(|rest| rest.split(']').next());
    at.and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// Returns the first words of each message, up to the last one to summarise.
fn summary(prompt: &str, messages: &[(u64, &str, &str)]) -> String {
    let upto = prompt.split("Fold in messages up to [").nth(1).and_then(|rest| rest.split(']').next());
    let Some(upto) = upto.and_then(|number| number.parse::<u64>().ok()) else { return String::new() };
    let before = prompt.split("Summary so far:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let lines = messages.iter().filter(|(number, ..)| *number <= upto).map(|(_, speaker, text)| {
        let words: Vec<&str> = text.split_whitespace().take(12).collect();
        format!("{speaker}: {}", words.join(" "))
    });
    before.map(str::to_owned).into_iter().chain(lines).collect::<Vec<_>>().join("; ")
}

/// Parses "remember that the launch is on Friday": Launch, on Friday.
fn fact(number: u64, text: &str) -> Option<Value> {
    let lower = text.to_lowercase();
    let at =
        ["remember that ", "remember: ", "remember "].iter().find_map(|w| Some(lower.find(w)? + w.len()))?;
    let said = text.get(at..)?.trim().trim_end_matches(['.', '!']);
    if let Some((verb, value)) = said.strip_prefix("I ").and_then(|rest| rest.split_once(' ')) {
        let name = format!("{}s", capitalize(verb));
        return Some(json!({"name": name, "value": value, "about": "speaker", "message": number}));
    }
    let (name, value) = said.split_once(" is ").or_else(|| said.split_once(" are "))?;
    let mine = name.to_lowercase().starts_with("my ");
    let name = ["the ", "my ", "our ", "The ", "My ", "Our "]
        .iter()
        .find_map(|w| name.strip_prefix(w))
        .unwrap_or(name);
    let name = capitalize(name);
    let about = if mine { "speaker" } else { "channel" };
    Some(json!({"name": name, "value": value, "about": about, "message": number}))
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}

/// Beginnings of questions that a known fact can answer.
const ASKING: [&str; 10] = [
    "when ",
    "where ",
    "who ",
    "whose ",
    "which ",
    "what is the ",
    "what's the ",
    "what is my ",
    "what's my ",
    "what is our ",
];

/// Answers "remember that …", "forget …", and a question that a known fact can answer; returns `None` for anything
/// else.
pub(super) fn answer_memory(text: &str, facts: &[(String, String)]) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let is_about = |wanted: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
    if is_about("remember") && !lower.ends_with('?') {
        return Some("I will remember that.".to_owned());
    }
    if lower.starts_with("forget ") {
        return Some("I will forget it, if it was noted.".to_owned());
    }
    if !ASKING.iter().any(|word| lower.starts_with(word)) || is_about("you") {
        return None;
    }
    let named = |name: &str| {
        let name = name.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
        words.peek().is_some() && words.all(is_about)
    };
    let known = facts.iter().find(|(name, _)| named(name));
    Some(known.map_or_else(|| UNKNOWN.to_owned(), |(name, value)| format!("{name}: {value}.")))
}

/// Returns the number of the fact that "forget the launch" or "forget that" refers to.
fn find_fact_to_forget(text: &str, noted: &[(u64, &str)]) -> Option<u64> {
    let lower = text.to_lowercase();
    let what = lower.split("forget ").nth(1)?;
    let named = noted.iter().find(|(_, line)| {
        let name = line.split(':').next().unwrap_or_default().to_lowercase();
        !name.is_empty() && what.contains(&name)
    });
    named.or_else(|| noted.last()).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summarise_prompt(prompt: &str) -> Value {
        summarise(&json!({"messages": [{"role": "user", "content": prompt}]}))
    }

    #[test]
    fn what_is_asked_to_be_remembered_is_noted_once() {
        let said = "[1] Ana Silva: remember that the launch is on Friday\n[2] Nod: ok\n\
                    [3] Bo: please remember that my desk is by the door.\n[4] Bo: remember that I like tea";
        let answer = summarise_prompt(&format!("Messages:\n{said}\n\nNew from message [1] on."));
        assert_eq!(
            answer["facts"],
            json!([
                {"name": "Launch", "value": "on Friday", "about": "channel", "message": 1},
                {"name": "Desk", "value": "by the door", "about": "speaker", "message": 3},
                {"name": "Likes", "value": "tea", "about": "speaker", "message": 4},
            ])
        );
        let later = summarise_prompt(&format!("Messages:\n{said}\n\nNew from message [4] on."));
        assert_eq!(later["facts"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn questions_are_answered_from_what_is_noted_and_from_nothing_else() {
        let facts = [("Launch".to_owned(), "on Friday".to_owned())];
        let answer = |text: &str| answer_memory(text, &facts);
        assert_eq!(answer("When is the launch?").as_deref(), Some("Launch: on Friday."));
        assert_eq!(answer("when is the offsite?").as_deref(), Some(UNKNOWN));
        assert_eq!(answer("remember that the launch is on Friday").as_deref(), Some("I will remember that."));
        assert_eq!([answer("hello"), answer("who are you?"), answer("thanks")], [None, None, None]);
    }

    #[test]
    fn forgetting_means_what_is_named_or_what_came_last() {
        let noted = "Noted already:\n(1) Launch: Friday\n(2) Desk: by the door\n\nMessages:\n";
        for (said, wanted) in [("forget the launch", 1), ("please forget that", 2)] {
            let answer = summarise_prompt(&format!("{noted}[1] Ana: {said}\n\nNew from message [1] on."));
            assert_eq!(answer["forget"], json!([wanted]), "{said}");
        }
    }

    #[test]
    fn messages_are_folded_into_the_summary_so_far() {
        let prompt = "Summary so far:\nAna: hello\n\nMessages:\n[1] Bo: lunch?\n[2] Nod: at one\n\n\
                      Fold in messages up to [1].\n\nNew from message [1] on.";
        assert_eq!(summarise_prompt(prompt)["summary"], "Ana: hello; Bo: lunch?");
    }
}
