//! Answers about a message in whose menu somebody picked Nod. It comes with the request, and only the person who picked
//! it reads the answer.

use super::request_context::RequestContext;
use super::results::shorten;

/// Says what the message is about, and whether it wants anything.
pub(super) fn explain(asked: &RequestContext<'_>) -> String {
    let Some((author, text)) = &asked.picked_message else { return clarification_question() };
    let wants = if wants_something(text) { "It asks something of you." } else { "It asks nothing of you." };
    format!("{author} wrote: “{}” {wants}", shorten(text))
}

/// Writes a reply that the person can send.
pub(super) fn reply(asked: &RequestContext<'_>) -> String {
    let Some((author, text)) = &asked.picked_message else { return clarification_question() };
    let name = author.split_whitespace().next().unwrap_or_default();
    match wants_something(text) {
        true => format!("Thanks, {name}. I'll look at it and come back to you today."),
        false => format!("Thanks, {name}, good to know."),
    }
}

fn wants_something(text: &str) -> bool {
    text.contains('?') || text.to_lowercase().contains("please")
}

fn clarification_question() -> String {
    "Which message? Open its menu and pick me there.".to_owned()
}
