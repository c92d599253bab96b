//! The texts that the rules write: subjects, mails, small talk.

use serde_json::{Value, json};

use super::sentence::{MailContent, MailRequest, starts, strip_politeness};

/// Returns the arguments for a mail; `None` if no recipient is named.
pub(super) fn mail_arguments(letter: &MailRequest, signer: Option<&str>) -> Option<Value> {
    if letter.to.is_empty() {
        return None;
    }
    let (subject, sentence) = subject_and_sentence(&letter.content);
    let greeting = match greeted(&letter.to) {
        Some(names) => format!("Hi {names},"),
        None => "Hi,".to_owned(),
    };
    let body = match signer {
        Some(name) => format!("{greeting}\n\n{sentence}\n\n{name}"),
        None => format!("{greeting}\n\n{sentence}"),
    };
    let subject = letter.subject.clone().unwrap_or(subject);
    let mut arguments = json!({"to": letter.to, "subject": subject, "body": body});
    if !letter.cc.is_empty() {
        arguments["cc"] = json!(letter.cc);
    }
    Some(arguments)
}

/// Returns the arguments of every requested mail.
pub(super) fn all_mail_arguments(asked: &MailRequest, signer: Option<&str>) -> Vec<Value> {
    if !asked.sends_separately {
        return mail_arguments(asked, signer).into_iter().collect();
    }
    let one = |to: &String| mail_arguments(&MailRequest { to: vec![to.clone()], ..asked.clone() }, signer);
    asked.to.iter().filter_map(one).collect()
}

/// Returns the text of a reply; `None` if the person did not say what to reply.
pub(super) fn compose_reply_text(matter: &MailContent, signer: Option<&str>) -> Option<String> {
    if *matter == MailContent::Nothing {
        return None;
    }
    let (_, sentence) = subject_and_sentence(matter);
    Some(match signer {
        Some(name) => format!("Hi,\n\n{sentence}\n\n{name}"),
        None => format!("Hi,\n\n{sentence}"),
    })
}

/// Shortens a mail to greeting, first sentence and name; if it has no more than that already, to the sentence and the
/// name.
pub(super) fn shorter(body: &str) -> String {
    let parts: Vec<&str> = body.split("\n\n").filter(|part| !part.trim().is_empty()).collect();
    let [greeting, middle @ .., name] = &parts[..] else { return first_sentence(body) };
    let Some(text) = middle.first() else { return body.to_owned() };
    let first = first_sentence(text);
    match middle.len() > 1 || first.len() < text.trim().len() {
        true => [greeting, first.as_str(), name].join("\n\n"),
        false => [first.as_str(), name].join("\n\n"),
    }
}

