//! Sums up a channel, and writes a draft from the one that it is asked in: reads it first, and takes the sentences about
//! the subject.

use serde_json::{Value, json};

use super::documents::{find_stems, split_sentences, split_words};
use super::events::no_tool;
use super::phrasing::{capital, mail_arguments};
use super::request_context::RequestContext;
use super::results::{self, shorten};
use super::sentence::{Intent, MailContent, MailRequest};
use crate::model::script::Answer;

pub(super) const READ: &str = "chat_read_channel";
const CREATE: &str = "gmail_create_draft";
/// The most sentences of a channel that a draft repeats; the newest.
const MAX_SENTENCES: usize = 3;
/// The most messages of a channel that a summary lists; the newest.
const MAX_SUMMED_UP: usize = 5;

/// Returns the next call for a draft, or its outcome.
pub(super) fn draft(asked: &RequestContext<'_>, letter: &MailRequest) -> Answer {
    let said = match asked.results.last() {
        None => None,
        Some((tool, content)) if tool == READ => results::find_json(content),
        Some((tool, content)) => return Answer::text(results::describe_result(tool, content)),
    };
    let letter =
        said.as_ref().and_then(|said| with_sentences(letter, said)).unwrap_or_else(|| letter.clone());
    let Some(arguments) = mail_arguments(&letter, asked.signer.as_deref()) else {
        return Answer::text("Who should the draft be for?");
    };
    let is_about = matches!(letter.content, MailContent::About(_));
    let read =
        (is_about && asked.is_in_channel && asked.results.is_empty()).then(|| asked.call(READ, &json!({})));
    read.flatten().or_else(|| asked.call(CREATE, &arguments)).unwrap_or_else(no_tool)
}

/// Lists what was said last in the channel, or in the one that the person looks at.
pub(super) fn sum_up(asked: &RequestContext<'_>) -> Answer {
    let Some((tool, content)) = asked.results.last() else {
        let channel =
            asked.channel_in_view.as_ref().map_or(json!({}), |channel| json!({ "channel": channel }));
        return asked.call(READ, &channel).unwrap_or_else(no_tool);
    };
    let read = results::find_json(content).unwrap_or_default();
    let Some(said) = read["said"].as_str() else {
        return Answer::text(results::describe_result(tool, content));
    };
    let all: Vec<String> =
        said.lines().filter_map(message).map(|(who, text)| format!("• {who}: {}", shorten(text))).collect();
    match &all[all.len().saturating_sub(MAX_SUMMED_UP)..] {
        [] => Answer::text("Nobody has said anything here lately."),
        newest => Answer::text(format!("What was said last:\n{}", newest.join("\n"))),
    }
}

/// Returns the letter with what the channel says about its subject; `None` if that is nothing.
fn with_sentences(letter: &MailRequest, read: &Value) -> Option<MailRequest> {
    let MailContent::About(topic) = &letter.content else { return None };
    let wanted = find_stems(topic);
    let fits = |sentence: &String| {
        // Most of the subject's words: with fewer, a sentence is about something else.
        find_stems(sentence).intersection(&wanted).count() * 2 > wanted.len()
            && !speaks_of_its_author(sentence)
    };
    let said = read["said"].as_str()?.lines().filter_map(message);
    let all: Vec<String> = said.flat_map(|(_, text)| split_sentences(text)).filter(fits).collect();
    let newest = &all[all.len().saturating_sub(MAX_SENTENCES)..];
    let subject = letter.subject.clone().or_else(|| Some(capital(topic.trim_end_matches(['.', '!', '?']))));
    let content = MailContent::Saying(newest.join(" "));
    (!newest.is_empty()).then(|| MailRequest { subject, content, ..letter.clone() })
}

/// Parses "Fri 6 Mar 2026, 09:30 WET · Bo Lind: the text". What Nod says there, and what is asked of it (without its
/// mention), is left out.
fn message(line: &str) -> Option<(&str, &str)> {
    let (author, text) = line.split_once(" · ")?.1.split_once(": ")?;
    (author != "Nod" && Intent::read(text) == Intent::SmallTalk).then_some((author, text))
}

/// Returns whether it asks, or says "I", who would be somebody else in a mail.
fn speaks_of_its_author(sentence: &str) -> bool {
    const OWN: [&str; 7] = ["i", "im", "ill", "ive", "id", "my", "me"];
    sentence.ends_with('?') || split_words(sentence).iter().any(|word| OWN.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "(2 earlier messages left out)\n\
        Fri 6 Mar 2026, 08:10 WET · Cho Park: The landing page is ready for review: https://launch.acme.test\n\
        Fri 6 Mar 2026, 08:20 WET · Cho Park: Is the launch check on? My part of the launch check is done.\n\
        Fri 6 Mar 2026, 08:30 WET · Bo Lind: Launch checks are at three. Please be on time. Checks of the launch end at four\n\
        Fri 6 Mar 2026, 08:40 WET · Nod: The launch check is done.\n\
        Fri 6 Mar 2026, 08:50 WET · Ana Silva: draft a mail to Bo about the launch check";

    fn sentences(topic: &str) -> Option<MailRequest> {
        let letter = MailRequest { content: MailContent::About(topic.to_owned()), ..MailRequest::default() };
        with_sentences(&letter, &json!({ "said": SAID }))
    }

    #[test]
    fn a_draft_takes_what_others_said_about_its_subject() {
        let letter = sentences("the launch check").unwrap();
        let said = "Launch checks are at three. Checks of the launch end at four";
        assert_eq!(letter.content, MailContent::Saying(said.to_owned()));
        assert_eq!(letter.subject.as_deref(), Some("The launch check"));
        assert_eq!(
            [sentences("the offsite"), sentences("it"), sentences("the launch party")],
            [None, None, None]
        );
    }
}
