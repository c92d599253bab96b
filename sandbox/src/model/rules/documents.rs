//! Questions about documents: answered with the one sentence that has the most of the question's words, and its proof.

use std::collections::HashSet;

use serde_json::Value;

use super::sentence::{starts, strip_politeness};

pub(super) const SEARCH: &str = "retrieve_knowledge_base";

/// What a company writes down: a question with one of these, in whatever form, is looked up.
const TOPICS: &str = "brochure budget contract document employee equipment expense guide handbook holiday home hotel laptop \
    leave manual notice office offer onboarding overtime parental policy policies probation receipt rule salary salaries sick \
    training travel vacation";
/// What people ask about what they may do, and what there is.
const RULES: [&str; 12] = [
    "can i",
    "can we",
    "may i",
    "may we",
    "do i",
    "do we",
    "should i",
    "am i allowed",
    "are we allowed",
    "is there",
    "are there",
    "how much",
];
const ASKING: &str = "am are can do does how is may should what when where which who why";
/// What a question says about no matter: words without meaning, and where to look for it.
const EMPTY: &str = "a about allowed am an and any are at be can could do document does for from get handbook has have how i if \
    in is it many may me much my not of on or our pdf say should tell that the their there these they this to was we what \
    when where which who why will with would you your";
/// The fewest and the most words of a sentence that are copied as its proof.
const MIN_QUOTED: usize = 3;
/// The fewest words with a meaning in a question that is looked up though it names no topic of a handbook.
const MIN_STEMS: usize = 3;
const MAX_QUOTED: usize = 10;

/// Returns the tool that lists what a question asks for, if it only asks what there is.
pub(super) fn find_list(text: &str) -> Option<&'static str> {
    const LISTS: [(&str, &[&str]); 5] = [
        ("list_documents", &["which documents", "what documents", "list the documents"]),
        ("list_approvals", &["waiting for me", "waits for me", "waits for my nod", "which approvals"]),
        ("list_drafts", &["which drafts are", "what drafts are"]),
        (
            "list_tasks",
            &["which tasks", "what tasks", "my tasks", "open tasks", "how far is my task", "how is my task"],
        ),
        ("list_connections", &["accounts are connected", "which accounts", "is my mail connected"]),
    ];
    let text = text.to_lowercase();
    LISTS
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)))
        .map(|(tool, _)| *tool)
}

/// Returns whether a sentence asks something that documents might answer.
pub(super) fn is_question(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let lower = strip_politeness(&lower);
    let words = split_words(lower);
    let asks = lower.ends_with('?') || words.first().is_some_and(|word| is_listed(ASKING, word));
    let asks_for_rules = starts_anywhere(lower, &RULES) && !find_stems(lower).is_empty();
    let is_topic = |word: &String| TOPICS.split_whitespace().any(|topic| stem(topic) == stem(word));
    // Whatever is asked in enough words may stand in a document that somebody dropped.
    let is_long = lower.ends_with('?') && find_stems(lower).len() >= MIN_STEMS;
    asks && (asks_for_rules || is_long || words.iter().any(is_topic))
}

/// Answers with a sentence of the passages, and cites it.
pub(super) fn describe_result(result: &Value) -> String {
    if result["documents"] == 0 {
        if result["still_being_read"].is_string() {
            return "I don't know yet.".to_owned();
        }
        return "I don't know any documents here. Drop a file and say “keep this” with it.".to_owned();
    }
    let wanted = find_stems(result["searched"].as_str().unwrap_or_default());
    let passages = result["passages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sentences = passages.iter().flat_map(|passage| {
        let all = split_sentences(passage["text"].as_str().unwrap_or_default());
        all.into_iter().map(move |sentence| (passage, sentence))
    });
    let shared = |sentence: &str| find_stems(sentence).intersection(&wanted).count();
    // Most of the question's words: with fewer, a sentence is about something else.
    let fitting: Vec<_> = sentences.filter(|(_, sentence)| shared(sentence) * 2 > wanted.len()).collect();
    // A heading says nothing. Of equal sentences the first, whose passage fits better.
    let rank = |sentence: &str| (sentence.ends_with(['.', '!', '?']), shared(sentence));
    let best = fitting.into_iter().rev().max_by_key(|(_, sentence)| rank(sentence));
    let Some((passage, sentence)) = best else {
        return "I don't know: the documents don't say.".to_owned();
    };
    let quote: Vec<&str> = sentence.split_whitespace().take(MAX_QUOTED).collect();
    let handle = passage["handle"].as_str().unwrap_or_default();
    format!("{sentence} [{handle} \"{}\"]", quote.join(" ").replace('"', ""))
}