fn first_sentence(text: &str) -> String {
    let text = text.trim();
    let end = text.find(['.', '!', '?']).map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

fn subject_and_sentence(matter: &MailContent) -> (String, String) {
    match matter {
        MailContent::Nothing => ("Hello".to_owned(), "I wanted to say hello. How are you?".to_owned()),
        MailContent::Saying(text) => saying(text),
        MailContent::About(topic) => {
            let topic = topic.trim_end_matches(['.', '!', '?']);
            (capital(topic), format!("I'd like to talk about {topic}. When would suit you?"))
        }
        MailContent::Asking(text) => {
            let text = text.trim_end_matches(['.', '!', '?']);
            (subject(text), format!("Could you please {text}?"))
        }
        MailContent::Question(text) => {
            let text = text.trim_end_matches(['.', '!', '?']);
            (subject(text), format!("Could you tell me {text}?"))
        }
    }
}

fn saying(text: &str) -> (String, String) {
    let bare = text.trim_end_matches(['.', '!']).to_lowercase().replace('’', "'");
    if ["i'm late", "i am late", "i'm running late", "i am running late", "i'll be late"]
        .contains(&bare.as_str())
    {
        return ("Running late".to_owned(), "I'm running late.".to_owned());
    }
    (subject(text), sentence(text))
}

fn sentence(text: &str) -> String {
    let text = capital(text);
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

/// Returns the first words, without leading words that carry no meaning.
fn subject(text: &str) -> String {
    const EMPTY: [&str; 17] = [
        "i", "i'm", "i’m", "i'll", "i’ll", "am", "will", "we", "we're", "we’re", "the", "be", "have",
        "please", "whether", "send", "me",
    ];
    let text = text.lines().next().unwrap_or_default();
    let text = text.split(['.', '!', '?', ';']).next().unwrap_or_default();
    let words = text.split_whitespace().skip_while(|word| EMPTY.contains(&word.to_lowercase().as_str()));
    let words: Vec<&str> = words.take(7).collect();
    if words.is_empty() { "Hello".to_owned() } else { capital(words.join(" ").trim_end_matches(',')) }
}

pub(super) fn capital(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn greeted(to: &[String]) -> Option<String> {
    let names: Vec<String> = to.iter().filter_map(|one| first_name(one)).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [all @ .., last] => Some(format!("{} and {last}", all.join(", "))),
    }
}

fn first_name(one: &str) -> Option<String> {
    // A mention like <@U012> contains no name.
    if one.starts_with('<') {
        return None;
    }
    let local = one.trim_start_matches('@').split('@').next()?;
    let first = local.split(['.', '_', '-', '+', ' ']).next()?;
    (!first.is_empty()).then(|| capital(first))
}

/// How people begin who do not know yet what to ask for, and what is asked back.
const HELPED: [(&str, &str); 2] = [
    ("help me write", "Who is it for, and what is it about? Say “email Bo about lunch”, for example."),
    (
        "help me find a time",
        "With whom, and for how long? Say “find half an hour with Bo next week”, for example.",
    ),
];
const THANKS: [&str; 3] = ["thanks", "thank you", "cheers"];
const ASKING_WHO: [&str; 7] = [
    "help",
    "what can you",
    "what do you do",
    "what do you know",
    "who are you",
    "what are you",
    "how are you",
];

/// What the rules say to what they do not understand.
pub(super) const NOT_UNDERSTOOD: &str =
    "I didn't get that. Try “what's new in my mail?” or “tell Bo I'm late”.";

/// The same while a task of the person waits for an answer.
pub(super) const MAYBE_AN_ANSWER: &str = "If that answers my question above, please use the buttons there.";

/// One short line for what the rules do not know.
fn refusal(lower: &str) -> &'static str {
    let (ascii, other): (Vec<char>, Vec<char>) =
        lower.chars().filter(|c| c.is_alphabetic()).partition(char::is_ascii);
    if other.len() > ascii.len() {
        return "I only know a few English sentences here.";
    }
    if starts(lower, &["undo", "take it back", "take that back"]) {
        return "I can't take that back from here. Where it can be undone, there is an Undo button on it.";
    }
    NOT_UNDERSTOOD
}

pub(super) fn small_talk_answer(text: &str, signer: Option<&str>) -> String {
    let lower = text.to_lowercase().replace(['!', '.', '?', ','], " ");
    let lower = strip_politeness(lower.trim());
    let is_short = lower.split_whitespace().count() <= 5;
    if is_short && THANKS.iter().any(|word| lower.contains(word)) {
        return "You're welcome.".to_owned();
    }
    if let Some((_, question)) = HELPED.iter().find(|(words, _)| starts(lower, &[words])) {
        return (*question).to_owned();
    }
    if !lower.is_empty() && !starts(lower, &ASKING_WHO) {
        return refusal(lower).to_owned();
    }
    let hello = signer.map_or_else(|| "Hello!".to_owned(), |name| format!("Hello, {name}!"));
    format!(
        "{hello} I can write and send mail, show what is new in your inbox, find mail, read and answer it, and put it \
         away. I also know your calendar, find times with others, and answer from the documents that I was given. \
         Before anything reaches somebody else I ask you. Try: “tell Bo I'm late”, “what's new in my mail?” or “what's on my calendar tomorrow?”"
    )
}