/// Returns the sentences of a passage that are long enough to be quoted. A line that begins with a small letter goes on
/// in the sentence before.
pub(super) fn split_sentences(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(|line| line.trim().trim_start_matches(['-', '*', '•', '#', ' '])) {
        match lines.last_mut() {
            Some(open) if line.starts_with(char::is_lowercase) => *open = format!("{open} {line}"),
            _ => lines.push(line.to_owned()),
        }
    }
    let mut all = Vec::new();
    for line in lines {
        let mut open = String::new();
        for word in line.split_whitespace() {
            open = if open.is_empty() { word.to_owned() } else { format!("{open} {word}") };
            // "3. Annual leave" is one.
            let is_list_number = open == word && word.trim_end_matches('.').parse::<u32>().is_ok();
            if word.ends_with(['.', '!', '?']) && !is_list_number {
                all.push(std::mem::take(&mut open));
            }
        }
        all.push(open);
    }
    all.retain(|sentence| sentence.split_whitespace().count() >= MIN_QUOTED);
    all
}

/// Returns the stems of a text's words that say something.
pub(super) fn find_stems(text: &str) -> HashSet<String> {
    let words = split_words(text).into_iter().filter(|word| word.len() > 1 && !is_listed(EMPTY, word));
    words.map(|word| stem(&word).to_owned()).collect()
}

/// Returns a word without the ending of its forms: "holidays", "training", "expenses".
fn stem(word: &str) -> &str {
    const MIN_STEM: usize = 3;
    let ends = ["ings", "ing", "ees", "ee", "es", "ed", "s", "e"];
    let cut =
        ends.iter().find_map(|end| word.strip_suffix(end).filter(|rest| rest.chars().count() >= MIN_STEM));
    cut.unwrap_or(word)
}

fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Returns whether the text, or one of its clauses, begins with one of these.
fn starts_anywhere(text: &str, beginnings: &[&str]) -> bool {
    text.split([',', ':', ';', '.']).any(|clause| {
        let clause = clause.trim();
        let asked = clause.split_once(' ').filter(|(first, _)| is_listed(ASKING, first));
        starts(clause, beginnings) || asked.is_some_and(|(_, rest)| starts(rest, beginnings))
    })
}

pub(super) fn split_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(['\'', '’'], "");
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_questions_about_documents_are_looked_up() {
        for text in [
            "How much leave do I have?",
            "how many days of annual leave do I have",
            "what does the handbook say about lunch",
            "what does the handbook say about holidays?",
            "Is there a travel policy?",
            "may I work from home?",
            "hi, may I work from home?",
            "my laptop is broken, what do I do?",
            "how much is the training budget?",
            "where can I park?",
            "can I bring my dog?",
            "what do the brochures cost in the offer?",
            "what is the monthly contribution for a bicycle?",
            "how many people may use the sauna at once?",
        ] {
            assert!(is_question(text), "{text}");
        }
        for text in [
            "I leave at five",
            "how are you?",
            "what can you do?",
            "who are you?",
            "thanks for the offer",
            "when is the launch?",
            "where is my desk?",
        ] {
            assert!(!is_question(text), "{text}");
        }
    }

    fn answer(question: &str, texts: &[&str]) -> String {
        let passages: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| json!({"handle": format!("p{at}"), "text": text}))
            .collect();
        describe_result(&json!({"searched": question, "documents": 1, "passages": passages}))
    }

    #[test]
    fn the_fitting_sentence_is_cited() {
        let leave = "3. Annual leave\nEverybody has 25 days of annual leave a year, in\nevery country. Enter your leave early.";
        let cited = "Everybody has 25 days of annual leave a year, in every country. [p1 \"Everybody has 25 days of annual leave a \
                     year, in\"]";
        assert_eq!(
            answer("how many days of annual leave do I have?", &["We work. Days pass.", leave]),
            cited
        );
        let broken = "If your laptop is broken, write to equipment@acme.test at once. Keep calm.";
        let said = answer("my laptop is broken, what do I do?", &[broken]);
        assert!(
            said.starts_with("If your laptop is broken, write to equipment@acme.test at once. [p0 "),
            "{said}"
        );
    }

    #[test]
    fn what_no_sentence_says_is_not_known() {
        let unknown = "I don't know: the documents don't say.";
        assert_eq!(answer("where can I park?", &[]), unknown);
        assert_eq!(answer("where can I park?", &["We work. Everybody has 25 days of leave."]), unknown);
        let bring = "If your laptop is broken, bring it to the front desk.";
        assert_eq!(answer("can I bring my dog?", &[bring]), unknown);
        let one_word = "The price covers what delivery and packing cost.";
        assert_eq!(answer("what do the brochures cost in the offer?", &[one_word]), unknown);
    }
}
